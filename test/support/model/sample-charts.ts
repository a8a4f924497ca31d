/**
 * Charts that together use everything an engine must get right.
 *
 * Owns: `parcel`, flat, like a job: guards, effects with params, a forbidden event. `ward`, two levels deep: entry and exit
 * actions, re-entry, handlers above and below, final states inside. `loom`, with regions and eventless transitions.
 */

import * as fc from "fast-check";
import { z } from "zod";

import { defineChart } from "../../../machines/engine/define-chart.ts";
import type { EventArbitraries } from "./event-source.ts";

const At = z.number().int();

const ParcelEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("parcel.sent"), at: At }),
  z.object({ type: z.literal("parcel.moved"), at: At, hub: z.string() }),
  z.object({ type: z.literal("parcel.lost"), at: At, reason: z.string() }),
  z.object({ type: z.literal("parcel.delivered"), at: At, rating: z.number() }),
  z.object({ type: z.literal("parcel.recalled"), at: At }),
  z.object({ type: z.literal("parcel.returned"), at: At }),
]);
type ParcelEvent = z.infer<typeof ParcelEvent>;

interface ParcelContext {
  readonly attempts: number;
  readonly hubs: readonly string[];
  readonly updatedAt: number;
  readonly outcome: "delivered" | "lost" | null;
}

export const PARCEL_ATTEMPTS_MAX = 2;

export const parcelChart = defineChart({
  id: "parcel",
  version: 1,
  initial: "packed",
  context: (): ParcelContext => ({ attempts: 0, hubs: [], updatedAt: 0, outcome: null }),
  events: ParcelEvent,
  reducers: {
    stamp: ({ event }) => ({ updatedAt: event.at }),
    countAttempt: ({ context }) => ({ attempts: context.attempts + 1 }),
    "parcel.moved": ({ context, event }) => ({ hubs: [...context.hubs, event.hub].slice(-2) }),
    "parcel.lost/forget": ({ event }) => ({ hubs: [event.reason] }),
    deliver: () => ({ outcome: "delivered" }),
    lose: () => ({ outcome: "lost" }),
  },
  guards: {
    hasAttemptsLeft: ({ context }) => context.attempts < PARCEL_ATTEMPTS_MAX,
    "parcel.delivered/isRated": ({ event }) => event.rating > 0,
    "parcel.moved": ({ context, event }) => !context.hubs.includes(event.hub),
  },
  effects: ["do.load", "do.refund", "do.track", "tell.sender", "tell.depot"],
  states: {
    packed: {
      on: {
        "parcel.sent": {
          target: "travelling",
          actions: [
            "stamp",
            "countAttempt",
            {
              type: "do.load",
              params: ({ context, event }) => ({ attempt: context.attempts, at: event.at }),
            },
          ],
        },
        "parcel.recalled": "withdrawn",
      },
    },
    travelling: {
      on: {
        "parcel.moved": { guard: "parcel.moved", actions: ["parcel.moved", "stamp", "do.track"] },
        "parcel.lost": [
          {
            guard: "hasAttemptsLeft",
            target: "packed",
            actions: ["parcel.lost/forget", "tell.depot", "stamp"],
          },
          { target: "gone", actions: ["lose", { type: "do.refund", params: { isWhole: true } }] },
        ],
        "parcel.delivered": [
          {
            guard: "parcel.delivered/isRated",
            target: "delivered",
            actions: [
              { type: "tell.sender", params: ({ context }) => ({ before: context.outcome }) },
              "deliver",
              { type: "tell.sender", params: ({ context }) => ({ after: context.outcome }) },
            ],
          },
          { target: "delivered", actions: "deliver" },
        ],
        "parcel.recalled": "recalling",
        // Forbidden here, whatever the root says.
        "parcel.sent": {},
      },
    },
    recalling: {
      on: { "parcel.returned": { target: "withdrawn", actions: ["stamp", "tell.sender"] } },
    },
    delivered: { type: "final" },
    gone: { type: "final", entry: "tell.sender", exit: "do.track" },
    withdrawn: { type: "final" },
  },
  on: { "parcel.sent": { actions: "stamp" } },
});

const at = fc.integer({ min: 0, max: 99 });
const word = fc.constantFrom("north", "south", "east");

export const parcelEvents: EventArbitraries<ParcelEvent> = {
  "parcel.sent": fc.record({ type: fc.constant("parcel.sent"), at }),
  "parcel.moved": fc.record({ type: fc.constant("parcel.moved"), at, hub: word }),
  "parcel.lost": fc.record({ type: fc.constant("parcel.lost"), at, reason: word }),
  "parcel.delivered": fc.record({
    type: fc.constant("parcel.delivered"),
    at,
    rating: fc.nat(2),
  }),
  "parcel.recalled": fc.record({ type: fc.constant("parcel.recalled"), at }),
  "parcel.returned": fc.record({ type: fc.constant("parcel.returned"), at }),
};

const WardEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("ward.admitted") }),
  z.object({ type: z.literal("ward.beat"), level: z.number() }),
  z.object({ type: z.literal("ward.silent") }),
  z.object({ type: z.literal("ward.checked"), isWell: z.boolean() }),
  z.object({ type: z.literal("ward.restarted"), isHard: z.boolean() }),
  z.object({ type: z.literal("ward.noted") }),
  z.object({ type: z.literal("ward.released") }),
  z.object({ type: z.literal("ward.closed") }),
]);
type WardEvent = z.infer<typeof WardEvent>;

interface WardContext {
  readonly entries: number;
  readonly exits: number;
  readonly notes: number;
  readonly level: number;
}

/** What was entered and left so far: an effect whose params show the order of the actions around it. */
const tally = ({ context }: { readonly context: WardContext }) => ({
  entries: context.entries,
  exits: context.exits,
});

export const wardChart = defineChart({
  id: "ward",
  version: 1,
  initial: "waiting",
  context: (): WardContext => ({ entries: 0, exits: 0, notes: 0, level: 0 }),
  events: WardEvent,
  reducers: {
    enter: ({ context }) => ({ entries: (context.entries + 1) % 1000 }),
    leave: ({ context }) => ({ exits: (context.exits + 1) % 1000 }),
    note: ({ context }) => ({ notes: (context.notes + 1) % 4 }),
    "ward.beat": ({ event }) => ({ level: event.level }),
  },
  guards: {
    isLow: ({ context }) => context.level < 2,
    isNotedEnough: ({ context }) => context.notes === 3,
    "ward.checked/isWell": ({ event }) => event.isWell,
    "ward.restarted/isHard": ({ event }) => event.isHard,
  },
  effects: ["do.watch", "do.unwatch", "do.alarm", "do.file", "tell.family"],
  states: {
    waiting: { on: { "ward.admitted": { target: "live", actions: "tell.family" } } },
    live: {
      initial: "steady",
      entry: ["enter", { type: "do.watch", params: tally }],
      exit: [{ type: "do.unwatch", params: tally }, "leave"],
      on: {
        // Inside and back to the initial child, without leaving `live` …
        "ward.restarted": [
          { guard: "ward.restarted/isHard", target: "live", reenter: true, actions: "note" },
          { target: "live", actions: "note" },
        ],
        // … and to a child by name.
        "ward.silent": { target: ".suspected", actions: { type: "do.alarm", params: tally } },
        "ward.noted": { actions: ["note"] },
        "ward.released": { target: "#ward.closed.well", actions: "tell.family" },
        "ward.closed": "ended",
      },
      states: {
        steady: {
          entry: "enter",
          exit: ["leave"],
          on: {
            "ward.beat": [
              { guard: "isLow", actions: "ward.beat" },
              { target: "steady", reenter: true, actions: ["ward.beat", "do.file"] },
            ],
          },
        },
        suspected: {
          initial: "asking",
          entry: [{ type: "do.alarm", params: tally }, "enter"],
          exit: "leave",
          on: { "ward.beat": { target: "steady", actions: "ward.beat" } },
          states: {
            asking: {
              exit: "leave",
              on: {
                "ward.checked": [
                  { guard: "ward.checked/isWell", target: "#ward.live" },
                  { target: "doubtful" },
                ],
                // Its guard rarely holds: then what `live` says counts.
                "ward.noted": { guard: "isNotedEnough", target: "doubtful" },
                "ward.closed": {},
              },
            },
            doubtful: {
              entry: { type: "do.file", params: tally },
              on: { "ward.checked": "asking", "ward.silent": { target: "doubtful" } },
            },
          },
        },
      },
    },
    closed: {
      initial: "ill",
      entry: "enter",
      states: {
        well: { type: "final", entry: "tell.family" },
        ill: { type: "final" },
      },
    },
    ended: {
      type: "final",
      entry: ["enter", "do.file"],
      exit: ["leave", { type: "do.file", params: tally }],
    },
  },
  on: { "ward.closed": ".closed" },
});

export const wardEvents: EventArbitraries<WardEvent> = {
  "ward.admitted": fc.constant({ type: "ward.admitted" }),
  "ward.beat": fc.record({ type: fc.constant("ward.beat"), level: fc.nat(3) }),
  "ward.silent": fc.constant({ type: "ward.silent" }),
  "ward.checked": fc.record({ type: fc.constant("ward.checked"), isWell: fc.boolean() }),
  "ward.restarted": fc.record({ type: fc.constant("ward.restarted"), isHard: fc.boolean() }),
  "ward.noted": fc.constant({ type: "ward.noted" }),
  "ward.released": fc.constant({ type: "ward.released" }),
  "ward.closed": fc.constant({ type: "ward.closed" }),
};

const LoomEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("loom.started") }),
  z.object({ type: z.literal("loom.threaded"), colour: z.string() }),
  z.object({ type: z.literal("loom.lit") }),
  z.object({ type: z.literal("loom.stopped") }),
]);
type LoomEvent = z.infer<typeof LoomEvent>;

interface LoomContext {
  readonly threads: readonly string[];
  readonly turns: number;
}

export const loomChart = defineChart({
  id: "loom",
  version: 1,
  initial: "idle",
  context: (): LoomContext => ({ threads: [], turns: 0 }),
  events: LoomEvent,
  reducers: {
    "loom.threaded": ({ context, event }) => ({ threads: [...context.threads, event.colour] }),
    turn: ({ context }) => ({ turns: context.turns + 1 }),
  },
  guards: { isFull: ({ context }) => context.threads.length >= 3 },
  effects: ["do.hum", "do.light", "tell.weaver"],
  states: {
    idle: { on: { "loom.started": "working" } },
    working: {
      type: "parallel",
      entry: "do.hum",
      on: { "loom.stopped": "stopped" },
      states: {
        warp: {
          initial: "empty",
          states: {
            empty: { on: { "loom.threaded": { target: "filling", actions: "loom.threaded" } } },
            filling: {
              on: { "loom.threaded": { actions: ["loom.threaded", "turn"] } },
              always: {
                guard: "isFull",
                target: "full",
                actions: [
                  { type: "tell.weaver", params: ({ context }) => ({ threads: context.threads }) },
                ],
              },
            },
            full: { exit: "turn" },
          },
        },
        lamp: {
          initial: "dark",
          states: {
            dark: { on: { "loom.lit": { target: "bright", actions: "do.light" } } },
            bright: { on: { "loom.lit": "dark", "loom.threaded": { actions: "turn" } } },
          },
        },
        frame: {},
      },
    },
    stopped: { type: "final" },
  },
});

export const loomEvents: EventArbitraries<LoomEvent> = {
  "loom.started": fc.constant({ type: "loom.started" }),
  "loom.threaded": fc.record({ type: fc.constant("loom.threaded"), colour: word }),
  "loom.lit": fc.constant({ type: "loom.lit" }),
  "loom.stopped": fc.constant({ type: "loom.stopped" }),
};
