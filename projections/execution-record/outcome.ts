/**
 * How a task ended, as its record keeps it.
 *
 * Owns: reading the end out of the move that made it. Does not own: when there is an end (job-moves.ts).
 */
import { boundValue, cutText, cutTextOrNull } from "../bounded-value.ts";
import { type Fields, type JournaledMove, objectIn, optionIn, textIn } from "../journaled-move.ts";
import type { OutcomeKind } from "../public-states.ts";
import {
  type ExecutionRecord,
  type FailureRecord,
  type HistoryEntry,
  RECORD_BOUNDS,
} from "./schema.ts";

const bounds = RECORD_BOUNDS;

type Outcome = NonNullable<ExecutionRecord["outcome"]>;

/** The outcome of a task whose job has just moved into a final state; `cancel` is the one that was asked for before, if any. */
export function outcomeOf(
  kind: OutcomeKind,
  cancel: ExecutionRecord["cancel"],
  move: JournaledMove,
  entry: HistoryEntry,
): Outcome {
  const event = move.event ?? {};
  const failure = objectIn(event, "failure");
  // Who cancelled it decided its end, whatever event made that end visible.
  const asked = kind === "cancelled" ? cancel : null;
  return {
    kind,
    at: move.at,
    reason: asked?.reason ?? entry.reason,
    by: asked?.by ?? cutTextOrNull(textIn(event, "by"), bounds.nameBytesMax),
    // A cancel or a timeout that came first has won: what its code returned after that is no result.
    result:
      kind === "completed" && event["result"] !== undefined
        ? boundValue(event["result"], bounds.resultBytesMax)
        : null,
    failure: failure === null ? null : failureRecordOf(failure),
    isLeaked: textIn(event, "type") === "job.graceEnded",
  };
}

function failureRecordOf(failure: Fields): FailureRecord {
  const details = objectIn(failure, "details");
  return {
    code: codeIn(failure),
    message: cutText(textIn(failure, "message") ?? "", bounds.messageBytesMax),
    retry: optionIn(failure, "retry", ["never", "now", "backoff"] as const, "never"),
    details: details === null ? null : boundValue(details, bounds.detailsBytesMax),
    causes: causesOf(failure),
  };
}

function causesOf(failure: Fields): FailureRecord["causes"] {
  const causes: { code: string; message: string }[] = [];
  let cause = objectIn(failure, "cause");
  while (cause !== null && causes.length < bounds.causesMax) {
    const message = cutText(textIn(cause, "message") ?? "", bounds.reasonBytesMax);
    causes.push({ code: codeIn(cause), message });
    cause = objectIn(cause, "cause");
  }
  return causes;
}

const codeIn = (failure: Fields): string =>
  cutText(textIn(failure, "code") ?? "unknown", bounds.nameBytesMax);
