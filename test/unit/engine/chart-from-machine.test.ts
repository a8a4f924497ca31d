/** Charts from machines of one's own: machines/engine/chart-from-machine.ts. */

import { describe, expect, expectTypeOf, it } from "vitest";
import { and, assign, not, setup } from "xstate";
import { z } from "zod";

import type { Chart, ChartEvent, Engine } from "../../../machines/engine/chart.ts";
import { chartFromMachine } from "../../../machines/engine/chart-from-machine.ts";
import { ChartLintError } from "../../../machines/engine/lint/lint.ts";
import { assertEnginesAgree } from "../../support/model/engines-agree.ts";

const events = z.discriminatedUnion("type", [
  z.object({ type: z.literal("add"), n: z.number() }),
  z.object({ type: z.literal("end") }),
]);
type SumEvent = z.infer<typeof events>;

interface SumContext {
  readonly sum: number;
  readonly last: number;
}

const cases: readonly SumEvent[] = [{ type: "add", n: 0 }, { type: "add", n: 4 }, { type: "end" }];

const seen = ({ context }: { readonly context: SumContext }) => ({ ...context });

const summing = setup({
  types: { context: {} as SumContext, events: {} as SumEvent },
  actions: {
    // Both ways to write an assign.
    add: assign(({ context, event }) => ({
      sum: context.sum + (event.type === "add" ? event.n : 0),
    })),
    remember: assign({
      last: ({ context }) => context.sum,
      sum: ({ context }) => context.sum % 100,
    }),
    "do.print": () => {
      throw new Error("an effect's body was run");
    },
  },
  guards: {
    isBig: ({ context }) => context.sum > 10,
    isAdding: ({ event }) => event.type === "add",
    isOver: (_, params: { readonly bound: number }) => params.bound > 3,
    isSmall: not("isBig"),
  },
});

describe("a chart from a machine of one's own", () => {
  it("[ES-2] steps on the table where it compiles to one, as XState does", () => {
    const machine = summing.createMachine({
      id: "sum",
      initial: "open",
      context: { sum: 0, last: 0 },
      states: {
        open: {
          on: {
            add: { actions: ["add", "remember"] },
            end: [
              { guard: "isBig", target: "closed", actions: { type: "do.print" } },
              { actions: "remember" },
            ],
          },
        },
        closed: { type: "final" },
      },
    });
    const chart = chartFromMachine(machine, { version: 1, events });
    expectTypeOf(chart).toEqualTypeOf<Chart<SumContext, SumEvent>>();
    expect(chart.engine.kind).toBe("table");
    expect(chart.machine).toBe(machine);
    assertEnginesAgree(chart, cases, { runs: 20, lengthMax: 30 });
  });

  it.each([
    ["a composite guard", { guard: and(["isAdding", not("isBig")]), actions: "add" }],
    ["a composite guard by name", { guard: "isSmall", actions: "add" }],
    ["a guard with params", { guard: { type: "isOver", params: { bound: 4 } }, actions: "add" }],
    ["params for an assign", { actions: { type: "add", params: { n: 1 } } }],
  ])("[ES-2] steps on XState itself with %s", (_name, add) => {
    const machine = summing.createMachine({
      id: "sum",
      initial: "open",
      context: { sum: 0, last: 0 },
      // XState's types want the params declared; what is tested is how they step.
      states: { open: { on: { add: add as never, end: { target: "closed" } } }, closed: {} },
    });
    const chart = chartFromMachine(machine, { version: 1, events });
    expect(chart.engine.kind).toBe("scope");
    assertEnginesAgree(chart, cases, { runs: 20, lengthMax: 30 });
  });

  it("[ES-2] steps on XState itself where a state's end is handled", () => {
    const machine = summing.createMachine({
      id: "sum",
      initial: "open",
      context: { sum: 0, last: 0 },
      states: {
        open: {
          initial: "adding",
          states: { adding: { on: { add: "added" } }, added: { type: "final" } },
          onDone: { target: "closed", actions: "do.print" },
        },
        closed: { on: { end: "open" } },
      },
    });
    const chart = chartFromMachine(machine, { version: 1, events });
    expect(chart.engine.kind).toBe("scope");
    const step = chart.engine.step(chart.engine.initial(), { type: "add", n: 1 });
    expect(step?.state.value).toBe("closed");
    expect(step?.effects).toEqual([{ type: "do.print", params: {} }]);
    // The event that XState sends itself there is nobody else's to send.
    const rogue: Engine<SumContext, ChartEvent> = chart.engine;
    const done = { type: "xstate.done.state.sum.open" };
    expect(rogue.can(rogue.initial(), done)).toBe(false);
    expect(rogue.step(rogue.initial(), done)).toBeNull();
  });

  it("[ES-2] steps on XState itself with regions", () => {
    const machine = summing.createMachine({
      id: "sum",
      type: "parallel",
      context: { sum: 0, last: 0 },
      states: {
        left: { initial: "a", states: { a: { on: { add: "b" } }, b: { type: "final" } } },
        right: { initial: "a", states: { a: { on: { end: "b" } }, b: { type: "final" } } },
      },
    });
    const chart = chartFromMachine(machine, { version: 1, events });
    expect(chart.engine.kind).toBe("scope");
    expect(chart.finals).toEqual(["(left.b|right.b)"]);
    assertEnginesAgree(chart, cases, { runs: 20, lengthMax: 30 });
  });

  it("[ES-2] leaves and enters the root itself where a transition of the root re-enters", () => {
    const machine = summing.createMachine({
      id: "sum",
      initial: "open",
      context: { sum: 0, last: 0 },
      exit: [{ type: "do.print", params: seen }, "remember"],
      on: {
        add: [
          { guard: "isBig", target: ".closed", reenter: true, actions: "add" },
          { guard: "isAdding", target: "#sum", reenter: true, actions: "add" },
        ],
        end: "#sum",
      },
      states: { open: { on: { end: "closed" } }, closed: { exit: "remember" } },
    });
    const chart = chartFromMachine(machine, { version: 1, events });
    expect(chart.engine.kind).toBe("table");
    assertEnginesAgree(chart, cases, { runs: 20, lengthMax: 30 });
  });

  it("is held to the rules of every chart", () => {
    const machine = setup({
      types: { context: {} as SumContext, events: {} as SumEvent },
      actions: { publish: () => undefined },
      delays: { soon: 100 },
    }).createMachine({
      id: "sum",
      initial: "open",
      context: { sum: 0, last: 0 },
      states: {
        open: {
          after: { soon: "closed" },
          on: {
            add: { actions: ["publish", assign({ sum: 1 })] },
            end: { actions: () => undefined },
          },
        },
        closed: {},
      },
    });
    const make = () => chartFromMachine(machine, { version: 1, events });
    expect(make).toThrow(ChartLintError);
    expect(make).toThrow(
      [
        'chart "sum" is not replay-safe:',
        '  (root): effect "publish" must start with do. or tell.',
        "  open: `after` is a timer that no log holds; name an effect that arms one and handle its event",
        '  open: on "add" [0]: builtin xstate.assign; inline, name it as a reducer',
        '  open: on "end" [0]: inline action; name it, as a reducer or as an effect',
      ].join("\n"),
    );
  });

  it("the schema is of the machine's own events", () => {
    const machine = summing.createMachine({
      id: "sum",
      initial: "open",
      context: { sum: 0, last: 0 },
      states: { open: { on: { end: { actions: "add" } } } },
    });
    const others = z.discriminatedUnion("type", [z.object({ type: z.literal("other") })]);
    // @ts-expect-error not an event of the machine
    const make = () => chartFromMachine(machine, { version: 1, events: others });
    expect(make).toThrow('event "end" is not declared');
  });
});
