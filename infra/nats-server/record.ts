/**
 * What is written down about a data folder's server: `<dataDir>/nats/server.json`.
 *
 * Owns: the record's shape, reading and writing it, who holds the server.
 * Does not own: whether the recorded process is still that process (`infra/processes/identity.ts`).
 *
 * R1. Read and written only under the folder's lock.
 * R2. A record that cannot be read is no record: the server is then found by the tag in its environment.
 * R3. The port and the size limit outlive the server: clients find it again, and a limit never shrinks by itself.
 */
import { z } from "zod";
import { isRunning, type ProcessIdentity, parseProcessIdentity } from "../processes/identity.ts";
import { parseJson, readIfThere, type ServerFolder, writeWhole } from "./folder.ts";

const identitySchema = z.unknown().transform((value, context): ProcessIdentity => {
  const identity = parseProcessIdentity(value);
  if (identity !== null) return identity;
  context.addIssue({ code: "custom", message: "no process identity" });
  return z.NEVER;
});

const runningSchema = z.object({
  process: identitySchema,
  /** As `-v` of the binary said. */
  version: z.string(),
  binary: z.string(),
  /** `configurationFingerprint` of what it was started with. */
  fingerprint: z.string(),
  /** It has answered once, so the port is its own. Until then somebody else may listen there. */
  wasReady: z.boolean(),
});

/** A daemon that uses the server. The nonce tells two uses by one process apart. */
const holderSchema = z.object({ nonce: z.string(), process: identitySchema });

const recordSchema = z.object({
  port: z.number().int().min(1).max(65_535),
  fileBytesMax: z.number().int().positive(),
  /** Null: it was stopped. */
  running: runningSchema.nullable(),
  holders: z.array(holderSchema),
});

export type ServerRecord = z.infer<typeof recordSchema>;
export type RunningServer = z.infer<typeof runningSchema>;
export type Holder = z.infer<typeof holderSchema>;

/** Null: none, or one that cannot be read (R2). */
export function readRecord(folder: ServerFolder): ServerRecord | null {
  const text = readIfThere(folder.record);
  if (text === null) return null;
  const parsed = recordSchema.safeParse(parseJson(text));
  return parsed.success ? parsed.data : null;
}

export function writeRecord(folder: ServerFolder, record: ServerRecord): void {
  writeWhole(folder.record, `${JSON.stringify(record, null, 2)}\n`);
}

/** The holders whose process still lives. A daemon that was killed holds nothing. */
export const livingHolders = (record: ServerRecord | null): readonly Holder[] =>
  record === null ? [] : record.holders.filter((holder) => isRunning(holder.process));
