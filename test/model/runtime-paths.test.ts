/**
 * Every path of the job chart, driven against the real runtime, with a crash and a fold between any two steps (ES-7, ES-2).
 */
import { describe, expect, it } from "vitest";

import { jobChart } from "../../machines/job/chart.ts";
import { DrivenJob, recoveredValue } from "../support/driven/driven-job.ts";
import { beginningsOf, CLASSES, crashingAlong, pathsOf } from "../support/driven/paths.ts";
import { say } from "../support/say.ts";

describe("the real runtime", () => {
  it.each(CLASSES)(
    "[ES-7, ES-2] takes every transition of the job chart, and a crash after any step folds to where it stood: %s",
    async (retryClass) => {
      const beginnings = beginningsOf(pathsOf(retryClass));
      let folds = 0;
      let steps = 0;
      for (const beginning of beginnings) {
        const driven = await DrivenJob.begin();
        for (const { event, after } of beginning) {
          await driven.perform(event);
          steps += 1;
          if (jobChart.engine.isFinal(after.value)) expect(driven.state).toBeNull();
          else {
            const { value, context } = driven.state ?? { value: "gone", context: null };
            const { attempt, pending, awaited, waitingFor, answers, cancel } = after.context;
            expect([value, context]).toMatchObject([
              after.value,
              { attempt, pending, awaited, waitingFor, answers, cancel },
            ]);
          }
        }
        const expected = recoveredValue(driven.state, retryClass);
        await driven.crash();
        expect([beginning.map(({ event }) => event.type), driven.state?.value ?? null]).toEqual([
          beginning.map(({ event }) => event.type),
          expected,
        ]);
        // A fold runs nothing: code ran exactly as often as a start was acknowledged.
        expect(driven.runs).toBe(driven.history.filter((type) => type === "started").length);
        if (beginning.length > 0) await driven.end();
        expect(driven.test.faults()).toEqual([]);
        folds += driven.folds;
      }
      say(
        `${retryClass}: ${beginnings.length} beginnings of paths, ${steps} steps, ${folds} folds compared with live actors`,
      );
    },
  );

  it("[ES-7, ES-2] goes on along a path with a crash after every single step of it", async () => {
    let folds = 0;
    let taken = 0;
    const reached = new Set<string>();
    for (const path of CLASSES.flatMap(pathsOf)) {
      const driven = await DrivenJob.begin();
      const walked = await crashingAlong(driven, path);
      taken += walked.taken;
      for (const value of walked.reached) reached.add(value);
      if (driven.history.length > 0) await driven.end();
      expect(driven.runs).toBe(driven.history.filter((type) => type === "started").length);
      expect(driven.test.faults()).toEqual([]);
      folds += driven.folds;
    }
    say(`with a crash after every step: ${taken} steps, ${folds} folds compared with live actors`);
    for (const value of ["running", "interrupted", "blocked", "(gone)"])
      expect(reached).toContain(value);
  });
});
