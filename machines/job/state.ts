/**
 * The public states of a job (ID-5): what people and programs are told, coarser than the values of its chart.
 *
 * Owns: which of them a chart value is. Does not own: the moves (chart.ts).
 */

/** The public job state (ID-5) of a chart value; between two attempts a job is active and IDLE. */
export function jobStateOf(value: string, attempt: number): JobState {
  switch (value) {
    case "new":
    case "waiting":
      return "SCHEDULED";
    case "queued":
      return attempt === 0 ? "QUEUED" : "IDLE";
    case "running":
      return "RUNNING";
    case "blocked":
    case "interrupted":
      return "IDLE";
    case "cancelling":
    case "expiring":
      return "CANCELLING";
    case "completed":
      return "COMPLETED";
    case "failed":
      return "FAILED";
    case "cancelled":
      return "CANCELLED";
    case "timed_out":
      return "TIMED_OUT";
    default:
      throw new RangeError(`the job chart has no state ${value}`);
  }
}

export type JobState =
  | "SCHEDULED"
  | "QUEUED"
  | "RUNNING"
  | "IDLE"
  | "CANCELLING"
  | "COMPLETED"
  | "FAILED"
  | "CANCELLED"
  | "TIMED_OUT";
