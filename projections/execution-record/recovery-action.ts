/**
 * What is to be done about a task, as its record tells it (REC-5).
 *
 * Owns: the derivation. Does not own: the decision. A retry is decided in a turn, by every condition of RTY-7 and by what is
 * observed at that moment; this says what a person should expect.
 *
 * A1. While the code may still run nothing is retried (STA-4): an inconclusive diagnosis is escalated (RCN-2).
 * A2. Only a class that allows it is retried automatically, and only within its budget (RTY-1, RTY-3).
 * A3. An effect that happened or may have happened is reconciled before anything else (RTY-4, RTY-7).
 */
import type { ExecutionRecord, RecoveryAction } from "./schema.ts";

type Known = Pick<ExecutionRecord, "job" | "liveness" | "recovery" | "steps">;

export function recoveryActionOf(record: Known): RecoveryAction {
  const { value } = record.job;
  // Decided already: the next attempt stands in the line.
  if (value === "queued" && record.liveness.state === "retrying") return again(record);
  if (value === "interrupted") return afterLoss(record);
  return value === "running" && record.liveness.state === "observer_unknown" ? "escalate" : "none";
}

function afterLoss(record: Known): RecoveryAction {
  const { retryClass, retryBudget, retryCount, sideEffect } = record.recovery;
  if (sideEffect === "completed") return "reconcile";
  const isBudgetSpent = retryCount >= retryBudget;
  switch (retryClass) {
    case "safe_to_retry":
      if (sideEffect === "unknown") return "reconcile";
      return isBudgetSpent ? "escalate" : again(record);
    case "retry_requires_reconciliation":
      return isBudgetSpent ? "escalate" : "reconcile";
    // No checkpoint stands in the journal so far, and without one this class is not retried.
    case "retry_from_checkpoint":
    case "non_idempotent_no_automatic_retry":
    case "unknown_no_automatic_retry":
      return "escalate";
  }
}

/** Whoever recorded steps finds them again: it goes on behind them and does not begin anew. */
const again = ({ steps }: Known): RecoveryAction => (steps.keys.length > 0 ? "resume" : "retry");
