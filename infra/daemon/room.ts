/**
 * The room of a daemon's store: what the server says, and what only its host sees.
 *
 * Owns: adding the embedded server's own limit and its disk to the limits of stream and account. Does not own: asking the server
 * (infra/jetstream/room.ts), the decision (actors/runtime/space.ts).
 *
 * Of an external server the host is not looked at: it may be another machine. Its account's limit then has to stand for its disk.
 */
import { statfs } from "node:fs/promises";
import { ConfigError } from "../../actors/errors.ts";
import type { StoreBound } from "../../actors/runtime/space.ts";
import type { JetStreamLog } from "../jetstream/log.ts";
import { reasonOf } from "../nats-server/folder.ts";
import type { NatsServer } from "../nats-server/server.ts";

/** A disk with less is full, however small the store is: a server that meets its end gives no answer at all (measured). */
export const DISK_RESERVE_BYTES = 128 * 1024 ** 2;

/** Errors: JournalError (the server), ConfigError (its folder cannot be looked at). */
export async function storeBounds(
  log: JetStreamLog,
  { store }: Pick<NatsServer, "store">,
): Promise<readonly StoreBound[]> {
  const { accountBytes: usedBytes, bounds } = await log.usage();
  if (store === null) return bounds;
  return [
    ...bounds,
    { what: "server", usedBytes, limitBytes: store.bytesMax },
    {
      what: "disk",
      usedBytes,
      limitBytes: usedBytes + (await freeBytes(store.folder)),
      reserveBytesMin: DISK_RESERVE_BYTES,
    },
  ];
}

async function freeBytes(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch (error) {
    throw new ConfigError(`the disk under ${folder} cannot be looked at (${reasonOf(error)})`, {
      cause: error,
      details: { folder },
    });
  }
}
