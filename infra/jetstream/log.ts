/**
 * The Log port over a JetStream stream.
 *
 * Owns: opening, and which file does what. Does not own: the stream's settings (stream.ts), publishing (appender.ts), reading
 * (read.ts, direct-get.ts), following (follow.ts), translating errors (errors.ts).
 */
import type { Log } from "../../actors/journal/log.ts";
import { openAppender } from "./appender.ts";
import { ReadConnection, type ServerAddress } from "./connection.ts";
import { readLastMessage } from "./direct-get.ts";
import { followStream } from "./follow.ts";
import { type PartitionAddress, partitionNames } from "./names.ts";
import { readStream } from "./read.ts";
import { ensureStream, streamInfo } from "./stream.ts";

export interface JetStreamLogOptions extends ServerAddress, PartitionAddress {
  /** Size limit of the stream in bytes. Default: none, or the one that the stream has. */
  readonly bytesMax?: number;
}

/**
 * Opens the stream of one generation of a partition, creating it if there is none.
 * Errors: JournalError (unreachable, not allowed, or a stream with other settings: `details.differences`),
 * InvalidArgumentError (an impossible namespace, partition or generation).
 */
export async function openJetStreamLog(options: JetStreamLogOptions): Promise<Log> {
  const names = partitionNames(options);
  const connection = await ReadConnection.open(options, `holdfast-read-${names.stream}`);
  try {
    await ensureStream(connection, names, options.bytesMax);
  } catch (error) {
    await connection.close();
    throw error;
  }
  const info = () => streamInfo(connection, names);
  return {
    openAppender: (events) => openAppender(options, names, events),
    info,
    read: async (request, visit) => {
      const through = request.through ?? (await info()).lastSequence;
      await readStream(connection, names, { ...request, through }, visit);
    },
    readLast: (subject) => readLastMessage(connection, names, subject),
    follow: (subject, visit) => followStream(connection, names, subject, visit),
    close: () => connection.close(),
  };
}
