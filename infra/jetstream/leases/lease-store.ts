/**
 * One partition's lease in its bucket.
 *
 * Owns: reading, writing on a condition, writing over, removing. Does not own: the bucket's settings (bucket.ts), what a lease
 * says and who may have it (infra/daemon/partition-lease.ts).
 *
 * K1. A revision is the message's sequence: it names one writing of one holder, and is never used again.
 * K2. What is removed is that one message and no other, so that nobody removes a lease that was taken meanwhile.
 * K3. Read by direct gets, never by STREAM.MSG.GET: that one brings a 2.9 server down when it meets a bucket which is just being
 *     made (seen). A direct get is merely not answered then (measured): it is asked again.
 */
import { headers, type Msg } from "nats";
import { z } from "zod";
import { JournalError } from "../../../actors/errors.ts";
import { callApi, readAnswer } from "../api.ts";
import { ReadConnection, type ServerAddress } from "../connection.ts";
import {
  type Attempt,
  isRefusedWith,
  MESSAGE_DELETE_FAILED,
  SUBJECT_IN_PROCESS,
  TIMEOUT,
  unreadableAnswer,
  WRONG_LAST_SEQUENCE,
} from "../errors.ts";
import { type PartitionAddress, partitionNames } from "../names.ts";
import { fromAddedHeaders, receive } from "../raw-message.ts";
import { ensureBucket, type LeaseNames, leaseNames, setBucketTtl } from "./bucket.ts";

const EXPECTED_SUBJECT_SEQUENCE = "Nats-Expected-Last-Subject-Sequence";
const NOT_FOUND = /^NATS\/1\.0 404\b/;
/** How long one direct get is waited for, ms, and how many there are. */
const READ_WAIT_MS = 1_000;
const READS_MAX = 5;

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
    const answer = await connection.request(names.subject, value, attempt, {
      headers: condition,
    });
    return readAnswer(answer, ackSchema, attempt).seq;
  }

  return {
    get ttlMs() {
      return ttlMs;
    },
    read: async () => {
      const attempt = attemptTo("read", false);
      const received = receive(await directGet(connection, names, attempt));
      const message = fromAddedHeaders(received);
      if (message !== null) {
        return { revision: message.sequence, value: Buffer.from(message.body).toString("utf8") };
      }
      if (NOT_FOUND.test(received.headers)) return null;
      throw unreadableAnswer(attempt, received.headers);
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

/** K3. */
async function directGet(
  connection: ReadConnection,
  { stream, subject }: LeaseNames,
  attempt: Attempt,
): Promise<Msg> {
  const payload = JSON.stringify({ last_by_subj: subject });
  for (let read = 1; ; read += 1) {
    try {
      return await connection.request(`$JS.API.DIRECT.GET.${stream}`, payload, attempt, {
        waitMs: READ_WAIT_MS,
      });
    } catch (error) {
      const isUnanswered = error instanceof JournalError && error.details.clientCode === TIMEOUT;
      if (!isUnanswered || read === READS_MAX) throw error;
    }
  }
}
