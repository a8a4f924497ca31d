/**
 * The stream of a partition as one who only looks finds it.
 *
 * Owns: opening it on a connection of its own, what to say when it is not there. Does not own: reading (infra/jetstream).
 *
 * L1. It is never made and never changed, unlike by an owner's log: looking for a log that is not there must not make one.
 */
import { z } from "zod";
import { JournalError, NotFoundError } from "../../actors/errors.ts";
import type { Log, LogInfo } from "../../actors/journal/log.ts";
import { callApi } from "../jetstream/api.ts";
import { ReadConnection, type ServerAddress } from "../jetstream/connection.ts";
import { STREAM_NOT_FOUND } from "../jetstream/errors.ts";
import { partitionNames } from "../jetstream/names.ts";
import { readStream } from "../jetstream/reading/read.ts";
import { streamInfo } from "../jetstream/stream.ts";

/** The one partition, and its first generation: there is no other yet. */
const PARTITION = { partition: 0, generation: 1 } as const;
const STREAM = new RegExp(`^HF_(.+)_EVT_${PARTITION.partition}_${PARTITION.generation}$`);

/** What a check needs of a log. */
export type ReadableLog = Pick<Log, "info" | "read" | "close">;

export interface StoredStream {
  readonly log: ReadableLog;
  readonly stream: string;
  /** With its last dot. */
  readonly prefix: string;
}

/**
 * Errors: JournalError (the server cannot be reached, or refuses), NotFoundError (it has no such stream; `details.namespaces`
 * are those that it has), InvalidArgumentError (an impossible namespace).
 */
export async function openStoredStream(
  address: ServerAddress,
  namespace: string,
): Promise<StoredStream> {
  const names = partitionNames({ namespace, ...PARTITION });
  const connection = await ReadConnection.open(address, `holdfast-verify-${names.stream}`);
  const info = (): Promise<LogInfo> => streamInfo(connection, names);
  try {
    await info();
  } catch (error) {
    const isMissing = error instanceof JournalError && error.details.apiCode === STREAM_NOT_FOUND;
    const told = isMissing ? await missing(connection, address.url, namespace) : error;
    await connection.close();
    throw told;
  }
  return {
    stream: names.stream,
    prefix: `${names.prefix}.`,
    log: {
      info,
      read: async (options, visit) => {
        const through = options.through ?? (await info()).lastSequence;
        await readStream(connection, names, { ...options, through }, visit);
      },
      close: () => connection.close(),
    },
  };
}

const namesSchema = z.object({ streams: z.array(z.string()).nullish() });

async function missing(
  connection: ReadConnection,
  url: string,
  namespace: string,
): Promise<NotFoundError> {
  const attempt = { action: "list the streams", details: { url } };
  const { streams } = await callApi(connection, "STREAM.NAMES", {}, namesSchema, attempt);
  const namespaces = (streams ?? []).flatMap((name) => STREAM.exec(name)?.[1] ?? []).sort();
  const others =
    namespaces.length === 0
      ? "It holds no log of Holdfast"
      : `It holds the logs of: ${namespaces.join(", ")} (choose one with --namespace)`;
  return new NotFoundError(
    `The server at ${url} holds no log of namespace ${namespace}. ${others}.`,
    {
      details: { url, namespace, namespaces },
    },
  );
}
