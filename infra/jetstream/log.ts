/**
 * The Log port over a JetStream stream.
 *
 * Owns: opening, and which file does what. Does not own: the stream's settings (stream.ts), publishing (appender.ts), reading
 * and following (reading/), translating errors (errors.ts).
 */
import type { Log } from "../../actors/journal/log.ts";
import { openAppender } from "./appender.ts";
import { ReadConnection, type ServerAddress } from "./connection.ts";
import { type PartitionAddress, partitionNames } from "./names.ts";
import { readLastMessage } from "./reading/direct-get.ts";
import { followStream } from "./reading/follow.ts";
import { readStream } from "./reading/read.ts";
import { type StoreUsage, storeUsage } from "./room.ts";
import { ensureStream, streamInfo } from "./stream.ts";
import { checkPatterns } from "./subject-pattern.ts";

export interface JetStreamLogOptions extends ServerAddress, PartitionAddress {
  /** Size limit of the stream in bytes. Default: none, or the one that the stream has. */
  readonly bytesMax?: number;
}

export interface JetStreamLog extends Log {
  /** How full the store is. Errors: JournalError. */
  usage(): Promise<StoreUsage>;
}

/**
 * Opens the stream of one generation of a partition, creating it if there is none.
 * Errors: JournalError (unreachable, not allowed, or a stream with other settings: `details.differences`),
 * InvalidArgumentError (an impossible namespace, partition or generation).
 */
export async function openJetStreamLog(options: JetStreamLogOptions): Promise<JetStreamLog> {
  const names = partitionNames(options);
  const connection = await ReadConnection.open(options, `holdfast-read-${names.stream}`);
  let batchMax: number;
  try {
    batchMax = await ensureStream(connection, names, options.bytesMax);
  } catch (error) {
    await connection.close();
    throw error;
  }
  const info = () => streamInfo(connection, names);
  return {
    openAppender: (events) => openAppender(options, names, events, batchMax),
    info,
    usage: () => storeUsage(connection, names),
    read: async (request, visit) => {
      checkPatterns(request.subjects ?? []);
      const through = request.through ?? (await info()).lastSequence;
      await readStream(connection, names, { ...request, through }, visit);
    },
    readLast: async (subject) => {
      checkPatterns([subject]);
      return await readLastMessage(connection, names, subject);
    },
    follow: async (subject, visit) => {
      checkPatterns([subject]);
      return await followStream(connection, names, subject, visit);
    },
    close: () => connection.close(),
  };
}
