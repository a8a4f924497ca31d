/**
 * Every engine steps as XState does (K1, S1), on charts that use everything an engine must get right. The real charts are held
 * to the same property where they are tested.
 */

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { assertEnginesAgree } from "../support/model/engines-agree.ts";
import { randomChart, randomChartEvents } from "../support/model/random-charts.ts";
import {
  loomChart,
  loomEvents,
  parcelChart,
  parcelEvents,
  wardChart,
  wardEvents,
} from "../support/model/sample-charts.ts";

describe("every engine steps as XState does", () => {
  it("[ES-2] a flat chart with guards, effect params and a forbidden event", () => {
    expect(parcelChart.engine.kind).toBe("table");
    const { refusals } = assertEnginesAgree(parcelChart, parcelEvents);
    expect(refusals).toBeGreaterThan(1000);
  });

  it("[ES-2] a chart in levels with entries, exits, re-entry and final states inside", () => {
    expect(wardChart.engine.kind).toBe("table");
    const { refusals } = assertEnginesAgree(wardChart, wardEvents);
    expect(refusals).toBeGreaterThan(1000);
  });

  it("[ES-2] a chart with regions and eventless transitions, on the scope", () => {
    expect(loomChart.engine.kind).toBe("scope");
    assertEnginesAgree(loomChart, loomEvents, { runs: 100 });
  });

  it("[ES-2] charts that nobody would write", async () => {
    await fc.assert(
      fc.property(randomChart, fc.integer(), (chart, seed) => {
        expect(chart.engine.kind).toBe("table");
        const options = { runs: 3, lengthMax: 12, coveragePercentMin: 0, seed };
        assertEnginesAgree(chart, randomChartEvents, options);
      }),
      { numRuns: 150 },
    );
  });
});
