/**
 * Thousands of lives of owners of one log, under faults drawn from a seed (ES-3, ES-4, ES-8, ES-10).
 *
 * HOLDFAST_SEED=<n> replays one run. HOLDFAST_RUNS=<n> plays more of them than CI does.
 */
import { describe, expect, it } from "vitest";
import { complaintOf } from "./complaint.ts";
import { run } from "./run.ts";

/** Five to six lives each. */
const RUNS_DEFAULT = 270;
const LIVES_MIN_PER_RUN = 5;

const { HOLDFAST_SEED, HOLDFAST_RUNS } = process.env;
const runs = Number(HOLDFAST_RUNS ?? RUNS_DEFAULT);
const seeds =
  HOLDFAST_SEED === undefined
    ? Array.from({ length: runs }, (_, at) => at + 1)
    : [Number(HOLDFAST_SEED)];

describe("lives", () => {
  it("[ES-3, ES-4, ES-8, ES-10] lose nothing that was acknowledged, double nothing, and leave one owner, whatever happens", async () => {
    let lives = 0;
    let resyncs = 0;
    for (const seed of seeds) {
      const report = await run({ seed });
      if (report.violations.length > 0) expect.fail(complaintOf(report));
      lives += report.lifeCount;
      resyncs += report.resyncCount;
    }
    if (HOLDFAST_SEED !== undefined) return;
    expect(lives).toBeGreaterThan(LIVES_MIN_PER_RUN * runs);
    expect(resyncs).toBeGreaterThan(runs);
  }, 3_600_000);

  it("go the same way from the same seed, and another way from another", async () => {
    const digests: string[] = [];
    for (const seed of [1, 2, 3, 1, 2, 3]) digests.push((await run({ seed })).digest());
    expect(digests.slice(0, 3)).toEqual(digests.slice(3));
    expect(new Set(digests).size).toBe(3);
  });
});
