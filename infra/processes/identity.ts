/**
 * Process identity: which process a number means.
 *
 * Owns: reading an identity from /proc, comparing it with what a number means now, signalling by identity, finding
 * processes by a word in their environment. Linux only.
 * Does not own: who may be signalled (the launcher and the supervisor decide that), spawning, waiting.
 *
 * P1. A bare number is never trusted. A process is (boot, pid namespace, pid, start ticks); all four must match.
 * P2. Another boot, or another pid namespace, means the process is not visible here: it is never looked for by number.
 * P3. A signal is sent only after P1 was checked in the same synchronous step. What is left is the time between two
 *     system calls; a number is not handed out again that fast, and never for a child that is not yet reaped.
 */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { z } from "zod";

export interface ProcessIdentity {
  /** `/proc/sys/kernel/random/boot_id`: another boot, another world. */
  readonly bootId: string;
  /** The pid namespace the number was read in: a number means something else in another container. */
  readonly pidNamespace: string;
  readonly pid: number;
  /** Clock ticks from boot to the process's start (field 22 of stat), as written: it may pass 2⁵³. Survives `exec`. */
  readonly startTicks: string;
}

/** What /proc says of a process besides who it is. */
export interface ProcessStatus {
  readonly identity: ProcessIdentity;
  /** The kernel's letter: R, S, D, T, Z (ended, not yet reaped), X. */
  readonly state: string;
  readonly parentPid: number;
  readonly groupId: number;
  readonly sessionId: number;
}

const identitySchema = z.object({
  bootId: z.string().min(1),
  pidNamespace: z.string().min(1),
  pid: z.number().int().positive(),
  startTicks: z.string().regex(/^\d+$/),
});

/** An identity that was written down, or null when it is none. */
export function parseProcessIdentity(value: unknown): ProcessIdentity | null {
  const parsed = identitySchema.safeParse(value);
  return parsed.success ? parsed.data : null;
}

/** Neither changes while this process lives, so they are read once. */
let surroundings: { readonly bootId: string; readonly pidNamespace: string } | null = null;

function readSurroundings() {
  surroundings ??= {
    bootId: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(),
    pidNamespace: readlinkSync("/proc/self/ns/pid"),
  };
  return surroundings;
}

/** The process left, or was never there, between our looking and our reading: an outcome, not a fault. */
const isGone = (error: unknown): boolean =>
  error instanceof Error &&
  "code" in error &&
  (error.code === "ENOENT" || error.code === "ESRCH" || error.code === "ENOTDIR");

/** Null: no process has this number now. An ended but unreaped one (state Z) still has it. */
export function readProcessStatus(pid: number): ProcessStatus | null {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch (error) {
    if (isGone(error)) return null;
    throw error;
  }
  // The command's name stands in parentheses and may itself hold spaces and parentheses: count from the last one.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, parent, group, session] = fields;
  const startTicks = fields[19];
  if (state === undefined || startTicks === undefined) return null;
  return {
    identity: { ...readSurroundings(), pid, startTicks },
    state,
    parentPid: Number(parent),
    groupId: Number(group),
    sessionId: Number(session),
  };
}

/** Null: no process has this number now. */
export const readProcessIdentity = (pid: number): ProcessIdentity | null =>
  readProcessStatus(pid)?.identity ?? null;

const isSameIdentity = (left: ProcessIdentity, right: ProcessIdentity): boolean =>
  left.pid === right.pid &&
  left.startTicks === right.startTicks &&
  left.bootId === right.bootId &&
  left.pidNamespace === right.pidNamespace;

/** Whether this may be asked here at all (P2). */
const isOfThisWorld = (identity: ProcessIdentity): boolean => {
  const here = readSurroundings();
  return identity.bootId === here.bootId && identity.pidNamespace === here.pidNamespace;
};

/** Whether the number still means that very process; true too for one that ended and was not reaped. */
export function isSameProcess(identity: ProcessIdentity): boolean {
  if (!isOfThisWorld(identity)) return false;
  const now = readProcessIdentity(identity.pid);
  return now !== null && isSameIdentity(now, identity);
}

/** Whether that very process is there and has not ended. */
export function isRunning(identity: ProcessIdentity): boolean {
  if (!isOfThisWorld(identity)) return false;
  const now = readProcessStatus(identity.pid);
  return now !== null && isSameIdentity(now.identity, identity) && !"ZX".includes(now.state);
}

/**
 * Whether that very process was on this machine, seen from here, and has ended. False when it runs, and when that cannot be known
 * here (P2): another boot, another container, another host.
 */
export const isProvenGone = (identity: ProcessIdentity): boolean =>
  isOfThisWorld(identity) && !isRunning(identity);

/**
 * Sends a signal to that very process, and to nobody else (P1, P3).
 * "gone": the number means nothing, or another process now; nothing was sent.
 */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): "sent" | "gone" {
  if (!isSameProcess(identity)) return "gone";
  try {
    process.kill(identity.pid, signal);
    return "sent";
  } catch (error) {
    if (isGone(error)) return "gone";
    throw error;
  }
}

/**
 * The running processes that were started with `name=value` in their environment, as far as this user may look
 * (their own processes; root: all). Costs about 10 µs a process on the machine.
 */
export function findProcessesByEnvironment(
  name: string,
  value: string,
): readonly ProcessIdentity[] {
  const word = `${name}=${value}`;
  const found: ProcessIdentity[] = [];
  for (const entry of readdirSync("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const pid = Number(entry);
    const before = readProcessIdentity(pid);
    if (before === null || !environmentHolds(pid, word)) continue;
    // Read again: between the two the number may have become another process's.
    if (isRunning(before)) found.push(before);
  }
  return found;
}

function environmentHolds(pid: number, word: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0").includes(word);
  } catch {
    return false; // Gone, ended, a kernel thread, or another user's: none of them is one that we started.
  }
}
