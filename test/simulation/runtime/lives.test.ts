/**
 * Thousands of lives of the whole runtime on one log each, under weather drawn from a seed.
 *
 * HOLDFAST_SEED=<n> replays one run and says what happened in it. `npm run campaign -- lives` plays very many more.
 */
import { describe, expect, it } from "vitest";
import { say } from "../../support/say.ts";
import { complaintOf, run } from "./run.ts";

/** About eight lives each. */
const RUNS = 150;
const LIVES_MIN_PER_RUN = 4;
const JOBS_MIN_PER_RUN = 8;

describe("lives of the whole runtime", () => {
  it("[ES-1, ES-2, ES-3, ES-4, ES-8, ES-10, ES-11, RTY-2, STA-6, TREE-6] keep every invariant, whatever happens", async () => {
    const { HOLDFAST_SEED } = process.env;
    if (HOLDFAST_SEED !== undefined) {
      const report = await run({ seed: Number(HOLDFAST_SEED) });
      if (report.violations.length > 0) expect.fail(complaintOf(report));
      say([...report.trace, JSON.stringify(report.figures)].join("\n"));
      return;
    }
    let lives = 0;
    let jobs = 0;
    for (let seed = 1; seed <= RUNS; seed += 1) {
      const report = await run({ seed });
      if (report.violations.length > 0) expect.fail(complaintOf(report));
      lives += report.figures.lives;
      jobs += report.figures.jobs;
    }
    say(`runtime lives: ${lives} lives, ${jobs} jobs in ${RUNS} runs`);
    expect(lives).toBeGreaterThan(LIVES_MIN_PER_RUN * RUNS);
    expect(jobs).toBeGreaterThan(JOBS_MIN_PER_RUN * RUNS);
  }, 300_000);

  it("[ES-12] go the same way from the same seed, and another way from another", async () => {
    const digests: string[] = [];
    for (const seed of [1, 2, 3, 1, 2, 3]) digests.push((await run({ seed })).digest());
    expect(digests.slice(0, 3)).toEqual(digests.slice(3));
    expect(new Set(digests).size).toBe(3);
  });
});
