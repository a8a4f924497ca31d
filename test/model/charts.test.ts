/**
 * The runtime's charts, each covered by paths and walks derived from itself (ES-7).
 */
import assert from "node:assert/strict";

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { dispatcherChart } from "../../machines/dispatcher/chart.ts";
import { createScopeEngine } from "../../machines/engine/scope.ts";
import { jobChart } from "../../machines/job/chart.ts";
import { livenessChart } from "../../machines/liveness/chart.ts";
import {
  dispatcherEvents,
  dispatcherKey,
  jobEvents,
  jobKey,
  livenessEvents,
  livenessKey,
} from "../support/chart-events.ts";
import { coverage } from "../support/model/coverage.ts";
import { edgeCover } from "../support/model/edge-cover.ts";
import { assertEnginesAgree } from "../support/model/engines-agree.ts";
import { steeredWalk } from "../support/model/steered-walk.ts";
import { ROGUE_EVENTS } from "../support/model/steering.ts";
import { say } from "../support/say.ts";

const SUBJECTS = [
  {
    name: "job",
    chart: jobChart,
    finals: ["completed", "failed", "cancelled", "timed_out"],
    cover: () => edgeCover(jobChart, { events: jobEvents(), serializeState: jobKey }),
    // What needs a long life is compared along the paths below; walks meet it now and then.
    agree: () => assertEnginesAgree(jobChart, jobEvents(), { runs: 25, coveragePercentMin: 80 }),
    walk: () => steeredWalk(jobChart, { events: jobEvents() }),
    at: (value: string) => jobEvents()({ value, context: jobChart.engine.initial().context }),
  },
  {
    name: "liveness",
    chart: livenessChart,
    finals: ["completed", "failed", "cancelled"],
    cover: () => edgeCover(livenessChart, { events: livenessEvents, serializeState: livenessKey }),
    agree: () => assertEnginesAgree(livenessChart, livenessEvents, { runs: 25 }),
    walk: () => steeredWalk(livenessChart, { events: livenessEvents }),
    at: () => livenessEvents,
  },
  {
    name: "dispatcher",
    chart: dispatcherChart,
    finals: [],
    cover: () =>
      edgeCover(dispatcherChart, { events: dispatcherEvents, serializeState: dispatcherKey }),
    agree: () => assertEnginesAgree(dispatcherChart, dispatcherEvents, { runs: 25 }),
    walk: () => steeredWalk(dispatcherChart, { events: dispatcherEvents }),
    at: () => dispatcherEvents,
  },
] as const;

describe.each(SUBJECTS)("the $name chart", ({ name, chart, finals, cover, agree, walk, at }) => {
  it("[ES-7] is covered by generated paths: every transition, every state", () => {
    const paths = cover();
    // The paths are of this chart's own types; coverage counts only what it steps.
    const result = coverage(chart as never, paths as never);
    const steps = paths.reduce((sum, path) => sum + path.length, 0);
    say(
      `${name}: ${paths.length} paths, ${steps} steps, ${result.total} transitions, ${result.percent} %`,
    );
    expect(result.percent).toBe(100);
    expect(result.missingStates).toEqual([]);
    expect(paths.length).toBeGreaterThan(0);
  });

  it("[ES-2] steps alike as a table, under the scope and as XState itself, on random walks", () => {
    expect(chart.engine.kind).toBe("table");
    const { comparisons, refusals } = agree();
    expect(comparisons).toBeGreaterThan(1_000);
    expect(refusals).toBeGreaterThan(1_000);
    const scope = createScopeEngine({ machine: chart.machine });
    for (const path of cover())
      for (const { before, event, after, effects } of path)
        assert.deepStrictEqual(scope.step(before, event), { state: after, effects });
  });

  it("[ES-7] refuses what does not fit, on walks of any length, and stays as it was", () => {
    const engine: {
      step(state: unknown, event: unknown): unknown;
      can(state: unknown, event: unknown): boolean;
    } = chart.engine as never;
    let refused = 0;
    void fc.assert(
      fc.property(
        walk() as fc.Arbitrary<readonly { kind: string; before: unknown; event: unknown }[]>,
        (steps) => {
          for (const { kind, before, event } of steps) {
            if (kind !== "refused") continue;
            const picture = JSON.stringify(before);
            assert.equal(engine.step(before, event), null);
            assert.equal(engine.can(before, event), false);
            assert.equal(JSON.stringify(before), picture);
            refused += 1;
          }
        },
      ),
      { numRuns: 60 },
    );
    expect(refused).toBeGreaterThan(100);
  });

  it("[CTX-5, STA-6] has these final states, and nothing leaves one", () => {
    expect([...chart.finals].sort()).toEqual([...finals].sort());
    const engine: { can(state: unknown, event: unknown): boolean } = chart.engine as never;
    const { context } = chart.engine.initial();
    for (const value of chart.finals)
      for (const event of [...at(value), ...ROGUE_EVENTS])
        expect([value, event.type, engine.can({ value, context }, event)]).toEqual([
          value,
          event.type,
          false,
        ]);
  });
});
