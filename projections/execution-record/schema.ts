/**
 * The execution record: the one document that says where a task stands, what was seen of it and what may become of it.
 *
 * Owns: its shape, as a zod schema and as JSON Schema (REC-8), and the bound of each part. Does not own: how it comes about
 * (fold.ts), where it is kept.
 *
 * E1. Times are wall clock, ms since the epoch, and stand beside what they are the time of; nobody stores an age (REC-4).
 * E2. Whatever a task did, its record takes at most RECORD_BYTES_MAX bytes as JSON; what is left out of a list is counted.
 * E3. A field added, dropped or read differently makes a new `schemaVersion`; a reader refuses a version newer than its own.
 */
import { z } from "zod";
import { ID_BYTES_MAX } from "../../actors/journal/subjects.ts";
import { DependencyOutcome } from "../../machines/job/events.ts";
import { RetryClass } from "../../machines/job/spec.ts";
import { LIVENESS_STATES } from "../../machines/liveness/chart.ts";
import { SideEffect, WaitKind } from "../../machines/liveness/events.ts";
import { BoundedValue } from "../bounded-value.ts";
import { JOB_STATES, OUTCOME_KINDS } from "../public-states.ts";

export const RECORD_SCHEMA_VERSION = 1;

/** Bounds of texts and values in bytes of JSON, of lists in entries. */
export const RECORD_BOUNDS = {
  /** An id that the door let in is never cut: it may consist of characters that JSON writes with six bytes. */
  idBytesMax: ID_BYTES_MAX * 6,
  /** Names, types, keys, and who did something. */
  nameBytesMax: 256,
  /** What a chart calls its events and states; a chart of a later version may call them as it likes. */
  termBytesMax: 96,
  reasonBytesMax: 512,
  evidenceBytesMax: 512,
  inputBytesMax: 1_024,
  resultBytesMax: 8_192,
  messageBytesMax: 2_048,
  detailsBytesMax: 1_024,
  causesMax: 5,
  dependenciesMax: 32,
  awaitedMax: 32,
  stepKeysMax: 100,
  /** The newest are kept. */
  previousAttemptsMax: 16,
  /** How it began… */
  historyFirstMax: 20,
  /** …and what happened last. */
  historyLastMax: 100,
} as const;

/** Largest record, bytes of JSON. An ordinary one takes 2 to 6 KB. */
export const RECORD_BYTES_MAX = 393_216;

const time = z.number().describe("Wall clock, ms since the epoch.");
const count = z.number().int().min(0);
const dropped = count.describe("How many there were beyond the listed ones.");

const Dependency = z.strictObject({
  id: z.string(),
  workflow: z.string(),
  outcome: DependencyOutcome.nullable().describe(
    "Null: not settled, as far as this task was told.",
  ),
});

const Identity = z.strictObject({
  taskId: z.string(),
  workflow: z.string(),
  type: z.string().nullable(),
  kind: z.string().nullable().describe("tool, doer, or a kind of a later version."),
  name: z.string().nullable(),
  parent: z.string().nullable().describe("Null for a root."),
  key: z.string().nullable().describe("What it is called under its parent."),
  ordinal: z.number().nullable().describe("Its place in its parent's order of execution."),
  user: z.string().nullable(),
  dependencies: z.strictObject({ list: z.array(Dependency), dropped }),
});

/** Where it stands, why, on what evidence, and since when. */
const standing = {
  isKnown: z
    .boolean()
    .describe(
      "False: the last move led to a state that this version does not know; `state` is the last known.",
    ),
  reason: z.string().nullable(),
  evidence: BoundedValue.nullable(),
  since: time.nullable().describe("When it came into this state; null before the first move."),
};

const JobStanding = z.strictObject({
  state: z.enum(JOB_STATES),
  value: z.string().describe("The state of the job chart, finer than `state`."),
  ...standing,
});

const LivenessStanding = z.strictObject({
  state: z.enum(LIVENESS_STATES),
  ...standing,
  wait: z
    .strictObject({ kind: WaitKind, reason: z.string(), declaredAt: time })
    .nullable()
    .describe("The newest declared wait, while it waits."),
  lastProgressAt: time.nullable(),
  lastFoundAliveAt: time.nullable().describe("When a diagnosis last ended in that."),
  diagnoses: count.describe("Since it started or was last found alive."),
});

export const RecoveryAction = z.enum(["none", "retry", "resume", "reconcile", "escalate"]);
export type RecoveryAction = z.infer<typeof RecoveryAction>;

const Recovery = z.strictObject({
  retryClass: RetryClass,
  retryBudget: z.number(),
  retryCount: count.describe("New attempts after a lost one, automatic and ordered."),
  sideEffect: SideEffect,
  action: RecoveryAction,
});

const PreviousAttempt = z.strictObject({
  attempt: z.number(),
  startedAt: time.nullable(),
  endedAt: time.nullable().describe("When its loss was recorded; null where that was not seen."),
  sideEffect: SideEffect,
  reason: z.string().nullable().describe("Why another one followed."),
});

const FailureRecord = z.strictObject({
  code: z.string(),
  message: z.string(),
  retry: z.enum(["never", "now", "backoff"]),
  details: BoundedValue.nullable(),
  causes: z
    .array(z.strictObject({ code: z.string(), message: z.string() }))
    .describe("The nearest first."),
});

const Outcome = z.strictObject({
  kind: z.enum(OUTCOME_KINDS),
  at: time,
  reason: z.string().nullable(),
  by: z.string().nullable().describe("Who cancelled it, or said how it ended."),
  result: BoundedValue.nullable().describe("Null: it did not complete."),
  failure: FailureRecord.nullable(),
  isLeaked: z.boolean().describe("Its code had not returned when it was ended."),
});

const HistoryEntry = z.strictObject({
  actor: z.string(),
  sequence: count,
  event: z.string(),
  from: z.string(),
  to: z.string(),
  reason: z.string().nullable(),
  evidence: BoundedValue.nullable(),
  at: time,
  position: count,
});

const Awaited = z.strictObject({
  name: z.string(),
  kind: z.string(),
  reason: z.string(),
  declaredAt: time,
});

export const ExecutionRecord = z
  .strictObject({
    schemaVersion: z.literal(RECORD_SCHEMA_VERSION),
    position: count.describe("Journal position up to which it is told."),
    updatedAt: time.nullable(),
    identity: Identity,
    job: JobStanding,
    liveness: LivenessStanding,
    attempt: z.number().describe("Of the running or last attempt; 0 before the first."),
    recovery: Recovery,
    previousAttempts: z.strictObject({ list: z.array(PreviousAttempt), dropped }),
    times: z.strictObject({
      submittedAt: time.nullable(),
      firstStartedAt: time.nullable(),
      startedAt: time.nullable().describe("Of the current or last attempt."),
      endedAt: time.nullable(),
    }),
    input: BoundedValue.nullable(),
    outcome: Outcome.nullable(),
    awaited: z
      .strictObject({ list: z.array(Awaited), dropped })
      .describe("Answers it waits for from outside."),
    steps: z.strictObject({ keys: z.array(z.string()), dropped }),
    cancel: z.strictObject({ reason: z.string(), by: z.string(), at: time }).nullable(),
    history: z.strictObject({
      first: z.array(HistoryEntry),
      last: z.array(HistoryEntry),
      dropped: count.describe("How many there were between `first` and `last`."),
    }),
    unknownCount: count.describe(
      "Moves that this version did not understand; the history has them.",
    ),
  })
  .meta({ title: "Holdfast execution record" });

/** Read-only all the way down; a bounded value is so by itself, and JSON in it has no bottom to go down to. */
type Frozen<T> = T extends BoundedValue
  ? T
  : T extends object
    ? { readonly [Key in keyof T]: Frozen<T[Key]> }
    : T;

export type ExecutionRecord = Frozen<z.infer<typeof ExecutionRecord>>;
/** The next record while one journal record is applied: its parts are replaced, never changed. */
export type RecordDraft = { -readonly [Key in keyof ExecutionRecord]: ExecutionRecord[Key] };
export type HistoryEntry = ExecutionRecord["history"]["last"][number];
export type FailureRecord = NonNullable<NonNullable<ExecutionRecord["outcome"]>["failure"]>;

/** The schema for readers in any language (JSON Schema, draft 2020-12). */
export const executionRecordJsonSchema = () => z.toJSONSchema(ExecutionRecord);

export type ParsedRecord =
  | { readonly kind: "record"; readonly record: ExecutionRecord }
  | { readonly kind: "newer"; readonly schemaVersion: number }
  | { readonly kind: "unreadable"; readonly reason: string };

/** Reads a record that was kept somewhere. Never throws; a record of a newer version is not guessed at (E3). */
export function parseExecutionRecord(value: unknown): ParsedRecord {
  const version = z.looseObject({ schemaVersion: z.number() }).safeParse(value);
  if (version.success && version.data.schemaVersion > RECORD_SCHEMA_VERSION) {
    return { kind: "newer", schemaVersion: version.data.schemaVersion };
  }
  const parsed = ExecutionRecord.safeParse(value);
  return parsed.success
    ? { kind: "record", record: parsed.data }
    : { kind: "unreadable", reason: z.prettifyError(parsed.error) };
}
