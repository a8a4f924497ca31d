/**
 * How much room a stream has: its own limit, and its account's.
 *
 * Owns: asking the server, what its figures mean. Does not own: limits that only the server's operator sees (infra/daemon), what
 * follows from too little room (actors/runtime/space.ts).
 */
import { z } from "zod";
import type { StoreBound } from "../../actors/runtime/space.ts";
import { callApi } from "./api.ts";
import type { ReadConnection } from "./connection.ts";
import type { PartitionNames } from "./names.ts";
import { streamInfo } from "./stream.ts";

const accountSchema = z.object({
  storage: z.number(),
  limits: z.object({ max_storage: z.number().default(-1) }).default({ max_storage: -1 }),
});

export interface StoreUsage {
  /** What all streams of the account take on disk. */
  readonly accountBytes: number;
  /** The limits that the server names. */
  readonly bounds: readonly StoreBound[];
}

/** Errors: JournalError. */
export async function storeUsage(
  connection: ReadConnection,
  names: PartitionNames,
): Promise<StoreUsage> {
  const attempt = {
    action: "ask how much room the account has",
    details: { stream: names.stream },
  };
  const [stream, account] = await Promise.all([
    streamInfo(connection, names),
    callApi(connection, "INFO", null, accountSchema, attempt),
  ]);
  const bounds: StoreBound[] = [];
  if (stream.bytesMax !== null) {
    bounds.push({ what: "stream", usedBytes: stream.bytes, limitBytes: stream.bytesMax });
  }
  const limitBytes = account.limits.max_storage;
  if (limitBytes > 0) bounds.push({ what: "account", usedBytes: account.storage, limitBytes });
  return { accountBytes: account.storage, bounds };
}
