/**
 * The launcher's folder, `<dataDir>/nats`.
 *
 * Owns: what lies where in it, making it, proving that it can be written, writing a file whole.
 * Does not own: what stands in the files.
 *
 * F1. The folder is for its owner alone (mode 0700): it holds passwords and the journal.
 * F2. A file is written beside its place and renamed into it, so that a reader sees the old one or the new one.
 */
import { randomUUID } from "node:crypto";
import {
  chmodSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { ConfigError } from "../../actors/errors.ts";

export interface ServerFolder {
  readonly root: string;
  /** Where the server keeps its streams. It makes `jetstream/` below the folder it is given, which is `root`. */
  readonly store: string;
  readonly credentials: string;
  readonly configuration: string;
  readonly record: string;
  readonly lock: string;
  /** The server's own log, which it rotates. */
  readonly log: string;
  /** What the server says before it has opened its log: faults of the configuration. */
  readonly startLog: string;
}

export function serverFolder(dataDir: string): ServerFolder {
  const root = join(resolve(dataDir), "nats");
  return {
    root,
    store: join(root, "jetstream"),
    credentials: join(root, "credentials.json"),
    configuration: join(root, "server.conf"),
    record: join(root, "server.json"),
    lock: join(root, "launch.lock"),
    log: join(root, "server.log"),
    startLog: join(root, "start.log"),
  };
}

/**
 * Makes the folder where it is missing and proves by writing that it and the store can be used.
 * Throws `config`: it cannot be made or written; the text names the path and the system's reason.
 */
export function prepareFolder(dataDir: string): ServerFolder {
  const folder = serverFolder(dataDir);
  for (const path of [folder.root, folder.store]) {
    const probe = join(path, `.probe-${randomUUID()}`);
    try {
      makeFolder(path);
      // Asking for the permission bits is not enough: root passes them, a read-only mount refuses anyway.
      closeSync(openSync(probe, "wx", 0o600));
      rmSync(probe);
    } catch (error) {
      throw new ConfigError(
        `the server's folder ${path} cannot be written (${reasonOf(error)}):` +
          " give a data folder on a disk that this user may write",
        { details: { path }, cause: error },
      );
    }
  }
  chmodSync(folder.root, 0o700);
  return folder;
}

/**
 * Makes a folder and those above it that are missing, each for its owner alone. Not by `mkdir`'s own recursion: on a file
 * system that answers ENOENT to every attempt (/proc does) Node 20's never returns.
 */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    const above = dirname(path);
    if (reasonOf(error) === "ENOENT" && above !== path && !existsSync(above)) {
      makeFolder(above);
      mkdirSync(path, { mode: 0o700 });
      return;
    }
    if (reasonOf(error) !== "EEXIST" || !statSync(path).isDirectory()) throw error;
  }
}

/** Writes a file whole (F2), readable by its owner alone, and on the disk before it returns. */
export function writeWhole(path: string, text: string): void {
  const beside = `${path}.${randomUUID()}`;
  const file = openSync(beside, "wx", 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(beside, path);
}

/** The file's text, or null when there is none. */
export function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

/** JSON of a text; null when it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // The caller's schema refuses null, and says which file it was.
  }
}

/** The system's short reason (`EACCES`, `ENOSPC`), or the message of an error that has none. */
export function reasonOf(error: unknown): string {
  if (error instanceof Error && "code" in error && typeof error.code === "string")
    return error.code;
  return error instanceof Error ? error.message : String(error);
}
