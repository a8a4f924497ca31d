/**
 * A daemon's data folder: whose it is, and how clients find who owns it.
 *
 * Owns: making it, the lock that one daemon holds while it lives, `daemon.json`. Does not own: what lies in `nats/`
 * (infra/nats-server), how a lock works (infra/nats-server/exclusive-lock.ts).
 *
 * F1. A folder has one living owner. A second daemon is refused with the first one's number; of two that start at once one
 *     gets it. What a dead process left behind is taken over, and what a living one has when a person says so: the journal's
 *     fence ends that one, and until then it must not touch what is the next one's (F4).
 * F2. `daemon.json` is there while the daemon can be asked. After a kill it stays, and names a process that is gone: whoever
 *     reads it looks whether the process lives.
 * F4. Only the daemon that is named in `daemon.json` removes it.
 * F3. `daemon.json` holds no password; those of an embedded server are in its own folder, for its owner alone.
 */
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { ConfigError, isHoldfastError, OwnershipError } from "../../actors/errors.ts";
import { acquireLock, type ExclusiveLock } from "../nats-server/exclusive-lock.ts";
import { parseJson, readIfThere, reasonOf, writeWhole } from "../nats-server/folder.ts";
import { isRunning, type ProcessIdentity, parseProcessIdentity } from "../processes/identity.ts";

/** Several may take over at once: each step of another takes no longer than a few files, ms. */
const TAKE_OVER_WAIT_MS = 2_000;

export interface DataFolder {
  readonly root: string;
  readonly lock: string;
  /** How clients find the daemon. */
  readonly record: string;
}

export function dataFolder(dataDir: string): DataFolder {
  const root = resolve(dataDir);
  return { root, lock: join(root, "daemon.lock"), record: join(root, "daemon.json") };
}

/**
 * Makes the folder where it is missing and takes it (F1).
 * Errors: ConfigError (it cannot be written), OwnershipError (a living daemon has it; `details.pid`).
 */
export async function takeDataFolder(
  folder: DataFolder,
  { isTakeOver }: { readonly isTakeOver: boolean },
): Promise<ExclusiveLock> {
  prepare(folder.root);
  const since = new Date().toISOString();
  const waitMs = isTakeOver ? TAKE_OVER_WAIT_MS : 0;
  try {
    return await acquireLock(folder.lock, {
      purpose: `a daemon, since ${since}`,
      waitMs,
      isTakeOver,
    });
  } catch (error) {
    if (!isHoldfastError(error) || error.code !== "ownership") throw error;
    const { pid, purpose } = error.details;
    throw new OwnershipError(
      `The data folder ${folder.root} belongs to process ${pid} (${purpose}), which lives: stop that one first, give another folder with --data, or take over with --take-over (takeOver in code).`,
      { details: { folder: folder.root, pid, purpose }, cause: error },
    );
  }
}

function prepare(root: string): void {
  const probe = join(root, `.probe-${process.pid}`);
  try {
    mkdirSync(root, { recursive: true, mode: 0o700 });
    writeFileSync(probe, "");
    rmSync(probe);
  } catch (error) {
    throw new ConfigError(
      `The data folder ${root} cannot be written (${reasonOf(error)}): give one on a disk that this user may write.`,
      { details: { folder: root, reason: reasonOf(error) }, cause: error },
    );
  }
}

const identitySchema = z.unknown().transform((value, context): ProcessIdentity => {
  const identity = parseProcessIdentity(value);
  if (identity !== null) return identity;
  context.addIssue({ code: "custom", message: "no process identity" });
  return z.NEVER;
});

const recordSchema = z.object({
  url: z.string(),
  namespace: z.string(),
  process: identitySchema,
  version: z.string(),
  /** Wall clock, ms since the epoch. */
  startedAt: z.number(),
  durability: z.enum(["fsync", "process"]),
  /** False: an external server, whose login clients must be given. */
  isEmbedded: z.boolean(),
});
export type DaemonRecord = Readonly<z.output<typeof recordSchema>>;

export function writeDaemonRecord(folder: DataFolder, record: DaemonRecord): void {
  writeWhole(folder.record, `${JSON.stringify(record, null, 2)}\n`);
}

/** Removes it if it is this daemon's own (F4). */
export function removeDaemonRecord(folder: DataFolder, own: DaemonRecord): void {
  const isOwn = (path: string): boolean => {
    const found = recordSchema.safeParse(parseJson(readIfThere(path) ?? ""));
    return found.success && isDeepStrictEqual(found.data, own);
  };
  if (!isOwn(folder.record)) return;
  // Put aside first: the next owner may write its own between a look and a removal.
  const aside = `${folder.record}.${own.process.pid}`;
  renameSync(folder.record, aside);
  if (isOwn(aside)) rmSync(aside);
  else renameSync(aside, folder.record);
}

export type FoundDaemon =
  | { readonly kind: "none" }
  /** `isAlive` is false after a kill (F2). */
  | { readonly kind: "found"; readonly record: DaemonRecord; readonly isAlive: boolean }
  | { readonly kind: "unreadable"; readonly path: string };

export function findDaemon(folder: DataFolder): FoundDaemon {
  const text = readIfThere(folder.record);
  if (text === null) return { kind: "none" };
  const parsed = recordSchema.safeParse(parseJson(text));
  if (!parsed.success) return { kind: "unreadable", path: folder.record };
  return { kind: "found", record: parsed.data, isAlive: isRunning(parsed.data.process) };
}

const lockSchema = z.object({ process: identitySchema, purpose: z.string() });

export type FolderOwner =
  | { readonly kind: "nobody" }
  | {
      readonly kind: "alive" | "dead";
      readonly pid: number;
      readonly purpose: string;
    }
  | { readonly kind: "unreadable" };

/** Who has the folder, looked at without taking it. */
export function ownerOf(folder: DataFolder): FolderOwner {
  const text = readIfThere(folder.lock);
  if (text === null) return { kind: "nobody" };
  const parsed = lockSchema.safeParse(parseJson(text));
  if (!parsed.success) return { kind: "unreadable" };
  const { process, purpose } = parsed.data;
  return { kind: isRunning(process) ? "alive" : "dead", pid: process.pid, purpose };
}
