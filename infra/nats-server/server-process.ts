/**
 * The server's process: starting it apart from the daemon, finding it again, ending it.
 *
 * Owns: spawn, the tag in its environment, reading its log, SIGTERM then SIGKILL.
 * Does not own: whether it may be ended (`launch.ts`).
 *
 * Q1. It is the leader of a session and process group of its own, with no pipe to the daemon: it outlives the daemon
 *     and is not hit by a Ctrl-C in the daemon's terminal.
 * Q2. It is signalled by identity only (`signalProcess`).
 * Q3. It is known to listen when its own log says so. Not before that is a password sent to its port: somebody else
 *     may have taken the port meanwhile.
 */
import { spawn } from "node:child_process";
import {
  closeSync,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { ExternalServiceError } from "../../actors/errors.ts";
import {
  findProcessesByEnvironment,
  isRunning,
  type ProcessIdentity,
  readProcessIdentity,
  signalProcess,
} from "../processes/identity.ts";
import { reasonOf, type ServerFolder } from "./folder.ts";
import type { StopOutcome } from "./server.ts";

const TAG_VARIABLE = "HOLDFAST_NATS_FOLDER_TAG";
/** Between two looks at a process that is to end, or a log that is to grow. */
const LOOK_EVERY_MS = 20;
/** How much of a log is read at most: a server says all that matters at its start in far less. */
const LOG_TAIL_BYTES_MAX = 256 * 1024;
/** How much of a log stands in an error. */
const LOG_LINES_IN_ERROR_MAX = 12;
/** Rotated logs that are kept for a server that cannot do that itself. */
const ROTATED_LOGS_MAX = 4;

export interface StartedProcess {
  readonly identity: ProcessIdentity;
  /** Where this run's part of the log begins, in bytes. */
  readonly logOffset: number;
}

/**
 * Starts the server. Throws `external_service` with the system's reason when the binary cannot be run; whether it comes up is for
 * `readLog` and the identity to tell.
 */
export async function startProcess(options: {
  readonly binary: string;
  readonly folder: ServerFolder;
  readonly tag: string;
}): Promise<StartedProcess> {
  const { binary, folder, tag } = options;
  removeOldLogs(folder.log);
  const logOffset = sizeOf(folder.log);
  writeFileSync(folder.startLog, "", { mode: 0o600 });
  const output = openSync(folder.startLog, "a", 0o600);
  try {
    const child = spawn(binary, ["-c", folder.configuration], {
      cwd: folder.root,
      detached: true,
      stdio: ["ignore", output, output],
      // Nothing of the daemon's environment is its business, but for what Go's runtime reads.
      env: { [TAG_VARIABLE]: tag, ...goSettings() },
    });
    // At once, while Node cannot have reaped it yet: the number cannot be another's even if it has ended already.
    const identity = child.pid === undefined ? null : readProcessIdentity(child.pid);
    await new Promise<void>((started, failed) => {
      child.once("spawn", started);
      child.once("error", failed);
    });
    child.unref();
    if (identity === null) {
      throw new ExternalServiceError(`There is no process ${child.pid} in /proc.`, {
        details: { service: "nats-server", pid: child.pid ?? null },
      });
    }
    return { identity, logOffset };
  } catch (error) {
    throw new ExternalServiceError(
      `nats-server (${binary}) cannot be started (${reasonOf(error)}): look whether the file is whole and may be run`,
      { details: { service: "nats-server", binary }, cause: error },
    );
  } finally {
    closeSync(output);
  }
}

/** An operator sets these to keep the server within a container's bounds, or its log in a time zone. */
function goSettings(): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of ["PATH", "TZ", "GOMEMLIMIT", "GOMAXPROCS", "GOGC"]) {
    const value = process.env[name];
    if (value !== undefined) found[name] = value;
  }
  return found;
}

/** Every running process that was started for the folder with this tag. */
export const findByTag = (tag: string): readonly ProcessIdentity[] =>
  findProcessesByEnvironment(TAG_VARIABLE, tag);

/** Asks the process to end, waits, kills it, waits. Never signals a number that means another process (Q2). */
export async function endProcess(
  identity: ProcessIdentity,
  bounds: { readonly termWaitMs: number; readonly killWaitMs: number },
): Promise<StopOutcome> {
  if (!isRunning(identity) || signalProcess(identity, "SIGTERM") === "gone")
    return { kind: "gone" };
  if (await hasEnded(identity, bounds.termWaitMs)) return { kind: "ended" };
  // A server whose disk is full can hang in its own shutdown. What it acknowledged is in its files already.
  signalProcess(identity, "SIGKILL");
  if (await hasEnded(identity, bounds.killWaitMs)) return { kind: "killed" };
  throw new ExternalServiceError(
    `nats-server (process ${identity.pid}) has not ended ${bounds.killWaitMs} ms after SIGKILL: it hangs in the` +
      " system, most likely on its disk",
    { details: { service: "nats-server", pid: identity.pid } },
  );
}

async function hasEnded(identity: ProcessIdentity, waitMs: number): Promise<boolean> {
  const deadline = performance.now() + waitMs;
  while (isRunning(identity)) {
    if (performance.now() >= deadline) return false;
    await pause(LOOK_EVERY_MS);
  }
  return true;
}

/** What the server said in this run. */
export type LogWord = "listening" | "port_taken" | "nothing";

export function readLog(folder: ServerFolder, started: StartedProcess, port: number): LogWord {
  const text = tailOf(folder.log, started.logOffset);
  if (text.includes(`Listening for client connections on 127.0.0.1:${port}`)) return "listening";
  return /address already in use/.test(text) ? "port_taken" : "nothing";
}

/** The last lines of what the server said, for an error. */
export function lastLines(folder: ServerFolder, logOffset: number): string {
  const text = `${tailOf(folder.startLog, 0)}\n${tailOf(folder.log, logOffset)}`;
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  return lines.slice(-LOG_LINES_IN_ERROR_MAX).join("\n");
}

/** Between two looks while a server comes up. */
export const waitALittle = (): Promise<void> => pause(LOOK_EVERY_MS);

function tailOf(path: string, from: number): string {
  let file: number;
  try {
    file = openSync(path, "r");
  } catch {
    return ""; // It has not been opened yet: nothing was said.
  }
  try {
    const size = fstatSync(file).size;
    // A log that is shorter than it was has been rotated since: all of it is of this run.
    const start = Math.max(size < from ? 0 : from, size - LOG_TAIL_BYTES_MAX);
    const bytes = Buffer.alloc(Math.max(0, size - start));
    return bytes.toString("utf8", 0, readSync(file, bytes, 0, bytes.length, start));
  } finally {
    closeSync(file);
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** Servers before 2.10 keep every rotated log (`server.log.<time>`); the oldest go when the next one starts. */
function removeOldLogs(log: string): void {
  const prefix = `${basename(log)}.`;
  const rotated = readdirSync(dirname(log)).filter((name) => name.startsWith(prefix));
  // The time in the name is written from year to nanosecond, so that names sort as times do.
  for (const name of rotated.sort().slice(0, -ROTATED_LOGS_MAX)) rmSync(join(dirname(log), name));
}
