/**
 * What may be asked: one zod schema an endpoint, published as JSON Schema in the endpoint's metadata.
 *
 * Owns: the shape of requests. Does not own: what only the runtime can judge: types, inputs, states (actors/jobs).
 *
 * Q1. Strict: a field that is not known here is refused by name. A request that was understood in part would do what nobody
 *     asked for.
 * Q2. Every id keeps the rule of ids wherever it stands, queries included: an ill-formed one must not be read as another.
 */
import { z } from "zod";
import { DEPENDENCIES_MAX } from "../../../actors/jobs/submission.ts";
import { faultOfId, ID_BYTES_MAX } from "../../../actors/journal/subjects.ts";
import { JsonSchema } from "../../../machines/json.ts";
import { JOB_STATES } from "../../../projections/public-states.ts";
import {
  JOBS_LISTED_DEFAULT,
  JOBS_LISTED_MAX,
  PAGE_ENTRIES_MAX,
  TEXT_LENGTH_MAX,
  WAIT_MS_DEFAULT,
  WAIT_MS_MAX,
} from "./limits.ts";

const id = (what: string) =>
  z
    .string()
    .refine((text) => faultOfId(text) === null, {
      error: ({ input }) => faultOfId(input) ?? "an id",
    })
    .describe(`${what} Not blank, at most ${ID_BYTES_MAX} bytes of UTF-8, well-formed.`);

const text = (what: string) =>
  z
    .string()
    .max(TEXT_LENGTH_MAX)
    .refine((value) => value.trim() !== "", { error: "not blank" })
    .describe(what);

const job = id("The job.");
const by = id("Who asks, for the journal. A name, not a proof.").default("operator");

const commandId = id(
  "Names this command: repeated with the same content, it is taken once and answered the same.",
).optional();

const wait = z
  .union([z.boolean(), z.number().min(1).max(WAIT_MS_MAX)], {
    error: `true, false, or 1 to ${WAIT_MS_MAX} ms`,
  })
  .describe(
    `Answer when the job has ended, or after this many ms with the decision "pending". true: ${WAIT_MS_DEFAULT} ms.`,
  );

export const SubmitRequest = z.strictObject({
  type: z.string().describe("A type of the job modules that the daemon was told."),
  input: z.unknown().optional().describe("As the type's own schema wants it."),
  id: id("The job's id: asking again with the same id and input is the same job.").optional(),
  commandId: id(
    "Names this command: repeated, it is the same job. The job's id when `id` is not given.",
  ).optional(),
  user: id('Whose job it is. Default: "local".').optional(),
  after: z.array(id("A job that must have ended first.")).max(DEPENDENCIES_MAX).optional(),
  toleratesFailures: z
    .boolean()
    .optional()
    .describe("Whether it runs although a job in `after` failed. Default: false."),
  timeoutMs: z
    .number()
    .positive()
    .nullable()
    .optional()
    .describe("Of each attempt; null: none. Default: the type's."),
  metadata: z.record(z.string(), JsonSchema).optional(),
  wait: wait.optional(),
});
export type SubmitRequest = z.output<typeof SubmitRequest>;

export const CancelRequest = z.strictObject({
  job,
  reason: text("For the journal and for the job.").default("cancelled by an operator"),
  by,
});
export type CancelRequest = z.output<typeof CancelRequest>;

export const Resolution = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("completed"), result: JsonSchema.describe("Its result.") }),
  z.strictObject({ kind: z.literal("failed"), message: text("What went wrong.") }),
  z.strictObject({ kind: z.literal("retry") }).describe("Run it again."),
  z
    .strictObject({ kind: z.literal("known") })
    .describe("It has ended, and what it did is known now: what waits for that may go on."),
]);

export const ResolveRequest = z.strictObject({
  job,
  resolution: Resolution,
  reason: text("Why this is known, for the journal."),
  by,
  commandId,
});
export type ResolveRequest = z.output<typeof ResolveRequest>;

export const AnswerRequest = z.strictObject({
  job,
  name: id("What the job waits for."),
  value: JsonSchema,
  by,
  commandId,
});
export type AnswerRequest = z.output<typeof AnswerRequest>;

export const RecordRequest = z.strictObject({ job });
export type RecordRequest = z.output<typeof RecordRequest>;

/** Where a page begins: the journal position that all pages of one reading share, and how many entries were read. */
const CURSOR = /^(\d{1,16})\.(\d{1,9})$/;

export interface Cursor {
  readonly position: number;
  readonly offset: number;
}

export const formatCursor = ({ position, offset }: Cursor): string => `${position}.${offset}`;

const cursor = z
  .string()
  .regex(CURSOR, { error: "the `next` of an earlier answer" })
  .transform((value): Cursor => {
    const [, position, offset] = CURSOR.exec(value) ?? [];
    return { position: Number(position), offset: Number(offset) };
  });

export const WorkflowRequest = z.strictObject({
  job: id("The job at the top. A workflow is named by its root job."),
  limit: z
    .int()
    .min(1)
    .max(PAGE_ENTRIES_MAX)
    .optional()
    .describe("Entries at most; a page may have fewer."),
  cursor: cursor.optional().describe("The `next` of the page before. Default: the beginning."),
});
export type WorkflowRequest = z.output<typeof WorkflowRequest>;

/** Where a page of a list of jobs begins: the position that all its jobs were submitted before. */
const JOBS_CURSOR = /^b([1-9]\d{0,15})$/;

export const formatJobsCursor = (before: number): string => `b${before}`;

const wallTime = (what: string) =>
  z.int().min(0).optional().describe(`${what} ms since the epoch.`);

export const JobsRequest = z.strictObject({
  state: z
    .array(z.enum(JOB_STATES))
    .min(1)
    .max(JOB_STATES.length)
    .optional()
    .describe("Jobs in one of these states. Default: in any."),
  type: text("Jobs of this type.").optional(),
  user: id("Jobs of this user.").optional(),
  since: wallTime("Jobs that were submitted then or later,"),
  until: wallTime("Jobs that were submitted before,"),
  limit: z
    .int()
    .min(1)
    .max(JOBS_LISTED_MAX)
    .default(JOBS_LISTED_DEFAULT)
    .describe("Jobs at most; a page may have fewer, or none, and not be the last."),
  cursor: z
    .string()
    .regex(JOBS_CURSOR, { error: "the `next` of an earlier answer" })
    .transform((value) => Number(JOBS_CURSOR.exec(value)?.[1]))
    .optional()
    .describe("The `next` of the page before. Default: the newest job."),
});
export type JobsRequest = z.output<typeof JobsRequest>;

export const HealthRequest = z.strictObject({});
