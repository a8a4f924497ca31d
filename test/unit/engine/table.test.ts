/** The compiled engine: invariants K2 to K4 of machines/engine/table/table.ts. K1 is test/model/engine-equivalence.test.ts. */

import { describe, expect, it } from "vitest";
import { z } from "zod";

import type { ActorState, ChartEvent, Engine } from "../../../machines/engine/chart.ts";
import { defineChart } from "../../../machines/engine/define-chart.ts";
import { NO_EFFECTS } from "../../../machines/engine/effects.ts";
import { createScopeEngine } from "../../../machines/engine/scope.ts";

const LampEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("lamp.lit"), level: z.number() }),
  z.object({ type: z.literal("lamp.dimmed") }),
  z.object({ type: z.literal("lamp.cut") }),
  z.object({ type: z.literal("lamp.broken") }),
]);

interface LampContext {
  readonly log: string;
}

const logging =
  (word: string) =>
  ({ context }: { readonly context: LampContext }) => ({ log: `${context.log} ${word}` });

const seen = ({ context }: { readonly context: LampContext }) => ({ log: context.log });

const lampChart = defineChart({
  id: "lamp",
  version: 1,
  initial: "dark",
  context: (): LampContext => ({ log: "" }),
  events: LampEvent,
  reducers: {
    leaveDark: logging("-dark"),
    enterLight: logging("+light"),
    leaveLight: logging("-light"),
    enterLow: logging("+low"),
    leaveLow: logging("-low"),
    enterGone: logging("+gone"),
    leaveGone: logging("-gone"),
    act: logging("act"),
  },
  guards: {
    isBright: ({ event }) => event.type === "lamp.lit" && event.level > 5,
    hasLog: ({ context }) => context.log !== "",
  },
  effects: ["do.hum", "do.stop", "tell.house"],
  states: {
    dark: {
      exit: "leaveDark",
      on: {
        "lamp.lit": [
          { guard: "isBright", target: "#lamp.light.high", actions: ["act", "do.hum"] },
          { target: "light", actions: { type: "tell.house", params: seen } },
        ],
        "lamp.dimmed": { actions: "do.hum" },
        "lamp.broken": {},
      },
    },
    light: {
      initial: "low",
      entry: ["enterLight", { type: "do.hum", params: seen }],
      exit: ["leaveLight", { type: "do.stop", params: seen }],
      on: { "lamp.cut": "gone", "lamp.dimmed": { target: ".low" } },
      states: {
        low: { entry: "enterLow", exit: "leaveLow", on: { "lamp.cut": { guard: "isBright" } } },
        high: { on: { "lamp.dimmed": {} } },
      },
    },
    gone: { type: "final", entry: ["enterGone", "do.hum"], exit: ["leaveGone", "do.stop"] },
  },
  on: { "lamp.broken": { target: ".gone", actions: "act" } },
});

const engine: Engine<LampContext, z.infer<typeof LampEvent>> = lampChart.engine;
const at = (value: string, log = ""): ActorState<LampContext> => ({ value, context: { log } });

describe("the compiled engine", () => {
  it("begins in the initial leaf with a context of its own", () => {
    expect(engine.kind).toBe("table");
    expect(engine.initial()).toEqual(at("dark"));
    expect(engine.initial().context).not.toBe(engine.initial().context);
  });

  it("runs exits, transition and entries in order, each effect seeing the context at its place", () => {
    expect(engine.step(at("dark"), { type: "lamp.lit", level: 1 })).toEqual({
      state: at("light.low", " -dark +light +low"),
      effects: [
        { type: "tell.house", params: { log: " -dark" } },
        { type: "do.hum", params: { log: " -dark +light" } },
      ],
    });
    expect(engine.step(at("dark"), { type: "lamp.lit", level: 9 })?.state).toEqual(
      at("light.high", " -dark act +light"),
    );
  });

  it("exits everything where the chart ends, the leaf first", () => {
    expect(engine.step(at("light.low"), { type: "lamp.cut" })).toEqual({
      state: at("gone", " -low -light +gone -gone"),
      effects: [
        { type: "do.stop", params: { log: " -low -light" } },
        { type: "do.hum", params: {} },
        { type: "do.stop", params: {} },
      ],
    });
  });

  it("asks inner states before outer ones, and outer ones where the inner guard does not hold", () => {
    expect(engine.step(at("light.low"), { type: "lamp.dimmed" })?.state.value).toBe("light.low");
    expect(engine.step(at("light.low"), { type: "lamp.cut" })?.state.value).toBe("gone");
    expect(engine.step(at("dark"), { type: "lamp.cut" })).toBeNull();
  });

  it("takes a transition that says nothing for a refusal, whatever stands above", () => {
    expect(engine.step(at("light.high"), { type: "lamp.dimmed" })).toBeNull();
    expect(engine.step(at("dark"), { type: "lamp.broken" })).toBeNull();
    expect(engine.step(at("light.high"), { type: "lamp.broken" })?.state.value).toBe("gone");
  });

  it("[STA-6] refuses everything in a final state, and what XState itself would act on", () => {
    const rogue: Engine<LampContext, ChartEvent> = engine;
    for (const type of ["lamp.lit", "lamp.broken", "lamp.cut"]) {
      expect(rogue.step(at("gone"), { type })).toBeNull();
    }
    for (const type of ["xstate.init", "xstate.stop", "xstate.error.actor.x", "", "constructor"]) {
      expect(rogue.step(at("dark"), { type })).toBeNull();
      expect(rogue.can(at("dark"), { type })).toBe(false);
    }
  });

  it("keeps the context object when nothing assigns, and shares effects that need no computing", () => {
    const before = at("dark");
    const once = engine.step(before, { type: "lamp.dimmed" });
    const twice = engine.step(at("dark", "x"), { type: "lamp.dimmed" });
    expect(once?.state.context).toBe(before.context);
    expect(once?.effects).toBe(twice?.effects);
    expect(once?.effects).toEqual([{ type: "do.hum", params: {} }]);
    expect(Object.isFrozen(once?.effects)).toBe(true);
    expect(engine.step(at("light.high"), { type: "lamp.lit", level: 1 })).toBeNull();
  });

  it("shares one empty list where there is no effect", () => {
    const step = engine.step(at("light.low"), { type: "lamp.dimmed" });
    expect(step?.effects).toBe(NO_EFFECTS);
    expect(Object.isFrozen(NO_EFFECTS)).toBe(true);
  });

  it("never changes what it was given", () => {
    const before = Object.freeze({ value: "dark", context: Object.freeze({ log: "" }) });
    const event = Object.freeze({ type: "lamp.lit", level: 9 } as const);
    expect(engine.step(before, event)?.state.context).not.toBe(before.context);
    expect(before).toEqual(at("dark"));
  });

  it("knows its values, and throws for others", () => {
    expect(["dark", "light.low", "light.high", "gone"].every((value) => engine.has(value))).toBe(
      true,
    );
    for (const value of ["light", "low", "", "light.low.x", "constructor"]) {
      expect(engine.has(value)).toBe(false);
      expect(() => engine.isFinal(value)).toThrow(RangeError);
      expect(() => engine.step(at(value), { type: "lamp.cut" })).toThrow(RangeError);
      expect(() => engine.can(at(value), { type: "lamp.cut" })).toThrow(RangeError);
    }
    expect(engine.isFinal("gone")).toBe(true);
    expect(engine.isFinal("dark")).toBe(false);
  });

  it("lets a throw of the chart's own functions through", () => {
    const chart = defineChart({
      id: "faulty",
      version: 1,
      initial: "only",
      context: () => ({ n: 0 }),
      events: z.discriminatedUnion("type", [
        z.object({ type: z.literal("a") }),
        z.object({ type: z.literal("b") }),
        z.object({ type: z.literal("c") }),
        z.object({ type: z.literal("d") }),
      ]),
      reducers: {
        fail: () => {
          throw new TypeError("reducer");
        },
        // What only JavaScript would write: XState's assign hands these out as well.
        steal: (args) => ({ n: Number("self" in args && String(args.self)) }),
      },
      effects: ["do.it"],
      guards: {
        fail: () => {
          throw new TypeError("guard");
        },
      },
      states: {
        only: {
          on: {
            a: { actions: "fail" },
            b: { guard: "fail" },
            c: { actions: "steal" },
            d: { actions: { type: "do.it", params: () => [1] } },
          },
        },
      },
    });
    const state = chart.engine.initial();
    expect(() => chart.engine.step(state, { type: "a" })).toThrow(new TypeError("reducer"));
    expect(() => chart.engine.step(state, { type: "b" })).toThrow(new TypeError("guard"));
    expect(() => chart.engine.can(state, { type: "b" })).toThrow(new TypeError("guard"));
    expect(() => chart.engine.step(state, { type: "c" })).toThrow(/C1: not replay-safe.*self/);
    for (const engine of [chart.engine, createScopeEngine({ machine: chart.machine })]) {
      expect(() => engine.step(state, { type: "d" })).toThrow("K3: ");
    }
  });
});

describe("final states inside", () => {
  const boxChart = (handlers: object) =>
    defineChart({
      id: "box",
      version: 1,
      initial: "open",
      context: () => ({}),
      events: z.discriminatedUnion("type", [
        z.object({ type: z.literal("box.shut") }),
        z.object({ type: z.literal("box.opened") }),
      ]),
      states: {
        open: { on: { "box.shut": "shut" } },
        shut: { initial: "tight", states: { tight: { type: "final" } }, on: handlers },
      },
    });

  it("are final when nothing above handles anything", () => {
    const chart = boxChart({});
    expect(chart.finals).toEqual(["shut.tight"]);
    expect(
      chart.engine.step({ value: "shut.tight", context: {} }, { type: "box.opened" }),
    ).toBeNull();
  });

  it("are left by what a state above handles", () => {
    const chart = boxChart({ "box.opened": "open" });
    expect(chart.finals).toEqual([]);
    const step = chart.engine.step({ value: "shut.tight", context: {} }, { type: "box.opened" });
    expect(step?.state.value).toBe("open");
  });

  it("are said so by the chart: a state that is merely a dead end is none", () => {
    const chart = defineChart({
      id: "alley",
      version: 1,
      initial: "street",
      context: () => ({}),
      events: z.discriminatedUnion("type", [z.object({ type: z.literal("turned") })]),
      states: { street: { on: { turned: "end" } }, end: {} },
    });
    expect(chart.engine.step({ value: "end", context: {} }, { type: "turned" })).toBeNull();
    expect(chart.finals).toEqual([]);
  });
});
