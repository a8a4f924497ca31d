/**
 * Paths of the job chart, and walking along them with crashes, on whatever log the driven runtime has.
 */
import { type JobContext, jobChart } from "../../../machines/job/chart.ts";
import type { JobEvent } from "../../../machines/job/events.ts";
import type { JobSpec } from "../../../machines/job/spec.ts";
import { jobEvents, jobKey } from "../chart-events.ts";
import { edgeCover } from "../model/edge-cover.ts";
import type { ModelPath } from "../model/model-path.ts";
import { DrivenJob, fitted } from "./driven-job.ts";

export type Path = ModelPath<JobContext, JobEvent>;

export const CLASSES = ["safe_to_retry", "unknown_no_automatic_retry"] as const;

export const pathsOf = (retryClass: JobSpec["retryClass"]): readonly Path[] =>
  edgeCover(jobChart, {
    events: jobEvents(DrivenJob.spec(retryClass)),
    serializeState: jobKey,
  });

/** Every beginning of a path, once, the empty one and the whole ones included. */
export function beginningsOf(paths: readonly Path[]): readonly Path[] {
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
export async function crashingAlong(driven: DrivenJob, path: Path) {
  const reached: string[] = [];
  let taken = 0;
  for (const [at, { event }] of path.entries()) {
    if (at > 0 && driven.state === null) break;
    if (await crashAfter(driven, event, path[at + 1]?.event.type)) taken += 1;
    reached.push(driven.state?.value ?? "(gone)");
  }
  return { reached, taken };
}
