/**
 * What a record says is to be done about a task, situation by situation.
 */
import { expect, it } from "vitest";
import { emptyRecord } from "../../../projections/execution-record/fold.ts";
import { recoveryActionOf } from "../../../projections/execution-record/recovery-action.ts";
import type { ExecutionRecord } from "../../../projections/execution-record/schema.ts";

interface Known {
  readonly value: string;
  readonly liveness: ExecutionRecord["liveness"]["state"];
  readonly retryClass?: ExecutionRecord["recovery"]["retryClass"];
  readonly sideEffect?: ExecutionRecord["recovery"]["sideEffect"];
  readonly isBudgetSpent?: boolean;
  readonly steps?: readonly string[];
}

function actionFor(known: Known): string {
  const empty = emptyRecord({ taskId: "job", workflow: "wf-1" });
  return recoveryActionOf({
    job: { ...empty.job, value: known.value },
    liveness: { ...empty.liveness, state: known.liveness },
    recovery: {
      ...empty.recovery,
      retryClass: known.retryClass ?? "safe_to_retry",
      retryBudget: 1,
      retryCount: known.isBudgetSpent === true ? 1 : 0,
      sideEffect: known.sideEffect ?? "none",
    },
    steps: { keys: known.steps ?? [], dropped: 0 },
  });
}

const lost = { value: "interrupted", liveness: "observer_unknown" } as const;

it.each([
  ["running", "running"],
  ["running", "stale_suspected"],
  ["running", "external_wait"],
  ["queued", "queued"],
  ["blocked", "blocked"],
  ["cancelling", "cancelling"],
  ["completed", "completed"],
  ["failed", "failed"],
] as const)("[REC-5] nothing is to be done for a job that is %s and %s", (value, liveness) => {
  expect(actionFor({ value, liveness })).toBe("none");
});

it("[REC-5] a silence that no diagnosis could explain is escalated, however safe a retry were", () => {
  expect(actionFor({ value: "running", liveness: "observer_unknown" })).toBe("escalate");
});

it("[REC-5] a lost attempt of a safe job is retried, behind its steps when it has some", () => {
  expect(actionFor(lost)).toBe("retry");
  expect(actionFor({ ...lost, steps: ["fetch"] })).toBe("resume");
});

it("[REC-5] a spent budget is escalated", () => {
  expect(actionFor({ ...lost, isBudgetSpent: true })).toBe("escalate");
  const retryClass = "retry_requires_reconciliation";
  expect(actionFor({ ...lost, retryClass, isBudgetSpent: true })).toBe("escalate");
});

it("[REC-5] an effect that happened, or may have, is reconciled first", () => {
  expect(actionFor({ ...lost, sideEffect: "unknown" })).toBe("reconcile");
  expect(actionFor({ ...lost, sideEffect: "completed" })).toBe("reconcile");
  expect(actionFor({ ...lost, retryClass: "retry_requires_reconciliation" })).toBe("reconcile");
});

it.each([
  "non_idempotent_no_automatic_retry",
  "unknown_no_automatic_retry",
  "retry_from_checkpoint",
] as const)(
  "[REC-5] a lost attempt of class %s is for a person, even without an effect",
  (retryClass) => {
    expect(actionFor({ ...lost, retryClass })).toBe("escalate");
    expect(actionFor({ ...lost, retryClass, sideEffect: "unknown" })).toBe("escalate");
    expect(actionFor({ ...lost, retryClass, sideEffect: "completed" })).toBe("reconcile");
  },
);

it("[REC-5] a retry that was ordered is shown until it starts", () => {
  const retryClass = "unknown_no_automatic_retry";
  const ordered = { value: "queued", liveness: "retrying", retryClass } as const;
  expect(actionFor(ordered)).toBe("retry");
  expect(actionFor({ ...ordered, steps: ["fetch"] })).toBe("resume");
});
