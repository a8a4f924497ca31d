/** What a definition becomes: machines/engine/define-chart.ts and assemble-chart.ts. */

import { describe, expect, it } from "vitest";
import { z } from "zod";

import type { AnyChart } from "../../../machines/engine/chart.ts";
import { defineChart } from "../../../machines/engine/define-chart.ts";
import { ChartLintError } from "../../../machines/engine/lint/lint.ts";

const DoorEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("door.opened"), by: z.string() }),
  z.object({ type: z.literal(["door.closed", "door.slammed"]) }),
]);

const doorChart = defineChart({
  id: "door",
  version: 2,
  description: "a door",
  initial: "closed",
  context: () => ({ openings: 0 }),
  events: DoorEvent,
  reducers: { count: ({ context }) => ({ openings: context.openings + 1 }) },
  guards: { isNew: ({ context }) => context.openings < 100 },
  effects: ["do.ring"],
  states: {
    closed: {
      on: {
        "door.opened": { guard: "isNew", target: "open", actions: ["count", "do.ring"] },
      },
    },
    open: { on: { "door.closed": "closed", "door.slammed": "broken" } },
    broken: { type: "final" },
  },
  upcasters: { "door.opened": { 1: (event) => ({ ...event, by: "nobody" }) } },
});

describe("a chart", () => {
  it("says what it has", () => {
    expect(doorChart).toMatchObject({
      id: "door",
      version: 2,
      stateValues: ["closed", "open", "broken"],
      finals: ["broken"],
      eventTypes: ["door.opened", "door.closed", "door.slammed"],
    });
    expect(doorChart.engine.kind).toBe("table");
    expect(doorChart.machine.id).toBe("door");
    expect(doorChart.machine.version).toBe("2");
  });

  it("steps", () => {
    const { engine } = doorChart;
    const step = engine.step(engine.initial(), { type: "door.opened", by: "me" });
    expect(step?.state).toEqual({ value: "open", context: { openings: 1 } });
    expect(
      engine.can(
        { value: "closed", context: { openings: 100 } },
        { type: "door.opened", by: "me" },
      ),
    ).toBe(false);
  });

  it("[ES-5] parses what is an event of now, and throws for the rest", () => {
    expect(doorChart.parseEvent({ type: "door.opened", by: "me", extra: 1 })).toEqual({
      type: "door.opened",
      by: "me",
    });
    expect(() => doorChart.parseEvent({ type: "door.opened" })).toThrow(z.ZodError);
    expect(() => doorChart.parseEvent({ type: "door.painted" })).toThrow(z.ZodError);
  });

  it("[ES-5] reads what an older version wrote", () => {
    const old = { type: "door.opened" };
    expect(doorChart.parseEvent(doorChart.upcast(old, 1))).toEqual({
      type: "door.opened",
      by: "nobody",
    });
    expect(doorChart.readEvent(old, 1)).toEqual({
      kind: "event",
      event: { type: "door.opened", by: "nobody" },
    });
  });

  it("[ES-6] reports what it cannot read as a value, which is never taken for an event", () => {
    expect(doorChart.readEvent({ type: "door.painted" }, 2)).toMatchObject({
      kind: "unknown_type",
    });
    expect(doorChart.readEvent({ type: "door.closed" }, 3)).toMatchObject({
      kind: "unknown_version",
    });
    expect(doorChart.readEvent(null, 1)).toMatchObject({ kind: "malformed" });
    const invalid = doorChart.readEvent({ type: "door.opened", by: 7 }, 2);
    expect(invalid).toMatchObject({ kind: "invalid", eventType: "door.opened", fromVersion: 2 });
    expect(invalid).toHaveProperty("cause", expect.any(z.ZodError));
    // A newer event would parse as one of now; what upcast gives for it does not.
    expect(() => doorChart.parseEvent(doorChart.upcast({ type: "door.closed" }, 3))).toThrow(
      z.ZodError,
    );
  });

  it("fits a registry of charts of whatever kind", () => {
    const registry = new Map<string, AnyChart>([["door", doorChart]]);
    expect(registry.get("door")?.engine.initial().value).toBe("closed");
  });

  it("tells all faults at once, with their places", () => {
    const make = () =>
      defineChart({
        id: "door",
        version: 1,
        initial: "closed",
        context: () => ({}),
        events: DoorEvent,
        states: {
          closed: {
            on: {
              "door.opened": "opne",
              // @ts-expect-error nobody provides this guard, and nothing runs by itself
              "door.closed": { guard: "isNew" },
            },
            after: {},
          },
        },
      });
    expect(make).toThrow(ChartLintError);
    expect(make).toThrow(
      [
        'chart "door" is not replay-safe:',
        "  closed: `after` is a timer that no log holds; name an effect that arms one and handle its event",
        '  closed: on "door.opened" [0]: unknown target "opne"',
        '  closed: on "door.closed" [0]: guard "isNew" is not provided',
      ].join("\n"),
    );
  });

  it.each([
    ["no union", z.object({ type: z.literal("a") }).or(z.object({ type: z.literal("b") }))],
    ["a type that is no literal", z.object({ type: z.string() })],
  ])("wants a discriminated union on type: %s", (_name, events) => {
    const make = () =>
      defineChart({
        id: "x",
        version: 1,
        initial: "a",
        context: () => ({}),
        events,
        states: { a: {} },
      });
    expect(make).toThrow(TypeError);
  });

  it("takes unions of unions, and refuses a type that stands in two", () => {
    const A = z.object({ type: z.literal("a") });
    const inner = z.discriminatedUnion("type", [z.object({ type: z.literal("b") }), A]);
    const make = (events: z.ZodType<{ type: string }>) =>
      defineChart({
        id: "x",
        version: 1,
        initial: "a",
        context: () => ({}),
        events,
        states: { a: {} },
      });
    expect(make(z.discriminatedUnion("type", [inner])).eventTypes).toEqual(["b", "a"]);
    expect(() => make(z.discriminatedUnion("type", [inner, A]))).toThrow();
  });
});
