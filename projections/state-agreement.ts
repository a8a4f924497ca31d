/**
 * The one published mapping between job states and liveness states (STA-8).
 *
 * Owns: which liveness states may be shown beside a job state. Does not own: how the two charts come to agree (the routes
 * of a turn), the states themselves (machines/).
 */
import type { JobState } from "../machines/job/chart.ts";
import { LIVENESS_STATES, type LivenessState } from "../machines/liveness/chart.ts";

export const JOB_STATES = [
  "SCHEDULED",
  "QUEUED",
  "RUNNING",
  "IDLE",
  "CANCELLING",
  "COMPLETED",
  "FAILED",
  "CANCELLED",
  "TIMED_OUT",
] as const satisfies readonly JobState[];

const ENDS: readonly JobState[] = ["COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"];

/** ID-5. Every other state is active. */
export const isTerminal = (state: JobState): boolean => ENDS.includes(state);

const NOT_LIVE: readonly LivenessState[] = [
  "queued",
  "cancelling",
  "completed",
  "failed",
  "cancelled",
];

const LIVE: readonly LivenessState[] = LIVENESS_STATES.filter((state) => !NOT_LIVE.includes(state));

export const LIVENESS_OF_JOB: Readonly<Record<JobState, readonly LivenessState[]>> = {
  SCHEDULED: ["queued"],
  QUEUED: ["queued"],
  RUNNING: LIVE,
  // Between two attempts, and blocked: a job that never started is blocked too.
  IDLE: LIVE,
  CANCELLING: ["cancelling"],
  COMPLETED: ["completed"],
  FAILED: ["failed"],
  CANCELLED: ["cancelled"],
  // The thirteen states know no timeout; the reason says `timed_out`.
  TIMED_OUT: ["failed"],
};

export const doStatesAgree = (job: JobState, liveness: LivenessState): boolean =>
  LIVENESS_OF_JOB[job].includes(liveness);
