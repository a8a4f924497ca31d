/**
 * Every path of the job chart, driven against the real runtime, with a crash and a fold between any two steps (ES-7, ES-2).
 */
import { describe, expect, it } from "vitest";

import { type JobContext, jobChart } from "../../machines/job/chart.ts";
import type { JobEvent } from "../../machines/job/events.ts";
import type { JobSpec } from "../../machines/job/spec.ts";
import { jobEvents, jobKey } from "../support/chart-events.ts";
import { DrivenJob, fitted, recoveredValue } from "../support/driven-job.ts";
import { edgeCover } from "../support/model/edge-cover.ts";
import type { ModelPath } from "../support/model/model-path.ts";
import { say } from "../support/say.ts";

type Path = ModelPath<JobContext, JobEvent>;

const CLASSES = ["safe_to_retry", "unknown_no_automatic_retry"] as const;

const pathsOf = (retryClass: JobSpec["retryClass"]): readonly Path[] =>
  edgeCover(jobChart, {
    events: jobEvents(DrivenJob.spec(retryClass)),
    serializeState: jobKey,
  });

/** Every beginning of a path, once, the empty one and the whole ones included. */
function beginningsOf(paths: readonly Path[]): readonly Path[] {
  const beginnings = new Map<string, Path>();
  for (const path of paths)
    for (let length = 0; length <= path.length; length += 1) {
      const beginning = path.slice(0, length);
      beginnings.set(JSON.stringify(beginning.map(({ event }) => event)), beginning);
    }
  return [...beginnings.values()];
}

/** One step with a crash after it. False: the event does not fit where the job stands. */
async function crashAfter(driven: DrivenJob, given: JobEvent, nextType: string | undefined) {
  const { state } = driven;
  const event = state === null ? given : fitted(given, state);
  if (!jobChart.engine.can(state ?? jobChart.engine.initial(), event)) return false;
  await driven.closeLine();
  await driven.perform(event);
  const isHeld = driven.state?.value === "blocked" && nextType !== "job.unblocked";
  await driven.crash({ isTypeAway: isHeld || nextType === "job.blocked" });
  return true;
}

/** Recovery may have moved the job on after a crash: what does not fit any more is left out. */
async function crashingAlong(driven: DrivenJob, path: Path) {
  const reached: string[] = [];
  let taken = 0;
  for (const [at, { event }] of path.entries()) {
    if (at > 0 && driven.state === null) break;
    if (await crashAfter(driven, event, path[at + 1]?.event.type)) taken += 1;
    reached.push(driven.state?.value ?? "(gone)");
  }
  return { reached, taken };
}

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
