/**
 * The states that the outside sees, and the one published mapping between those of a job and those of its being alive (STA-8).
 *
 * Owns: which job states are ends and of which kind, which liveness states may be shown beside a job state. Does not own: how
 * the two charts come to agree (the routes of a turn), the states themselves (machines/).
 */
import type { JobState } from "../machines/job/state.ts";
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

export const OUTCOME_KINDS = ["completed", "failed", "cancelled", "timed_out"] as const;
export type OutcomeKind = (typeof OUTCOME_KINDS)[number];

/** What kind of end a state is; null for the others, which are all active (ID-5). */
export function outcomeKindOf(state: JobState): OutcomeKind | null {
  switch (state) {
    case "COMPLETED":
      return "completed";
    case "FAILED":
      return "failed";
    case "CANCELLED":
      return "cancelled";
    case "TIMED_OUT":
      return "timed_out";
    case "SCHEDULED":
    case "QUEUED":
    case "RUNNING":
    case "IDLE":
    case "CANCELLING":
      return null;
  }
}

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
