/**
 * A lock between processes, as a file.
 *
 * Owns: taking it, waiting for it with a bound, taking over one whose holder died. Does not own: what it guards.
 *
 * L1. The file appears whole, with its holder in it (`link` of a finished file), so nobody reads half a holder.
 * L2. Only the holder, or whoever holds `<path>.<nonce of the dead holder>`, removes the file. That second lock is
 *     taken like any other, and its owner looks again before removing: two who find a dead holder never both remove.
 * L3. A holder is dead when its identity no longer runs here; a number that was handed out again does not keep a lock.
 *     Holders in another container's pid namespace cannot be seen and count as dead: share no such folder.
 */
import { randomUUID } from "node:crypto";
import { linkSync, rmSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { OwnershipError, SystemError } from "../../actors/errors.ts";
import {
  isRunning,
  type ProcessIdentity,
  parseProcessIdentity,
  readProcessIdentity,
} from "../processes/identity.ts";
import { parseJson, readIfThere, writeWhole } from "./folder.ts";

export interface ExclusiveLock extends AsyncDisposable {
  /** Idempotent. */
  release(): void;
}

export interface LockOptions {
  /** What is done under the lock, for whoever has to wait. */
  readonly purpose: string;
  /** How long to wait for a living holder, in milliseconds. */
  readonly waitMs: number;
}

/** Pause between two looks at a held lock. */
const LOOK_EVERY_MS = 50;
/** A dead holder's lock is guarded by a lock, which may have a dead holder too. More than this is no accident. */
const DEAD_HOLDERS_DEPTH_MAX = 4;

interface Holder {
  readonly nonce: string;
  readonly process: ProcessIdentity;
  readonly purpose: string;
}

const holderSchema = z.object({
  nonce: z.string().regex(/^[0-9a-f-]{36}$/),
  process: z.unknown().transform((value, context) => {
    const identity = parseProcessIdentity(value);
    if (identity !== null) return identity;
    context.addIssue({ code: "custom", message: "no process identity" });
    return z.NEVER;
  }),
  purpose: z.string(),
});

/**
 * Waits until the lock is ours. Throws `ownership` when a living process still holds it after `waitMs`;
 * the text names that process, what it does, and the file.
 */
export async function acquireLock(path: string, options: LockOptions): Promise<ExclusiveLock> {
  const deadline = performance.now() + options.waitMs;
  for (;;) {
    const lock = tryLock(path, options.purpose, 0);
    if ("release" in lock) return lock;
    if (performance.now() >= deadline) {
      throw new OwnershipError(
        `process ${lock.process.pid} (${lock.purpose}) has held ${path} for more than` +
          ` ${options.waitMs} ms: wait for it to finish, or end it`,
        { details: { path, pid: lock.process.pid, purpose: lock.purpose }, retry: "backoff" },
      );
    }
    await pause(LOOK_EVERY_MS);
  }
}

/** The lock, or who has it. */
function tryLock(path: string, purpose: string, depth: number): ExclusiveLock | Holder {
  if (depth > DEAD_HOLDERS_DEPTH_MAX) {
    throw new SystemError(
      `the lock ${path} was left behind ${depth} times over: delete the lock files`,
      {
        details: { path, depth },
      },
    );
  }
  const mine = ownHolder(purpose);
  for (;;) {
    if (linkWhole(path, mine)) return lockOf(path);
    const holder = readHolder(path);
    if (holder === null) continue; // Released between the two: take it.
    if (isRunning(holder.process)) return holder;
    const guard = tryLock(`${path}.${holder.nonce}`, purpose, depth + 1);
    if (!("release" in guard)) return guard;
    // Look again under the guard (L2): whoever held it before us may have removed the dead holder already.
    if (readHolder(path)?.nonce === holder.nonce) rmSync(path);
    guard.release();
  }
}

function ownHolder(purpose: string): Holder {
  const process_ = readProcessIdentity(process.pid);
  if (process_ === null) {
    throw new SystemError("this process cannot find itself in /proc: Linux with /proc is needed");
  }
  return { nonce: randomUUID(), process: process_, purpose };
}

/** False: somebody has it. */
function linkWhole(path: string, holder: Holder): boolean {
  const beside = `${path}.${holder.nonce}.new`;
  writeWhole(beside, JSON.stringify(holder));
  try {
    linkSync(beside, path);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false;
    throw error;
  } finally {
    rmSync(beside);
  }
}

function readHolder(path: string): Holder | null {
  const text = readIfThere(path);
  if (text === null) return null;
  const parsed = holderSchema.safeParse(parseJson(text));
  if (!parsed.success) {
    throw new SystemError(`${path} is no lock of ours: delete it if nothing uses it`, {
      details: { path },
    });
  }
  return parsed.data;
}

function lockOf(path: string): ExclusiveLock {
  let isHeld = true;
  const release = () => {
    if (!isHeld) return;
    isHeld = false;
    rmSync(path, { force: true });
  };
  return { release, [Symbol.asyncDispose]: async () => release() };
}
