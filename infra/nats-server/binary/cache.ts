/**
 * Holdfast's own cache of servers: `<cache>/holdfast/nats-server/<version>/nats-server`.
 *
 * Owns: where it is, what is in it, putting a binary in, remembering which suite gave which version.
 * Does not own: getting one (`obtain.ts`), choosing one (`find.ts`).
 *
 * K1. A version's folder appears whole, by a rename inside the cache: who looks sees a finished binary or none.
 * K2. What is in the cache is still run with `-v` before it is used: a disk may have eaten it.
 */
import { existsSync, readdirSync, renameSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { makeFolder, readIfThere, writeWhole } from "../folder.ts";
import { compareVersions, formatVersion, parseVersion, type ServerVersion } from "./version.ts";

export const BINARY_NAME = "nats-server";

export type Environment = Readonly<Record<string, string | undefined>>;

/** `$XDG_CACHE_HOME`, or `~/.cache`; a relative `XDG_CACHE_HOME` is to be ignored, says its specification. */
export function cacheFolder(environment: Environment): string {
  const configured = environment.XDG_CACHE_HOME;
  const base =
    configured !== undefined && isAbsolute(configured)
      ? configured
      : join(environment.HOME || homedir(), ".cache");
  return join(base, "holdfast", "nats-server");
}

export interface CachedServer {
  readonly path: string;
  /** As the folder's name says; what `-v` says counts (K2). */
  readonly version: ServerVersion;
}

/** What the cache holds, newest first. */
export function listCache(environment: Environment): readonly CachedServer[] {
  const folder = cacheFolder(environment);
  return entriesOf(folder)
    .map((name) => ({ name, version: parseVersion(name) }))
    .flatMap(({ name, version }) =>
      version === null || formatVersion(version) !== name
        ? []
        : [{ path: join(folder, name, BINARY_NAME), version }],
    )
    .sort((left, right) => compareVersions(right.version, left.version));
}

function entriesOf(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // No cache, or one that this user may not read: nothing to be found in it.
  }
}

/**
 * Moves a binary that lies on the same file system into the cache (K1) and returns its new path. A binary of that
 * version that is already there is replaced, and moved to `discarded`: whoever runs it goes on running it.
 */
export function placeInCache(options: {
  readonly environment: Environment;
  readonly binary: string;
  readonly version: ServerVersion;
  /** A folder on the same file system, empty, which the caller removes. */
  readonly discarded: string;
}): string {
  const name = formatVersion(options.version);
  const folder = join(cacheFolder(options.environment), name);
  const prepared = join(options.discarded, name);
  makeFolder(prepared);
  renameSync(options.binary, join(prepared, BINARY_NAME));
  if (existsSync(join(folder, BINARY_NAME))) {
    renameSync(join(folder, BINARY_NAME), join(options.discarded, "replaced"));
  }
  // Onto a folder that does not exist, or is empty now: the system's rename allows both, and nothing else.
  renameSync(prepared, folder);
  return join(folder, BINARY_NAME);
}

const noteOfSuite = (environment: Environment, suite: string): string =>
  join(cacheFolder(environment), "suites", encodeURIComponent(suite));

/** The version that a suite gave when it was last asked; null when it was not. */
export function readSuiteNote(environment: Environment, suite: string): ServerVersion | null {
  const text = readIfThere(noteOfSuite(environment, suite));
  return text === null ? null : parseVersion(text);
}

export function writeSuiteNote(
  environment: Environment,
  suite: string,
  version: ServerVersion,
): void {
  const path = noteOfSuite(environment, suite);
  makeFolder(dirname(path));
  writeWhole(path, `${formatVersion(version)}\n`);
}
