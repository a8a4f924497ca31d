/**
 * The bucket of execution records as its one writer sees it.
 *
 * Owns: where the last writing stood, writing several values behind each other. Does not own: the bucket's settings (bucket.ts),
 * which records are written (infra/daemon/records.ts).
 *
 * S1. Each message says up to which journal position the bucket was whole before it (`Holdfast-Through`): who comes next goes on
 *     from the last one's, and needs no note of its own beside the records.
 * S2. Each writing names the stream's last sequence. A former owner that still writes is refused, or the present one is, and looks
 *     again: no value of a former owner stays that the present one would have written newer.
 */
import { headers } from "nats";
import { z } from "zod";
import { callApi, readAnswer } from "../api.ts";
import { ReadConnection, type ServerAddress } from "../connection.ts";
import { isRefusedWith, MESSAGE_NOT_FOUND } from "../errors.ts";
import { attemptOn, ensureRecordBucket, recordBucketNames } from "./bucket.ts";

const THROUGH_HEADER = "Holdfast-Through";
const LAST_SEQUENCE_HEADER = "Nats-Expected-Last-Sequence";

export interface Standing {
  /** Of the bucket's stream. */
  readonly sequence: number;
  /** Journal position up to which the bucket is whole. */
  readonly through: number;
}

export interface RecordValue {
  readonly key: string;
  readonly value: string;
}

/** All reject with JournalError when the server is away or refuses. */
export interface RecordStore {
  standing(): Promise<Standing>;
  /** Writes behind `after`, in order; the bucket's last sequence then. Some may be written when it rejects: look again. */
  write(values: readonly RecordValue[], after: Standing): Promise<number>;
  close(): Promise<void>;
}

const ackSchema = z.object({ seq: z.number().int().positive() });
const messageSchema = z.object({ message: z.object({ hdrs: z.string().default("") }) });

/** Errors: JournalError (unreachable, not allowed). The bucket itself is made at the first `standing`. */
export async function openRecordStore(
  address: ServerAddress & { readonly namespace: string },
): Promise<RecordStore> {
  const names = recordBucketNames(address.namespace);
  const connection = await ReadConnection.open(address, `holdfast-records-${names.bucket}`);
  const write = attemptOn(names, "write to", true);

  async function throughOf(sequence: number): Promise<number> {
    const verb = `STREAM.MSG.GET.${names.stream}`;
    const attempt = attemptOn(names, "read from");
    const body = { seq: sequence };
    const { message } = await callApi(connection, verb, body, messageSchema, attempt);
    return throughIn(Buffer.from(message.hdrs, "base64").toString("latin1"));
  }

  return {
    standing: async () => {
      const { state } = await ensureRecordBucket(connection, names);
      // The last message is there but for somebody's deleting it, or a bucket that was emptied: then all is written again.
      const through = state.messages === 0 ? 0 : await orZero(throughOf(state.last_seq));
      return { sequence: state.last_seq, through };
    },
    write: async (values, after) => {
      const acks = values.map(async ({ key, value }, index) => {
        const condition = headers();
        condition.set(LAST_SEQUENCE_HEADER, String(after.sequence + index));
        condition.set(THROUGH_HEADER, String(after.through));
        const subject = `${names.prefix}.${key}`;
        const answer = await connection.request(subject, value, write, { headers: condition });
        return readAnswer(answer, ackSchema, write).seq;
      });
      const sequences = await allSettled(acks);
      return sequences.at(-1) ?? after.sequence;
    },
    close: () => connection.close(),
  };
}

/** Waits for all, so that nothing of a failed writing comes after the next look. */
async function allSettled<Value>(work: readonly Promise<Value>[]): Promise<readonly Value[]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}

function throughIn(block: string): number {
  const line = block.split("\r\n").find((one) => one.startsWith(`${THROUGH_HEADER}:`));
  const through = Number(line?.slice(THROUGH_HEADER.length + 1).trim() ?? 0);
  return Number.isSafeInteger(through) && through >= 0 ? through : 0;
}

/** No such message: 10037. Anything else is an error. */
async function orZero(reading: Promise<number>): Promise<number> {
  try {
    return await reading;
  } catch (error) {
    if (isRefusedWith(error, MESSAGE_NOT_FOUND)) return 0;
    throw error;
  }
}
