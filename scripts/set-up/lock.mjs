// @ts-check
/**
 * One set-up at a time in one working tree.
 *
 * Owns: a folder whose `owner.json` says who holds it. It is made elsewhere and takes its place by a rename, which fails
 * when the place is taken: a lock never stands there without its owner.
 *
 * K1. A holder that is provably gone (same host, same pid namespace, no such process, or another one with its number) loses
 *     the lock at once; one that cannot be judged loses it when it has not beaten for STALE_AFTER_MS of our own watching.
 * K2. Waiting ends after WAIT_MAX_MS with a failure.
 * K3. Two that take a dead holder's lock at the same instant: the second sees that what it moved away is not what it
 *     judged, puts it back and waits on.
 */
import { randomUUID } from "node:crypto";
import {
  mkdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { root } from "./child.mjs";
import { StepFailure } from "./failure.mjs";

const BEAT_MS = 2_000;
const STALE_AFTER_MS = 20_000;
const POLL_MS = 200;
const WAIT_MAX_MS = 20 * 60_000;

const folder = join(root, ".holdfast");
const lockFolder = join(folder, "set-up.lock");
const ownerFile = join(lockFolder, "owner.json");

/**
 * @typedef {object} Owner
 * @property {string} token
 * @property {string} host
 * @property {string | null} pidNamespace
 * @property {number} pid
 * @property {string | null} startTicks
 */

/**
 * @template T
 * @param {() => T} read
 * @returns {T | null} Null when the file system has no answer.
 */
const orNull = (read) => {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error && "code" in error) return null;
    throw error;
  }
};

const pidNamespace = () => orNull(() => readlinkSync("/proc/self/ns/pid"));

/**
 * Field 22 of /proc/<pid>/stat tells a process from a later one with its number.
 * @param {number} pid
 */
const startTicks = (pid) =>
  orNull(
    () => readFileSync(`/proc/${pid}/stat`, "latin1").split(") ").at(-1)?.split(" ")[19] ?? null,
  );

/** @returns {Owner} */
const self = () => ({
  token: randomUUID(),
  host: hostname(),
  pidNamespace: pidNamespace(),
  pid: process.pid,
  startTicks: startTicks(process.pid),
});

/** Stands for whoever left a lock that names nobody; such a lock can only grow stale. */
const NOBODY = { token: "", host: "an unknown host", pidNamespace: null, pid: 0, startTicks: null };

/** @returns {Owner} */
const readOwner = (file = ownerFile) => {
  const text = orNull(() => readFileSync(file, "utf8"));
  return text === null ? NOBODY : JSON.parse(text);
};

/** @param {number} pid */
const exists = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is there and belongs to somebody else.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
};

/** @param {Owner} owner */
const isGone = (owner) => {
  if (owner.host !== hostname() || owner.pidNamespace !== pidNamespace()) return false;
  if (!exists(owner.pid)) return true;
  return owner.startTicks !== null && owner.startTicks !== startTicks(owner.pid);
};

/** @param {Owner} owner */
const tryTake = (owner) => {
  const made = join(folder, `set-up.lock.${owner.token}`);
  mkdirSync(made, { recursive: true });
  writeFileSync(join(made, "owner.json"), JSON.stringify(owner));
  try {
    renameSync(made, lockFolder);
    return true;
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOTEMPTY" || code === "EEXIST") return false;
    throw error;
  }
};

/**
 * Ends the hold of `judged`, and of nobody else. By a rename: a lock that is being deleted would look free half-way.
 * @param {Owner} judged
 */
const takeAway = (judged) => {
  const aside = join(folder, `set-up.lock.${randomUUID()}`);
  if (readOwner().token !== judged.token) return;
  if (orNull(() => renameSync(lockFolder, aside) ?? "moved") === null) return;
  if (readOwner(join(aside, "owner.json")).token === judged.token) {
    rmSync(aside, { recursive: true, force: true });
  } else {
    renameSync(aside, lockFolder);
  }
};

/** Follows one holder's beats by our own clock: two machines' wall clocks need not agree. */
class Watch {
  #seen = "";
  #since = 0;

  /** @param {Owner} owner */
  isStale(owner) {
    const beat = `${owner.token} ${orNull(() => statSync(ownerFile).mtimeMs)}`;
    if (beat !== this.#seen) {
      this.#seen = beat;
      this.#since = performance.now();
    }
    return isGone(owner) || performance.now() - this.#since > STALE_AFTER_MS;
  }
}

/**
 * @param {Owner} own
 * @param {(owner: string) => void} onWait
 */
const take = async (own, onWait) => {
  const watch = new Watch();
  const startedMs = performance.now();
  let toldOf = "";
  while (!tryTake(own)) {
    const owner = readOwner();
    if (performance.now() - startedMs > WAIT_MAX_MS) {
      throw new StepFailure(
        `another set-up (process ${owner.pid} on ${owner.host}) has held ${lockFolder} for ${WAIT_MAX_MS / 60_000} minutes.`,
        { whatToDo: "wait for it or end it, then run the same command again." },
      );
    }
    if (watch.isStale(owner)) takeAway(owner);
    else if (toldOf !== owner.token)
      onWait(`another set-up (process ${owner.pid} on ${owner.host})`);
    toldOf = owner.token;
    await sleep(POLL_MS);
  }
};

/**
 * @param {{ onWait: (owner: string) => void }} options
 * @param {() => Promise<void>} work
 */
export const withLock = async ({ onWait }, work) => {
  const own = self();
  await take(own, onWait);
  const beat = setInterval(() => {
    const now = new Date();
    orNull(() => utimesSync(ownerFile, now, now));
  }, BEAT_MS);
  try {
    await work();
  } finally {
    clearInterval(beat);
    takeAway(own);
  }
};
