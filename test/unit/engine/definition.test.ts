/**
 * The types of a definition: what a writer of charts is told by the compiler. Each `@ts-expect-error` is a fault that must
 * stay one: without it, the type check fails here.
 */

import { describe, expectTypeOf, it } from "vitest";
import { z } from "zod";

import type { Chart } from "../../../machines/engine/chart.ts";
import { defineChart } from "../../../machines/engine/define-chart.ts";

const KiteEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("kite.launched"), height: z.number() }),
  z.object({ type: z.literal("kite.torn"), reason: z.string() }),
]);
type KiteEvent = z.infer<typeof KiteEvent>;

interface KiteContext {
  readonly height: number;
  readonly end?: { readonly kind: "torn"; readonly reason: string } | { readonly kind: "landed" };
}

const head = {
  id: "kite",
  version: 1,
  initial: "ground",
  context: (): KiteContext => ({ height: 0 }),
  events: KiteEvent,
} as const;

/** Checked by the compiler; running it would only meet the lint. */
const typed = (check: () => unknown) => {
  expectTypeOf(check).toBeFunction();
};

describe("the types of a definition", () => {
  it("context and events come from their own fields", () => {
    typed(() => {
      const chart = defineChart({
        ...head,
        reducers: {
          rise: ({ context, event }) => {
            expectTypeOf(context).toEqualTypeOf<KiteContext>();
            expectTypeOf(event).toEqualTypeOf<KiteEvent>();
            return { height: context.height + 1 };
          },
          // A literal stays one without `as const`.
          land: () => ({ end: { kind: "landed" } }),
          tear: ({ event }) => ({ end: { kind: "torn", reason: event.type } }),
        },
        guards: { isHigh: ({ context }) => context.height > 10 },
        effects: ["do.pull", "tell.child"],
        states: {
          ground: {
            on: {
              "kite.launched": [
                { guard: "isHigh", target: "sky", actions: "rise" },
                {
                  actions: [
                    "rise",
                    "tell.child",
                    { type: "do.pull", params: { force: 1 } },
                    {
                      type: "do.pull",
                      params: ({ context, event }) => {
                        expectTypeOf(context).toEqualTypeOf<KiteContext>();
                        expectTypeOf(event.height).toBeNumber();
                        return { force: event.height };
                      },
                    },
                  ],
                },
              ],
            },
          },
          sky: { entry: ["land"], on: { "kite.torn": { target: "end", actions: "tear" } } },
          end: { type: "final" },
        },
      });
      expectTypeOf(chart).toEqualTypeOf<Chart<KiteContext, KiteEvent>>();
      return chart;
    });
  });

  it("a reducer or guard named like an event sees that event, and is used there alone", () => {
    typed(() =>
      defineChart({
        ...head,
        reducers: {
          "kite.launched": ({ event }) => {
            expectTypeOf(event).toEqualTypeOf<Extract<KiteEvent, { type: "kite.launched" }>>();
            return { height: event.height };
          },
          "kite.torn/end": ({ event }) => ({ end: { kind: "torn", reason: event.reason } }),
        },
        guards: { "kite.torn/isBad": ({ event }) => event.reason !== "" },
        states: {
          ground: {
            on: {
              "kite.launched": { target: "sky", actions: "kite.launched" },
              "kite.torn": { guard: "kite.torn/isBad", actions: "kite.torn/end" },
            },
          },
          sky: {
            // @ts-expect-error any event may have led here
            entry: "kite.launched",
            on: {
              // @ts-expect-error another event's reducer
              "kite.torn": { actions: "kite.launched" },
              // @ts-expect-error another event's guard
              "kite.launched": { guard: "kite.torn/isBad" },
            },
          },
        },
      }),
    );
  });

  it("misspelt names are faults where they stand", () => {
    typed(() =>
      defineChart({
        ...head,
        reducers: { rise: ({ context }) => ({ height: context.height + 1 }) },
        guards: { isHigh: ({ context }) => context.height > 10 },
        effects: ["do.pull"],
        states: {
          ground: {
            on: {
              // @ts-expect-error no such reducer
              "kite.launched": [{ actions: "risse" }, { actions: ["rise", "do.pull"] }],
              // @ts-expect-error no such guard
              "kite.torn": { guard: "isHihg" },
            },
          },
          // @ts-expect-error no such effect
          first: { entry: ["rise", "do.pul"] },
          // @ts-expect-error no such effect, with params
          second: { exit: { type: "do.pul", params: {} } },
          third: {
            on: {
              // @ts-expect-error no such event
              "kite.lanched": "first",
            },
          },
          fourth: {
            on: {
              "kite.torn": {
                actions: {
                  type: "do.pull",
                  // @ts-expect-error the event that is handled here has no height
                  params: ({ event }) => ({ force: event.height }),
                },
              },
            },
          },
        },
      }),
    );
  });

  it("names that nobody provides are faults even where nothing is provided", () => {
    typed(() => defineChart({ ...head, states: { ground: { on: { "kite.torn": "ground" } } } }));
    // @ts-expect-error there are no reducers
    typed(() => defineChart({ ...head, states: { ground: { entry: "rise" } } }));
    typed(() =>
      // @ts-expect-error there are no guards
      defineChart({ ...head, states: { ground: { on: { "kite.torn": { guard: "isHigh" } } } } }),
    );
  });

  it("reducers return fields of the context, of their types", () => {
    typed(() =>
      defineChart({
        ...head,
        reducers: {
          // @ts-expect-error not a number
          wrong: () => ({ height: "high" }),
          // @ts-expect-error no such kind
          unknown: ({ context }) => ({ ...context, end: { kind: "lost" } }),
          // @ts-expect-error no field of the context
          misspelt: () => ({ heigth: 1 }),
        },
        states: { ground: {} },
      }),
    );
  });

  it("effects are do. or tell., and nothing runs by itself", () => {
    // @ts-expect-error neither do. nor tell.
    typed(() => defineChart({ ...head, effects: ["pull"], states: { ground: {} } }));
    // @ts-expect-error a timer
    typed(() => defineChart({ ...head, states: { ground: { after: { 100: "sky" } } } }));
    // @ts-expect-error a child
    typed(() => defineChart({ ...head, states: { ground: { invoke: { src: "x" } } } }));
    typed(() =>
      // @ts-expect-error an action without a name
      defineChart({ ...head, states: { ground: { entry: () => undefined } } }),
    );
  });
});
