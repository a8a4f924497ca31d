/** XState as engine: invariants S1 to S3 of machines/engine/scope.ts, the run-time half of the lint. */

import { describe, expect, it } from "vitest";
import { assign, emit, enqueueActions, fromPromise, log, setup } from "xstate";
import { z } from "zod";

import type { ActorState } from "../../../machines/engine/chart.ts";
import { chartFromMachine } from "../../../machines/engine/chart-from-machine.ts";
import { defineChart } from "../../../machines/engine/define-chart.ts";
import { createScopeEngine } from "../../../machines/engine/scope.ts";
import { loomChart } from "../../support/model/sample-charts.ts";

const events = z.discriminatedUnion("type", [
  z.object({ type: z.literal("go") }),
  z.object({ type: z.literal("stop") }),
]);
type MachineEvent = z.infer<typeof events>;

interface MachineContext {
  readonly count: number;
}

const types = {
  context: {} as MachineContext,
  events: {} as MachineEvent,
};

/** A machine whose one action hides something inside a function. */
const hiding = (action: ReturnType<typeof enqueueActions> | ReturnType<typeof assign>) =>
  chartFromMachine(
    setup({
      types,
      actors: { work: fromPromise(() => Promise.resolve(1)) },
      // The point of these tests is what the types and the lint cannot see.
      actions: { hide: action as never, "do.run": () => undefined },
    }).createMachine({
      id: "hiding",
      initial: "still",
      context: { count: 0 },
      states: { still: { on: { go: { target: "moved", actions: "hide" } } }, moved: {} },
    }),
    { version: 1, events },
  );

const still: ActorState<MachineContext> = { value: "still", context: { count: 0 } };

describe("[ES-2] what hides inside a function is refused when it happens", () => {
  it.each([
    ["raise", enqueueActions(({ enqueue }) => enqueue.raise({ type: "stop" }))],
    ["raise", enqueueActions(({ enqueue }) => enqueue.raise({ type: "stop" }, { delay: 9 }))],
    ["emit", enqueueActions(({ enqueue }) => enqueue(emit({ type: "x" })))],
    ["log", enqueueActions(({ enqueue }) => enqueue(log("x")))],
    ["spawnChild", enqueueActions(({ enqueue }) => enqueue.spawnChild("work" as never))],
    ["(anonymous)", enqueueActions(({ enqueue }) => enqueue(() => undefined))],
    ["a spawned child", assign(({ spawn }) => ({ child: spawn("work" as never) }) as never)],
  ])("%s", (what, action) => {
    const { engine, machine } = hiding(action as never);
    const scope = createScopeEngine<MachineContext, MachineEvent>({ machine });
    expect(() => scope.step(still, { type: "go" })).toThrow("S2: not replay-safe");
    expect(() => scope.step(still, { type: "go" })).toThrow(what);
    // The step left nothing behind: the next one is judged for itself.
    expect(scope.can(still, { type: "go" })).toBe(true);
    expect(scope.step(still, { type: "stop" })).toBeNull();
    expect(() => engine.step(still, { type: "go" })).toThrow("not replay-safe");
  });

  it("a raised event that would go on for ever ends at the first one", () => {
    const { engine } = chartFromMachine(
      setup({
        types,
        actions: { again: enqueueActions(({ enqueue }) => enqueue.raise({ type: "go" })) },
      }).createMachine({
        id: "loop",
        initial: "still",
        context: { count: 0 },
        states: { still: { on: { go: { actions: "again" } } } },
      }),
      { version: 1, events },
    );
    expect(engine.kind).toBe("scope");
    expect(() => engine.step(still, { type: "go" })).toThrow("S2: not replay-safe: xstate.raise");
  });

  it("an effect before the first event", () => {
    const make = () =>
      defineChart({
        id: "eager",
        version: 1,
        initial: "first",
        context: () => ({}),
        events,
        effects: ["do.run"],
        states: { first: { always: { target: "second", actions: "do.run" } }, second: {} },
      });
    expect(make).toThrow("N3: an effect before the first event");
  });
});

describe("XState as engine", () => {
  it("collects what enqueueActions enqueues, with its params", () => {
    const { engine } = hiding(
      enqueueActions(({ enqueue, context }) => {
        enqueue.assign({ count: 7 } as never);
        enqueue({ type: "do.run", params: { before: (context as MachineContext).count } } as never);
      }),
    );
    expect(engine.kind).toBe("scope");
    expect(engine.step(still, { type: "go" })).toEqual({
      state: { value: "moved", context: { count: 7 } },
      effects: [{ type: "do.run", params: { before: 0 } }],
    });
  });

  it("steps regions and eventless transitions, in values whose text does not depend on what moved", () => {
    const { engine } = loomChart;
    let state = engine.initial();
    const walk: string[] = [];
    for (const type of ["loom.started", "loom.lit", "loom.threaded"] as const) {
      const step = engine.step(state, { type, colour: "red" });
      walk.push(step?.state.value ?? "refused");
      state = step?.state ?? state;
    }
    expect(walk).toEqual([
      "working.(frame|lamp.dark|warp.empty)",
      "working.(frame|lamp.bright|warp.empty)",
      "working.(frame|lamp.bright|warp.filling)",
    ]);
    const full = { ...state, context: { threads: ["red", "blue"], turns: 0 } };
    expect(engine.step(full, { type: "loom.threaded", colour: "green" })).toEqual({
      state: {
        value: "working.(frame|lamp.bright|warp.full)",
        context: { threads: ["red", "blue", "green"], turns: 2 },
      },
      effects: [{ type: "tell.weaver", params: { threads: ["red", "blue", "green"] } }],
    });
  });

  it("knows its values exactly: none that XState would complete or reorder", () => {
    const { engine, stateValues, finals } = loomChart;
    expect(stateValues).toHaveLength(8);
    expect(stateValues.every((value) => engine.has(value))).toBe(true);
    expect(finals).toEqual(["stopped"]);
    for (const value of [
      "working",
      "working.(warp.full|lamp.dark|frame)",
      "working.warp.full",
      "x",
      "(",
    ]) {
      expect(engine.has(value)).toBe(false);
      expect(() => engine.isFinal(value)).toThrow(RangeError);
      expect(() =>
        engine.can({ value, context: loomChart.engine.initial().context }, { type: "loom.lit" }),
      ).toThrow(RangeError);
    }
  });

  it("an eventless loop ends in an error, not in a hang", () => {
    const chart = defineChart({
      id: "spin",
      version: 1,
      initial: "still",
      context: () => ({ count: 0 }),
      events,
      reducers: { count: ({ context }) => ({ count: context.count + 1 }) },
      states: {
        still: { on: { go: "a" } },
        a: { always: { target: "b", actions: "count" } },
        b: { always: { target: "a" } },
      },
    });
    expect(() => chart.engine.step(chart.engine.initial(), { type: "go" })).toThrow(
      "Infinite loop",
    );
    expect(chart.engine.step(chart.engine.initial(), { type: "stop" })).toBeNull();
  });

  it("a chart's function that steps its own chart is told so", () => {
    let again: () => unknown = () => null;
    const chart = defineChart({
      id: "nested",
      version: 1,
      initial: "a",
      context: () => ({ count: 0 }),
      events,
      reducers: { recurse: () => ({ count: Number(again()) }) },
      states: {
        a: { on: { go: { actions: "recurse" } }, always: { target: "b", guard: "never" } },
        b: {},
      },
      guards: { never: () => false },
    });
    again = () => chart.engine.step(chart.engine.initial(), { type: "go" });
    expect(() => chart.engine.step(chart.engine.initial(), { type: "go" })).toThrow("S3: ");
    again = () => 1;
    expect(chart.engine.step(chart.engine.initial(), { type: "go" })?.state.context.count).toBe(1);
  });

  it("passes on what a context factory throws", () => {
    const machine = setup({
      types: { ...types, input: {} as { readonly count: number } },
    }).createMachine({
      id: "given",
      initial: "a",
      context: ({ input }) => ({ count: input.count }),
      states: { a: { on: { go: { target: "a", reenter: true } } } },
    });
    expect(() => chartFromMachine(machine, { version: 1, events })).toThrow(TypeError);
    const chart = chartFromMachine(machine, { version: 1, events, input: { count: 3 } });
    expect(chart.engine.initial().context).toEqual({ count: 3 });
    expect(chart.engine.kind).toBe("table");
  });
});
