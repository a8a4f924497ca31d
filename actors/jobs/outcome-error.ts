/**
 * A job's end as an error: the one mapping, for its callers, its dependents and whoever tolerates its failure.
 *
 * Does not own: what an end means to each of them (handle.ts, actors/turn/routes.ts, actors/attempt/execution.ts).
 */
import type { JobOutcome } from "../../machines/job/chart.ts";
import {
  type ErrorRecord,
  fromErrorRecord,
  type HoldfastError,
  JobCancelledError,
  JobFailedError,
  JobTimeoutError,
} from "../errors.ts";

/** An end that is no completion. */
export type BadEnd = Exclude<JobOutcome, { kind: "completed" }>;

/** The failure that the job's own code or its runtime gave; undefined when it ended without one. */
const ownFailureOf = ({ failure }: BadEnd): HoldfastError | undefined =>
  failure === undefined ? undefined : fromErrorRecord(failure as ErrorRecord); // Made by toErrorRecord.

/** What the job ended with: its own failure, or a cancellation or timeout that has it as cause (CAN-3, TO-2). */
export function errorOfOutcome(job: string, outcome: BadEnd): HoldfastError {
  const own = ownFailureOf(outcome);
  const cause = own === undefined ? {} : { cause: own };
  switch (outcome.kind) {
    case "failed":
      return own ?? new JobFailedError(`The job ${job} failed.`, { details: { job } });
    case "cancelled":
      return new JobCancelledError(
        `The job ${job} was cancelled by ${outcome.by}: ${outcome.reason}.`,
        { details: { job, by: outcome.by, reason: outcome.reason }, ...cause },
      );
    case "timed_out":
      return new JobTimeoutError(
        `The job ${job} ran past its timeout${outcome.isLeaked ? ", and its code has not returned" : ""}.`,
        { details: { job, isLeaked: outcome.isLeaked }, ...cause },
      );
  }
}
