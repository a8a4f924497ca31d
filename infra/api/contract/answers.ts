/**
 * What is answered: one zod schema an endpoint, for the endpoint's metadata and for the client.
 *
 * Owns: the shape of answers. Does not own: how they come about (handlers/).
 *
 * W1. Every answer has `ok`. Where it is false, `code` says why for programs, `reason` for people, `retry` whether asking
 *     again can help, and nothing was changed unless the reason says otherwise.
 * W2. A reader passes over fields that it does not know: a newer daemon may say more.
 */
import { z } from "zod";
import { ERROR_CODES } from "../../../actors/errors.ts";
import { JsonSchema } from "../../../machines/json.ts";
import { LIVENESS_STATES } from "../../../machines/liveness/chart.ts";
import { ExecutionRecord } from "../../../projections/execution-record/schema.ts";
import { JOB_STATES, OUTCOME_KINDS } from "../../../projections/public-states.ts";

const ok = z.literal(true);
const time = z.number().nullable().describe("Wall clock, ms since the epoch.");

export const Refusal = z.looseObject({
  ok: z.literal(false),
  decision: z.string().describe('"refused", or what was found instead.'),
  reason: z.string(),
  code: z.enum(ERROR_CODES),
  retry: z.enum(["never", "now", "backoff"]),
  details: z.record(z.string(), z.unknown()).optional(),
});
export type Refusal = z.output<typeof Refusal>;

const Failure = z.object({
  code: z.string(),
  message: z.string(),
  retry: z.enum(["never", "now", "backoff"]),
  details: z.record(z.string(), z.unknown()).optional(),
  get cause() {
    return Failure.optional();
  },
});

export const JobOutcome = z.discriminatedUnion("kind", [
  z.looseObject({ kind: z.literal("completed"), result: JsonSchema }),
  z.looseObject({ kind: z.enum(["failed", "cancelled", "timed_out"]), error: Failure }),
]);
export type JobOutcome = z.output<typeof JobOutcome>;

export const SubmitAnswer = z.looseObject({
  ok,
  decision: z
    .enum(["submitted", "joined", "pending", "ended"])
    .describe("joined: the job was there already. pending, ended: of a request that waited."),
  job: z.string(),
  workflow: z.string(),
  outcome: JobOutcome.optional().describe("Of one that has ended, when the request waited."),
});
export type SubmitAnswer = z.output<typeof SubmitAnswer>;

export const CancelAnswer = z.looseObject({
  ok,
  decision: z
    .enum(["cancelled", "cancelling", "ended"])
    .describe("cancelling: its code has been told. ended: it had been cancelled before."),
  job: z.string(),
  reason: z.string(),
});
export type CancelAnswer = z.output<typeof CancelAnswer>;

export const ResolveAnswer = z.looseObject({
  ok,
  decision: z.enum(["completed", "failed", "retry", "known"]),
  job: z.string(),
  reason: z.string(),
});
export type ResolveAnswer = z.output<typeof ResolveAnswer>;

export const AnswerAnswer = z.looseObject({
  ok,
  decision: z.literal("answered"),
  job: z.string(),
  name: z.string(),
  reason: z.string(),
});
export type AnswerAnswer = z.output<typeof AnswerAnswer>;

export const RecordAnswer = z.looseObject({ ok, record: ExecutionRecord });
export type RecordAnswer = z.output<typeof RecordAnswer>;

const OutcomeSummary = z.looseObject({
  kind: z.enum(OUTCOME_KINDS),
  code: z.string().nullable(),
  message: z.string().nullable(),
});

export const FlatNode = z.looseObject({
  depth: z.number().describe("0 at the top of what was asked for."),
  id: z.string(),
  workflow: z.string(),
  user: z.string().nullable(),
  parent: z.string().nullable(),
  isOrphan: z.boolean().describe("Its parent is not among the records."),
  type: z.string().nullable(),
  kind: z.string().nullable(),
  name: z.string().nullable(),
  key: z.string().nullable().describe("What its parent named it by."),
  ordinal: z.number().nullable().describe("Its place in its parent's order of execution."),
  state: z.enum(JOB_STATES),
  liveness: z.enum(LIVENESS_STATES),
  attempts: z.number(),
  submittedAt: time,
  startedAt: time,
  endedAt: time,
  outcome: OutcomeSummary.nullable(),
  waitingOn: z.looseObject({ ids: z.array(z.string()), dropped: z.number() }),
});
export type FlatNode = z.output<typeof FlatNode>;

const UnknownMove = z.looseObject({
  position: z.number(),
  actor: z.string(),
  event: z.string(),
  to: z.string(),
});

/** What both views of a workflow say of the reading itself. */
const page = {
  ok,
  workflow: z.string(),
  position: z.number().describe("Journal position of the newest record that was read."),
  total: z.number().describe("Entries of all pages together."),
  next: z.string().nullable().describe("The cursor of the next page; null: this was the last."),
  unknown: z
    .looseObject({ count: z.number(), first: z.array(UnknownMove) })
    .describe("Moves that this version did not understand."),
  recordsDropped: z.number().describe("More than 0: the workflow is too large, jobs are missing."),
};

export const TreeAnswer = z.looseObject({
  ...page,
  nodes: z.array(FlatNode).describe("Depth first: a job right before its children."),
});
export type TreeAnswer = z.output<typeof TreeAnswer>;

export const Entry = z.looseObject({
  depth: z.number(),
  path: z.string().describe("The ordinals on the way down."),
  id: z.string(),
  parent: z.string().nullable(),
  isOrphan: z.boolean(),
  type: z.string().nullable(),
  name: z.string().nullable(),
  key: z.string().nullable(),
  state: z.enum(JOB_STATES),
  attempts: z.number(),
  startedAt: time,
  endedAt: time,
  waitMs: z.number().nullable().describe("From its submission to its first start."),
  durationMs: z.number().nullable().describe("From its first start to its end."),
  outcome: OutcomeSummary.nullable(),
});
export type Entry = z.output<typeof Entry>;

export const TrajectoryAnswer = z.looseObject({ ...page, entries: z.array(Entry) });
export type TrajectoryAnswer = z.output<typeof TrajectoryAnswer>;

export const ListedJob = z.looseObject({
  ...FlatNode.pick({
    id: true,
    workflow: true,
    user: true,
    parent: true,
    type: true,
    kind: true,
    name: true,
    key: true,
    state: true,
    liveness: true,
    attempts: true,
    submittedAt: true,
    startedAt: true,
    endedAt: true,
    outcome: true,
  }).shape,
  position: z.number().describe("Journal position of its submission."),
});
export type ListedJob = z.output<typeof ListedJob>;

export const JobsAnswer = z.looseObject({
  ok,
  jobs: z.array(ListedJob).describe("The last submitted first."),
  next: z.string().nullable().describe("The cursor of the next page; null: this was the last."),
});
export type JobsAnswer = z.output<typeof JobsAnswer>;

const SetAside = z.object({
  job: z.string(),
  position: z.number(),
  kind: z.string(),
  reason: z.string(),
});

export const Health = z.looseObject({
  namespace: z.string(),
  version: z.string().describe("Of Holdfast."),
  startedAt: z.number().describe("Wall clock, ms since the epoch."),
  owner: z.string(),
  state: z.string().describe("recovering, ready, stopping or fenced."),
  journal: z.string().describe("taking, open, resyncing, ended or closed."),
  durability: z.enum(["fsync", "process"]),
  fence: z.number(),
  acknowledged: z.number(),
  pendingMessages: z.number(),
  liveJobs: z.number(),
  runningJobs: z.number(),
  leakedJobs: z.number(),
  setAside: z.looseObject({ list: z.array(SetAside), dropped: z.number() }),
  types: z.looseObject({ list: z.array(z.string()), dropped: z.number() }),
  server: z.looseObject({
    version: z.string(),
    isEmbedded: z.boolean(),
    pid: z.number().nullable(),
  }),
  stream: z
    .looseObject({
      lastSequence: z.number(),
      bytes: z.number(),
      bytesMax: z.number().nullable().describe("Null: no limit of its own."),
    })
    .nullable()
    .describe("Null: the server did not say in time."),
  room: z
    .looseObject({
      what: z.string().describe("The bound nearest to its end: stream, account, server or disk."),
      usedBytes: z.number(),
      limitBytes: z.number(),
      reserveBytes: z.number().describe("New work is refused when less is left."),
      isFull: z.boolean(),
    })
    .nullable()
    .default(null)
    .describe("Null: without limits, or not known."),
  commandsInFlight: z.number(),
});
export type Health = z.output<typeof Health>;

export const HealthAnswer = z.looseObject({ ok, health: Health });
export type HealthAnswer = z.output<typeof HealthAnswer>;
