/**
 * The fold that makes an execution record of a task's journal records.
 *
 * Owns: the empty record, applying one journal record to it, folding many. Does not own: the shape (schema.ts), what each
 * move changes (job-moves.ts, liveness-moves.ts).
 *
 * F1. Pure: the same records give the same document, whoever folds them and when (TREE-5, ES-9).
 * F2. A journal record is applied whole: what moved in one turn is shown together, so the two states agree (STA-8).
 * F3. A journal record that was applied before, or that belongs to another scope, changes nothing.
 * F4. What this version does not understand is kept in the history and counted; the rest goes on (REC-8, ES-6).
 */
import type { ReadRecord } from "../../actors/journal/reader.ts";
import { isUnderstood, type JournaledMove, movesOf, taskOf } from "../journaled-move.ts";
import { entryOf, remember } from "./history.ts";
import { applyJobMove } from "./job-moves.ts";
import { applyLivenessMove } from "./liveness-moves.ts";
import { recoveryActionOf } from "./recovery-action.ts";
import { type ExecutionRecord, RECORD_SCHEMA_VERSION, type RecordDraft } from "./schema.ts";

/** The record of a task of which nothing is known but its name. */
export const emptyRecord = (task: {
  readonly taskId: string;
  readonly workflow: string;
}): ExecutionRecord => ({
  schemaVersion: RECORD_SCHEMA_VERSION,
  position: 0,
  updatedAt: null,
  identity: {
    taskId: task.taskId,
    workflow: task.workflow,
    type: null,
    kind: null,
    name: null,
    parent: null,
    key: null,
    ordinal: null,
    user: null,
    dependencies: { list: [], dropped: 0 },
  },
  job: {
    state: "SCHEDULED",
    value: "new",
    isKnown: true,
    reason: null,
    evidence: null,
    since: null,
  },
  liveness: {
    state: "queued",
    isKnown: true,
    reason: null,
    evidence: null,
    since: null,
    wait: null,
    lastProgressAt: null,
    lastFoundAliveAt: null,
    diagnoses: 0,
  },
  attempt: 0,
  recovery: {
    retryClass: "unknown_no_automatic_retry",
    retryBudget: 0,
    retryCount: 0,
    sideEffect: "none",
    action: "none",
  },
  previousAttempts: { list: [], dropped: 0 },
  times: { submittedAt: null, firstStartedAt: null, startedAt: null, endedAt: null },
  input: null,
  outcome: null,
  awaited: { list: [], dropped: 0 },
  steps: { keys: [], dropped: 0 },
  cancel: null,
  history: { first: [], last: [], dropped: 0 },
  unknownCount: 0,
});

/** The record after one more journal record; the very same one when that changes nothing (F3). Records come in journal order. */
export function applyRecord(record: ExecutionRecord, read: ReadRecord): ExecutionRecord {
  if (read.position <= record.position) return record;
  const task = taskOf(read.subject);
  const { taskId, workflow } = record.identity;
  if (task === null || task.job !== taskId || task.workflow !== workflow) return record;
  const draft: RecordDraft = { ...record };
  for (const move of movesOf(read)) applyMove(draft, move);
  draft.position = read.position;
  draft.updatedAt = read.body.at;
  const action = recoveryActionOf(draft);
  if (action !== draft.recovery.action) draft.recovery = { ...draft.recovery, action };
  return draft;
}

/** The record of the task that the first record of a task's scope belongs to; null when there is none. */
export function foldExecutionRecord(records: Iterable<ReadRecord>): ExecutionRecord | null {
  let record: ExecutionRecord | null = null;
  for (const read of records) {
    if (record === null) {
      const task = taskOf(read.subject);
      if (task === null) continue;
      record = emptyRecord({ taskId: task.job, workflow: task.workflow });
    }
    record = applyRecord(record, read);
  }
  return record;
}

function applyMove(draft: RecordDraft, move: JournaledMove): void {
  const entry = entryOf(move);
  const isOwn = move.actorId === draft.identity.taskId;
  draft.history = remember(draft.history, entry);
  if (!isOwn || !isUnderstood(move)) draft.unknownCount += 1;
  if (isOwn && move.kind === "job") applyJobMove(draft, move, entry);
  if (isOwn && move.kind === "liveness") applyLivenessMove(draft, move, entry);
}
