/**
 * The dispatcher chart: who owns the partition, and whether work is taken.
 *
 * Owns: the four states and their events. Does not own: the fence itself, which is no transition but what makes the
 * transitions after it valid (actors/journal).
 *
 * D1. `dispatcher.taken` begins every owner's life, from whatever state the last owner left.
 * D2. `dispatcher.fenced` is stepped in memory alone: a fenced owner cannot write, and the foreign fence is its record.
 */
import { z } from "zod";
import { defineChart } from "../engine/define-chart.ts";

const event = <Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.object({ type: z.literal(type), ...shape });

/**
 * Epochs that ended since the last such event: the position of each one's fence, and up to where its records are valid.
 * A reader that sees only some subjects cannot tell an incomplete group, and needs to be told.
 */
const Closed = z.array(z.object({ fence: z.number(), validThrough: z.number() }));

export const DispatcherEvent = z.discriminatedUnion("type", [
  event("dispatcher.taken", {
    /** The epoch: position of the owner's fence. */
    fence: z.number(),
    owner: z.string(),
    /** How much time passes between two owners on one boot, whatever the wall clock does. */
    boot: z.object({ id: z.string(), uptimeMs: z.number() }),
    closed: Closed,
  }),
  /** The same owner fenced again after it lost its connection. */
  event("dispatcher.resynced", { fence: z.number(), closed: Closed }),
  /** Every live job of the log is decided; what may run starts after it. */
  event("dispatcher.recovered", { liveJobs: z.number() }),
  event("dispatcher.stopping", { mode: z.enum(["detach", "shutdown"]) }),
  event("dispatcher.fenced", { position: z.number() }),
]);
export type DispatcherEvent = z.infer<typeof DispatcherEvent>;

export interface DispatcherContext {
  readonly owner: string;
  /** Position of the owner's fence; 0 before the first. */
  readonly fence: number;
  readonly mode: "detach" | "shutdown" | null;
}

const EMPTY: DispatcherContext = Object.freeze({ owner: "", fence: 0, mode: null });

const taken = { target: "recovering", actions: ["take"], reenter: true } as const;
const resynced = { actions: ["resync"] } as const;
const fenced = { target: "fenced" } as const;

export const dispatcherChart = defineChart({
  id: "dispatcher",
  version: 1,
  context: (): DispatcherContext => EMPTY,
  events: DispatcherEvent,
  guards: {},
  reducers: {
    take: ({ event }) =>
      event.type === "dispatcher.taken"
        ? { owner: event.owner, fence: event.fence, mode: null }
        : {},
    resync: ({ event }) => (event.type === "dispatcher.resynced" ? { fence: event.fence } : {}),
    stop: ({ event }) => (event.type === "dispatcher.stopping" ? { mode: event.mode } : {}),
  },
  effects: [],
  initial: "recovering",
  states: {
    recovering: {
      on: {
        "dispatcher.taken": taken,
        "dispatcher.resynced": resynced,
        "dispatcher.recovered": { target: "ready" },
        "dispatcher.stopping": { target: "stopping", actions: ["stop"] },
        "dispatcher.fenced": fenced,
      },
    },
    ready: {
      on: {
        "dispatcher.taken": taken,
        "dispatcher.resynced": resynced,
        "dispatcher.stopping": { target: "stopping", actions: ["stop"] },
        "dispatcher.fenced": fenced,
      },
    },
    stopping: {
      on: {
        "dispatcher.taken": taken,
        "dispatcher.resynced": resynced,
        "dispatcher.fenced": fenced,
      },
    },
    fenced: { on: { "dispatcher.taken": taken } },
  },
});
