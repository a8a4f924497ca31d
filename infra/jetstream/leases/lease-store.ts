/**
 * One partition's lease in its bucket.
 *
 * Owns: reading, writing on a condition, writing over, removing. Does not own: the bucket's settings (bucket.ts), what a lease
 * says and who may have it (infra/daemon/partition-lease.ts).
 *
 * K1. A revision is the message's sequence: it names one writing of one holder, and is never used again.
 * K2. What is removed is that one message and no other, so that nobody removes a lease that was taken meanwhile.
 * K3. Read from the stream itself, not by a direct get: on 2.9 one that meets a bucket which is just being made is not answered
 *     (measured), and a copy might lag.
 */
import { headers } from "nats";
import { z } from "zod";
import { callApi, readAnswer } from "../api.ts";
import { ReadConnection, type ServerAddress } from "../connection.ts";
import {
  type Attempt,
  isRefusedWith,
  MESSAGE_DELETE_FAILED,
  NO_MESSAGE_FOUND,
  SUBJECT_IN_PROCESS,
  WRONG_LAST_SEQUENCE,
} from "../errors.ts";
import { type PartitionAddress, partitionNames } from "../names.ts";
import { ensureBucket, leaseNames, setBucketTtl } from "./bucket.ts";

const EXPECTED_SUBJECT_SEQUENCE = "Nats-Expected-Last-Subject-Sequence";

export interface StoredLease {
  readonly revision: number;
  readonly value: string;
}

/** All reject with JournalError when the server is away or refuses. */
export interface LeaseStore {
  /** How long a lease lives unless it is written again, ms: the server judges it. */
  readonly ttlMs: number;
  /** Null: nobody has it. */
  read(): Promise<StoredLease | null>;
  /** Writes if the newest writing is `after` (null: if there is none); the new revision, or null when it is not so. */
  write(value: string, after: number | null): Promise<number | null>;
  /** Writes whatever is there. */
  overwrite(value: string): Promise<number>;
  /** Whether that writing was there to be removed (K2). */
  remove(revision: number): Promise<boolean>;
  /** Makes leases live that long from now on. */
  setTtl(ttlMs: number): Promise<void>;
  /** Makes the bucket again where somebody deleted it. */
  restore(): Promise<void>;
  close(): Promise<void>;
}

export interface LeaseStoreOptions extends ServerAddress, PartitionAddress {
  /** Of a bucket that has to be made; one that is there keeps its own until `setTtl`. */
  readonly ttlMs: number;
}

const storedSchema = z.object({
  /** In base64; not there where the body is empty. */
  message: z.object({ seq: z.number().int().positive(), data: z.string().default("") }),
});
const ackSchema = z.object({ seq: z.number().int().positive() });
const deletedSchema = z.object({ success: z.boolean() });

/** Errors: JournalError (unreachable, not allowed, a bucket with other settings), InvalidArgumentError (an impossible name). */
export async function openLeaseStore(options: LeaseStoreOptions): Promise<LeaseStore> {
  partitionNames(options); // Only for its judgement of the names.
  const names = leaseNames(options);
  const connection = await ReadConnection.open(options, `holdfast-lease-${names.bucket}`);
  let ttlMs: number;
  try {
    ttlMs = await ensureBucket(connection, names, options.ttlMs);
  } catch (error) {
    await connection.close();
    throw error;
  }
  const details = { bucket: names.bucket, key: names.key };
  const attemptTo = (verb: string, isChange: boolean): Attempt => ({
    action: `${verb} the partition's lease`,
    details,
    isChange,
  });

  async function publish(value: string, after: number | undefined): Promise<number> {
    const attempt = attemptTo("write", true);
    const condition = headers();
    if (after !== undefined) condition.set(EXPECTED_SUBJECT_SEQUENCE, String(after));
    const answer = await connection.request(names.subject, value, attempt, condition);
    return readAnswer(answer, ackSchema, attempt).seq;
  }

  return {
    get ttlMs() {
      return ttlMs;
    },
    read: async () => {
      const verb = `STREAM.MSG.GET.${names.stream}`;
      const body = { last_by_subj: names.subject };
      try {
        const attempt = attemptTo("read", false);
        const { message } = await callApi(connection, verb, body, storedSchema, attempt);
        const { seq: revision, data } = message;
        return { revision, value: Buffer.from(data, "base64").toString("utf8") };
      } catch (error) {
        if (isRefusedWith(error, NO_MESSAGE_FOUND)) return null;
        throw error;
      }
    },
    write: async (value, after) => {
      try {
        return await publish(value, after ?? 0);
      } catch (error) {
        if (isRefusedWith(error, WRONG_LAST_SEQUENCE, SUBJECT_IN_PROCESS)) return null;
        throw error;
      }
    },
    overwrite: (value) => publish(value, undefined),
    remove: async (revision) => {
      const attempt = attemptTo("remove", true);
      const verb = `STREAM.MSG.DELETE.${names.stream}`;
      const body = { seq: revision, no_erase: true };
      try {
        return (await callApi(connection, verb, body, deletedSchema, attempt)).success;
      } catch (error) {
        if (isRefusedWith(error, MESSAGE_DELETE_FAILED)) return false;
        throw error;
      }
    },
    setTtl: async (wantedMs) => {
      ttlMs = await setBucketTtl(connection, names, wantedMs);
    },
    restore: async () => {
      ttlMs = await ensureBucket(connection, names, ttlMs);
    },
    close: () => connection.close(),
  };
}
