/** The kit for model-based tests: test/support/model. What it promises, and that it fails loudly. */

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";

import { defineChart } from "../../../machines/engine/define-chart.ts";
import { coverage } from "../../support/model/coverage.ts";
import { edgeCover } from "../../support/model/edge-cover.ts";
import { assertEnginesAgree } from "../../support/model/engines-agree.ts";
import {
  loomChart,
  parcelChart,
  parcelEvents,
  wardChart,
} from "../../support/model/sample-charts.ts";
import { steeredWalk } from "../../support/model/steered-walk.ts";
import { probeTransitions } from "../../support/model/transition-probe.ts";

const parcelCases = [
  { type: "parcel.sent", at: 1 },
  { type: "parcel.moved", at: 2, hub: "north" },
  { type: "parcel.lost", at: 3, reason: "rain" },
  { type: "parcel.delivered", at: 4, rating: 0 },
  { type: "parcel.delivered", at: 4, rating: 5 },
  { type: "parcel.recalled", at: 5 },
  { type: "parcel.returned", at: 6 },
] as const;

const wardCases = [
  { type: "ward.admitted" },
  { type: "ward.beat", level: 1 },
  { type: "ward.beat", level: 3 },
  { type: "ward.silent" },
  { type: "ward.checked", isWell: true },
  { type: "ward.checked", isWell: false },
  { type: "ward.restarted", isHard: true },
  { type: "ward.restarted", isHard: false },
  { type: "ward.noted" },
  { type: "ward.released" },
  { type: "ward.closed" },
] as const;

const loomCases = [
  { type: "loom.started" },
  { type: "loom.threaded", colour: "red" },
  { type: "loom.lit" },
  { type: "loom.stopped" },
] as const;

/** The fields of a ward that its guards ask for. */
const wardKey = ({
  context,
}: {
  readonly context: { readonly level: number; readonly notes: number };
}) => `${context.level} ${context.notes}`;

describe("[ES-7] an edge cover", () => {
  it("takes every transition in few paths, each from the first state on", () => {
    const paths = edgeCover(parcelChart, { events: parcelCases });
    expect(coverage(parcelChart, paths)).toEqual({
      total: 10,
      percent: 100,
      missing: [],
      missingStates: [],
    });
    expect(paths.length).toBeLessThanOrEqual(8);
    for (const path of paths) {
      let state = parcelChart.engine.initial();
      for (const step of path) {
        expect(step.before).toEqual(state);
        expect(parcelChart.engine.step(step.before, step.event)).toEqual({
          state: step.after,
          effects: step.effects,
        });
        state = step.after;
      }
    }
  });

  it("covers a chart in levels, with a key that keeps what guards ask for", () => {
    const paths = edgeCover(wardChart, { events: wardCases, serializeState: wardKey });
    expect(coverage(wardChart, paths).percent).toBe(100);
  });

  it("covers eventless transitions and regions", () => {
    const paths = edgeCover(loomChart, {
      events: loomCases,
      serializeState: ({ context }) => String(Math.min(context.threads.length, 3)),
    });
    const { percent, total } = coverage(loomChart, paths);
    expect(percent).toBe(100);
    expect(total).toBe(8);
    expect(probeTransitions(loomChart).transitions).toContain(
      "working.warp.filling --always[0]--> working.warp.full",
    );
  });

  it("takes cases that fit the state", () => {
    const paths = edgeCover(parcelChart, {
      events: ({ context }) => parcelCases.map((event) => ({ ...event, at: context.updatedAt })),
    });
    expect(coverage(parcelChart, paths).percent).toBe(100);
  });

  it("fails when an event has no case, or a case is no event", () => {
    const events = parcelCases.filter(({ type }) => type !== "parcel.lost");
    expect(() => edgeCover(parcelChart, { events })).toThrow("no case for parcel.lost");
    const rogue = [...parcelCases, { type: "parcel.painted" } as never];
    expect(() => edgeCover(parcelChart, { events: rogue })).toThrow("unknown_type: ");
    const invalid = [...parcelCases, { type: "parcel.sent", at: "noon" } as never];
    expect(() => edgeCover(parcelChart, { events: invalid })).toThrow("invalid: ");
  });

  it("fails when an alternative of a guard has no case", () => {
    const events = parcelCases.filter((event) => !("rating" in event) || event.rating > 0);
    expect(() => edgeCover(parcelChart, { events })).toThrow(
      "unreachable: travelling --parcel.delivered[1]--> delivered",
    );
  });

  it("fails when the key forgets what a guard asks for", () => {
    expect(() => edgeCover(parcelChart, { events: parcelCases, serializeState: () => "" })).toThrow(
      "unreachable: travelling --parcel.lost[1]--> gone",
    );
  });

  it("fails when the context grows without end", () => {
    const growing = ({ context }: { readonly context: { readonly updatedAt: number } }) =>
      parcelCases.map((event) => ({
        ...event,
        at: context.updatedAt + 1,
        hub: String(context.updatedAt),
      }));
    expect(() => edgeCover(parcelChart, { events: growing })).toThrow("its context grows");
  });

  it("fails for what nothing reaches, unless it is excused; and for an excuse that is none", () => {
    const chart = defineChart({
      id: "island",
      version: 1,
      initial: "a",
      context: () => ({}),
      events: z.discriminatedUnion("type", [z.object({ type: z.literal("go") })]),
      guards: { never: () => false },
      states: {
        a: { on: { go: [{ guard: "never", target: "island" }, { target: "b" }] } },
        b: {},
        island: {},
      },
    });
    const events = [{ type: "go" }] as const;
    const name = "a --go[0]--> island";
    const cover = (unreachable: Readonly<Record<string, string>>) =>
      edgeCover(chart, { events, unreachable });
    expect(() => cover({})).toThrow(`unreachable: ${name}\n  never entered: island`);
    expect(cover({ [name]: "its guard is for a later version" })).toHaveLength(1);
    expect(() => cover({ [name]: "", "a --go[1]--> b": "" })).toThrow(
      "said to be unreachable, but is not, or is no transition: a --go[1]--> b",
    );
  });
});

describe("[ES-7] coverage", () => {
  it("names what was not taken, and where nobody was", () => {
    const before = parcelChart.engine.initial();
    const run = [
      { before, event: parcelCases[0], after: { ...before, value: "travelling" } },
      // Refused: it covers nothing.
      { before, event: parcelCases[1] },
    ];
    const { percent, missing, missingStates } = coverage(parcelChart, [run]);
    expect(percent).toBe(10);
    expect(missing).toHaveLength(9);
    expect(missing).toContain("(root) --parcel.sent[0]--> (stays)");
    expect(missingStates).toEqual(["recalling", "delivered", "gone", "withdrawn"]);
  });
});

describe("[ES-7] a steered walk", () => {
  it("is what the engine does, with events in between that it refuses", () => {
    const engine: Pick<typeof parcelChart.engine, "initial"> & {
      step(state: object, event: { readonly type: string }): unknown;
    } = parcelChart.engine;
    const walks = fc.sample(steeredWalk(parcelChart, { events: parcelEvents }), { seed: 3 });
    for (const walk of walks) {
      let state = engine.initial();
      for (const step of walk) {
        expect(step.before).toEqual(state);
        const { kind } = step;
        const expected = kind === "refused" ? null : { state: step.after, effects: step.effects };
        expect(engine.step(state, step.event)).toEqual(expected);
        state = kind === "refused" ? state : step.after;
      }
    }
    const kinds = walks.flat().map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "refused").length).toBeGreaterThan(100);
    expect(kinds.filter((kind) => kind === "taken").length).toBeGreaterThan(100);
  });

  it("lives long, though nearly every state could end it", () => {
    const meanLength = (terminalPercent?: number): number => {
      const steered = terminalPercent === undefined ? {} : { terminalPercent };
      const walk = steeredWalk(parcelChart, { events: parcelCases, ...steered });
      const walks = fc.sample(walk, { numRuns: 200, seed: 1 });
      return walks.flat().filter(({ kind }) => kind === "taken").length / walks.length;
    };
    expect(meanLength()).toBeGreaterThan(15);
    expect(meanLength(100)).toBeLessThan(8);
  });

  it("shrinks to a short walk that fails", () => {
    const walk = steeredWalk(parcelChart, { events: parcelCases });
    const isWithdrawn = ({ before }: { readonly before: { readonly value: string } }) =>
      before.value === "recalling";
    const details = fc.check(
      fc.property(walk, (steps) => !steps.some(isWithdrawn)),
      { seed: 7 },
    );
    expect(details.counterexample?.[0].length).toBeLessThan(8);
  });

  it("fails when an event has no generator", () => {
    const { "parcel.lost": _lost, ...rest } = parcelEvents;
    expect(() => steeredWalk(parcelChart, { events: rest as never })).toThrow(
      "no case for parcel.lost",
    );
  });
});

describe("[ES-2] the agreement of engines", () => {
  const cases = parcelCases.filter((event) => !("rating" in event) || event.rating > 0);

  it("fails when the walks tried too little", () => {
    expect(() => assertEnginesAgree(parcelChart, cases, { runs: 30, seed: 1 })).toThrow(
      "never tried:\n  travelling --parcel.delivered[1]--> delivered",
    );
    expect(
      assertEnginesAgree(parcelChart, cases, { runs: 30, seed: 1, coveragePercentMin: 90 }).coverage
        .missing,
    ).toHaveLength(1);
  });

  it("fails when the engine is not what XState does", () => {
    const { engine } = parcelChart;
    const broken = {
      ...parcelChart,
      engine: {
        kind: engine.kind,
        initial: () => engine.initial(),
        can: engine.can.bind(engine),
        isFinal: (value: string) => engine.isFinal(value),
        has: (value: string) => engine.has(value),
        step(...args: Parameters<typeof engine.step>) {
          const step = engine.step(...args);
          if (step?.state.value !== "gone") return step;
          return { ...step, effects: step.effects.slice(1) };
        },
      },
    };
    expect(() => assertEnginesAgree(broken, parcelEvents, { runs: 20 })).toThrow("Property failed");
  });
});
