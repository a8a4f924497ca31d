/**
 * A lock between processes, as a file.
 *
 * Owns: taking it, waiting for it with a bound, taking over one whose holder died. Does not own: what it guards.
 *
 * L1. The file appears whole, with its holder in it (`link` of a finished file), so nobody reads half a holder.
 * L2. Only the holder, or whoever holds `<path>.<nonce of the dead holder>`, removes the file. That second lock is
 *     taken like any other, and its owner looks again before removing: two who find a dead holder never both remove.
 *     A holder that lets go does the same with its own nonce, since whoever takes over may be removing it.
 * L3. A holder is dead when its identity no longer runs here; a number that was handed out again does not keep a lock.
 *     Holders in another container's pid namespace cannot be seen and count as dead: share no such folder.
 * L4. Whoever takes over treats a living holder as a dead one. That one is not told here, and its lock is no longer its own:
 *     what it guards must have another way to end it.
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
  /** Whether it is ours still: false once it was released, or taken over (L4). */
  isHeld(): boolean;
  /** Idempotent. */
  release(): void;
}

export interface LockOptions {
  /** What is done under the lock, for whoever has to wait. */
  readonly purpose: string;
  /** How long to wait for a living holder, in milliseconds. */
  readonly waitMs: number;
  /** L4. Default: false. */
  readonly isTakeOver?: boolean;
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
    const lock = tryLock(path, options.purpose, 0, options.isTakeOver ? anybody : isDead);
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

/** Whose lock may be removed. */
type Removable = (holder: Holder) => boolean;
const isDead: Removable = ({ process }) => !isRunning(process);
const anybody: Removable = () => true;

/** The lock, or who has it. */
function tryLock(
  path: string,
  purpose: string,
  depth: number,
  isRemovable: Removable,
): ExclusiveLock | Holder {
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
    if (linkWhole(path, mine)) return depth === 0 ? lockOf(path, mine) : guardOf(path);
    const holder = readHolder(path);
    if (holder === null) continue; // Released between the two: take it.
    if (!isRemovable(holder)) return holder;
    const guard = tryLock(`${path}.${holder.nonce}`, purpose, depth + 1, isDead);
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

function lockOf(path: string, { nonce, purpose }: Holder): ExclusiveLock {
  const isOurs = () => readHolder(path)?.nonce === nonce;
  return lockWith(isOurs, () => {
    if (!isOurs()) return;
    const guard = tryLock(`${path}.${nonce}`, purpose, 1, isDead);
    if (!("release" in guard)) return; // It is taken over at this moment.
    if (isOurs()) rmSync(path);
    guard.release();
  });
}

/** Nobody takes a guard from a living process, so it is removed as it stands. */
const guardOf = (path: string): ExclusiveLock =>
  lockWith(
    () => true,
    () => rmSync(path, { force: true }),
  );

function lockWith(isOurs: () => boolean, remove: () => void): ExclusiveLock {
  let isReleased = false;
  const release = () => {
    if (isReleased) return;
    isReleased = true;
    remove();
  };
  return {
    isHeld: () => !isReleased && isOurs(),
    release,
    [Symbol.asyncDispose]: async () => release(),
  };
}
