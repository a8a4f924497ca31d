/**
 * The bucket of execution records: its settings, created or checked.
 *
 * Owns: what makes a bucket fit to hold them, what its keys are. Does not own: what is written and when (record-store.ts,
 * infra/daemon/records.ts).
 *
 * B1. It is a key-value bucket as every NATS client reads one: a job's key is its id as a subject token, the value its record as
 *     JSON, one message a key. Only fields that the oldest server knows are sent.
 * B2. What is written is republished below `hf.<namespace>.rec`: who only looks on needs no consumer and no right to the bucket.
 */
import { z } from "zod";
import { JournalError } from "../../../actors/errors.ts";
import { encodeToken } from "../../../actors/journal/subjects.ts";
import { RECORD_BYTES_MAX } from "../../../projections/execution-record/schema.ts";
import { findOrCreateStream } from "../api.ts";
import type { ReadConnection } from "../connection.ts";
import type { Attempt } from "../errors.ts";

const UNLIMITED = -1;
/** A header's room beside the largest record. */
const MESSAGE_BYTES_MAX = RECORD_BYTES_MAX + 4_096;

export interface RecordBucketNames {
  readonly bucket: string;
  readonly stream: string;
  /** What every key's subject starts with, without the last dot. */
  readonly prefix: string;
  readonly livePrefix: string;
}

export function recordBucketNames(namespace: string): RecordBucketNames {
  const bucket = `hf_${namespace}_records`;
  const livePrefix = `hf.${namespace}.rec`;
  return { bucket, stream: `KV_${bucket}`, prefix: `$KV.${bucket}`, livePrefix };
}

/** A job's key in the bucket. */
export const recordKey = (job: string): string => encodeToken(job);

const infoSchema = z.object({
  config: z.looseObject({}),
  state: z.object({ messages: z.number(), last_seq: z.number() }),
});
export type BucketInfo = z.output<typeof infoSchema>;

const settingsOf = ({ prefix, livePrefix }: RecordBucketNames) => ({
  subjects: [`${prefix}.>`],
  retention: "limits",
  storage: "file",
  num_replicas: 1,
  max_msgs_per_subject: 1,
  allow_direct: true,
  republish: { src: `${prefix}.>`, dest: `${livePrefix}.>` },
});

export const attemptOn = (
  { stream }: RecordBucketNames,
  action: string,
  isChange = false,
): Attempt => ({
  action: `${action} the bucket of records (stream ${stream})`,
  details: { stream },
  isChange,
});

const configOf = (names: RecordBucketNames) => ({
  name: names.stream,
  ...settingsOf(names),
  discard: "new",
  allow_rollup_hdrs: true,
  max_msgs: UNLIMITED,
  max_bytes: UNLIMITED,
  max_msg_size: MESSAGE_BYTES_MAX,
  max_consumers: UNLIMITED,
});

/** Creates the bucket if there is none and checks it. Errors: JournalError; `details.differences` lists what is otherwise. */
export async function ensureRecordBucket(
  connection: ReadConnection,
  names: RecordBucketNames,
): Promise<BucketInfo> {
  const info = await findOrCreateStream(connection, configOf(names), infoSchema, {
    find: attemptOn(names, "look at"),
    create: attemptOn(names, "create", true),
  });
  const differences = Object.entries(settingsOf(names)).flatMap(([setting, expected]) => {
    const found = info.config[setting] ?? null;
    return isSame(found, expected) ? [] : [{ setting, expected, found }];
  });
  if (differences.length === 0) return info;
  const list = differences.map(({ setting, found }) => `${setting} is ${JSON.stringify(found)}`);
  throw new JournalError(
    `Stream ${names.stream} cannot hold records: ${list.join("; ")}. Delete it: the daemon makes and fills it again.`,
    { retry: "never", details: { outcome: "refused", stream: names.stream, differences } },
  );
}

/** Whether what was found says what was wanted; it may say more. */
function isSame(found: unknown, expected: unknown): boolean {
  if (typeof expected !== "object" || expected === null || Array.isArray(expected)) {
    return JSON.stringify(found) === JSON.stringify(expected);
  }
  if (typeof found !== "object" || found === null) return false;
  const fields = new Map(Object.entries(found));
  return Object.entries(expected).every(([name, value]) => isSame(fields.get(name), value));
}
