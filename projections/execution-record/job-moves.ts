/**
 * What a move of a task's job changes in its record.
 *
 * Owns: identity, job state, attempts, outcome, steps, waits for answers, cancel. Does not own: what is known about it being
 * alive (liveness-moves.ts), the history (history.ts).
 *
 * M1. The state follows what the move says (`to`), whether its event is known or not.
 * M2. The first outcome stays: nothing leaves a final state.
 */

import { DependencyOutcome } from "../../machines/job/events.ts";
import { RetryClass } from "../../machines/job/spec.ts";
import { jobStateOf } from "../../machines/job/state.ts";
import { boundValue, cutText, cutTextOrNull } from "../bounded-value.ts";
import {
  type Fields,
  type JournaledMove,
  numberIn,
  objectIn,
  objectsIn,
  optionIn,
  ordinalIn,
  textIn,
} from "../journaled-move.ts";
import { outcomeKindOf } from "../public-states.ts";
import { outcomeOf } from "./outcome.ts";
import {
  type ExecutionRecord,
  type HistoryEntry,
  RECORD_BOUNDS,
  type RecordDraft,
} from "./schema.ts";

const bounds = RECORD_BOUNDS;

interface Told {
  readonly event: Fields;
  readonly at: number;
  /** Cut to its bound. */
  readonly reason: string | null;
}

/** The parts that it replaces. */
type Change = (record: ExecutionRecord, told: Told) => Partial<ExecutionRecord>;

/** Takes a move of the task's job into its record; `entry` is the same move with its texts cut to their bounds. */
export function applyJobMove(draft: RecordDraft, move: JournaledMove, entry: HistoryEntry): void {
  const { event } = move;
  const change = event === null ? undefined : CHANGES.get(textIn(event, "type") ?? "");
  if (event !== null && change !== undefined) {
    Object.assign(draft, change(draft, { event, at: move.at, reason: entry.reason }));
  }
  if (entry.to !== draft.job.value) stand(draft, move, entry);
}

function stand(draft: RecordDraft, move: JournaledMove, entry: HistoryEntry): void {
  const { isToKnown } = move;
  draft.job = {
    state: isToKnown ? jobStateOf(move.to, draft.attempt) : draft.job.state,
    value: entry.to,
    isKnown: isToKnown,
    reason: entry.reason,
    evidence: entry.evidence,
    since: move.at,
  };
  const end = isToKnown ? outcomeKindOf(draft.job.state) : null;
  if (end === null || draft.outcome !== null) return;
  draft.outcome = outcomeOf(end, draft.cancel, move, entry);
  draft.times = { ...draft.times, endedAt: move.at };
  draft.awaited = NOTHING_LISTED;
}

const NOTHING_LISTED = Object.freeze({ list: Object.freeze([]), dropped: 0 });

const CHANGES: ReadonlyMap<string, Change> = new Map<string, Change>([
  ["job.submitted", submitted],
  ["job.dependencySettled", dependencySettled],
  ["job.dependencyFailed", dependencyFailed],
  ["job.started", started],
  ["job.stepRecorded", stepRecorded],
  ["job.waitDeclared", waitDeclared],
  ["job.answered", answered],
  ["job.rerunScheduled", rerunScheduled],
  ["job.cancelRequested", cancelRequested],
]);

function submitted(record: ExecutionRecord, { event, at }: Told): Partial<ExecutionRecord> {
  const spec = objectIn(event, "spec") ?? {};
  const name = (field: string) => cutTextOrNull(textIn(spec, field), bounds.nameBytesMax);
  const id = (field: string) => cutTextOrNull(textIn(spec, field), bounds.idBytesMax);
  return {
    identity: {
      ...record.identity,
      type: name("type"),
      kind: name("kind"),
      name: name("name"),
      parent: id("parent"),
      key: name("key"),
      ordinal: ordinalIn(spec),
      user: id("user"),
      dependencies: dependenciesIn(spec),
    },
    recovery: {
      ...record.recovery,
      // The default of RTY-1 stands for a class that is missing or not known here: nothing is retried by guessing.
      retryClass: optionIn(spec, "retryClass", RetryClass.options, "unknown_no_automatic_retry"),
      retryBudget: numberIn(spec, "retryBudget") ?? 0,
    },
    times: { ...record.times, submittedAt: at },
    input: spec["input"] === undefined ? null : boundValue(spec["input"], bounds.inputBytesMax),
  };
}

function dependenciesIn(spec: Fields): ExecutionRecord["identity"]["dependencies"] {
  const all = objectsIn(spec, "dependencies");
  const list = all.slice(0, bounds.dependenciesMax).map((dependency) => ({
    id: cutText(textIn(dependency, "id") ?? "", bounds.idBytesMax),
    workflow: cutText(textIn(dependency, "workflow") ?? "", bounds.idBytesMax),
    outcome: null,
  }));
  return { list, dropped: all.length - list.length };
}

function dependencySettled(record: ExecutionRecord, { event }: Told): Partial<ExecutionRecord> {
  const outcome = optionIn(event, "outcome", DependencyOutcome.options, "failed");
  return settle(record, textIn(event, "dependency"), outcome);
}

/** Which end it was that is not tolerated stands in the failure. */
function dependencyFailed(record: ExecutionRecord, { event }: Told): Partial<ExecutionRecord> {
  const details = objectIn(objectIn(event, "failure") ?? {}, "details") ?? {};
  const outcome = optionIn(details, "outcome", DependencyOutcome.options, "failed");
  return settle(record, textIn(event, "dependency"), outcome);
}

function settle(
  record: ExecutionRecord,
  id: string | null,
  outcome: DependencyOutcome,
): Partial<ExecutionRecord> {
  const { dependencies } = record.identity;
  const list = dependencies.list.map((dependency) =>
    dependency.id === id ? { ...dependency, outcome } : dependency,
  );
  return { identity: { ...record.identity, dependencies: { ...dependencies, list } } };
}

function started(record: ExecutionRecord, { event, at }: Told): Partial<ExecutionRecord> {
  const { firstStartedAt } = record.times;
  return {
    attempt: numberIn(event, "attempt") ?? record.attempt + 1,
    times: { ...record.times, firstStartedAt: firstStartedAt ?? at, startedAt: at },
  };
}

function stepRecorded(record: ExecutionRecord, { event }: Told): Partial<ExecutionRecord> {
  const { keys, dropped } = record.steps;
  const key = cutText(textIn(event, "key") ?? "", bounds.nameBytesMax);
  if (keys.includes(key)) return {};
  if (keys.length < bounds.stepKeysMax) return { steps: { keys: [...keys, key], dropped } };
  return { steps: { keys, dropped: dropped + 1 } };
}

function waitDeclared(record: ExecutionRecord, { event, at }: Told): Partial<ExecutionRecord> {
  const { list, dropped } = record.awaited;
  const name = cutText(textIn(event, "name") ?? "", bounds.nameBytesMax);
  if (list.some((awaited) => awaited.name === name)) return {};
  if (list.length >= bounds.awaitedMax) return { awaited: { list, dropped: dropped + 1 } };
  const kind = cutText(textIn(event, "kind") ?? "other", bounds.nameBytesMax);
  const reason = cutText(textIn(event, "reason") ?? "", bounds.reasonBytesMax);
  return { awaited: { list: [...list, { name, kind, reason, declaredAt: at }], dropped } };
}

function answered(record: ExecutionRecord, { event }: Told): Partial<ExecutionRecord> {
  const { list, dropped } = record.awaited;
  const name = cutText(textIn(event, "name") ?? "", bounds.nameBytesMax);
  const rest = list.filter((awaited) => awaited.name !== name);
  // Only what is awaited is answered: a name that is not listed was one that found the list full.
  const isListed = rest.length < list.length;
  return { awaited: { list: rest, dropped: isListed ? dropped : Math.max(0, dropped - 1) } };
}

/**
 * The attempt whose end nobody saw becomes a previous one. The job moves before its liveness record does, in one turn, so what
 * is known of its side effect still stands there.
 */
function rerunScheduled(record: ExecutionRecord, { reason }: Told): Partial<ExecutionRecord> {
  const { list, dropped } = record.previousAttempts;
  const attempt = {
    attempt: record.attempt,
    startedAt: record.times.startedAt,
    endedAt: record.job.value === "interrupted" ? record.job.since : null,
    sideEffect: record.recovery.sideEffect,
    reason,
  };
  const isFull = list.length >= bounds.previousAttemptsMax;
  return {
    previousAttempts: {
      list: [...(isFull ? list.slice(1) : list), attempt],
      dropped: isFull ? dropped + 1 : dropped,
    },
    recovery: { ...record.recovery, retryCount: record.recovery.retryCount + 1 },
  };
}

function cancelRequested(_record: ExecutionRecord, { event, at }: Told): Partial<ExecutionRecord> {
  const reason = cutText(textIn(event, "reason") ?? "", bounds.reasonBytesMax);
  return { cancel: { reason, by: cutText(textIn(event, "by") ?? "", bounds.nameBytesMax), at } };
}
