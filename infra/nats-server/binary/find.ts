/**
 * Finding a nats-server on this machine.
 *
 * Owns: where it is looked for, in which order, what is refused and why. Does not own: getting one (`obtain.ts`).
 *
 * D1. The order: the one named (option, then HOLDFAST_NATS_SERVER), PATH, our own cache with the newest first.
 * D2. One that was named is used or is an error: naming a server and getting another would be a surprise.
 * D3. Nothing is used before it has said its version, and one that is too old is passed over and remembered, so that
 *     whoever finds nothing is told everything that was looked at.
 */
import { execFile } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join, resolve } from "node:path";
import { promisify } from "node:util";
import { ConfigError } from "../../../actors/errors.ts";
import type { Durability } from "../../../actors/journal/codec.ts";
import { reasonOf } from "../folder.ts";
import { BINARY_NAME, cacheFolder, type Environment, listCache } from "./cache.ts";
import {
  FLOOR_VERSION,
  faultOfVersion,
  formatVersion,
  parseVersion,
  RECOMMENDED_VERSION,
  type ServerVersion,
  versionNeededFor,
} from "./version.ts";

/** Where a server came from. */
export type ServerSource = "option" | "environment" | "path" | "cache" | "obtained";

export interface FoundServer {
  readonly path: string;
  readonly version: ServerVersion;
  readonly source: ServerSource;
}

export interface RejectedServer {
  readonly path: string;
  readonly source: ServerSource;
  readonly reason: string;
}

export type FindOutcome =
  | { readonly kind: "found"; readonly server: FoundServer }
  | { readonly kind: "missing"; readonly rejected: readonly RejectedServer[] };

export interface FindOptions {
  readonly durability: Durability;
  /** A path that stands for HOLDFAST_NATS_SERVER. */
  readonly binary?: string | undefined;
  readonly environment: Environment;
}

/** The variable that names a server. */
export const SERVER_VARIABLE = "HOLDFAST_NATS_SERVER";
/** How long a binary may take to say its version. */
const VERSION_TIMEOUT_MS = 10_000;
const VERSION_BYTES_MAX = 64 * 1024;

const run = promisify(execFile);

/**
 * A server that keeps this durability, or all that was looked at. Throws `config` when one was named and cannot be
 * used (D2).
 */
export async function findNatsServer(options: FindOptions): Promise<FindOutcome> {
  const named = await findNamed(options);
  if (named !== null) return { kind: "found", server: named };
  const rejected: RejectedServer[] = [];
  for (const candidate of candidatesOf(options.environment)) {
    const outcome = await inspect(candidate.path, options.durability);
    if (outcome.kind === "usable") {
      return { kind: "found", server: { ...candidate, version: outcome.version } };
    }
    rejected.push({ ...candidate, reason: outcome.reason });
  }
  return { kind: "missing", rejected };
}

async function findNamed(options: FindOptions): Promise<FoundServer | null> {
  const fromEnvironment = options.environment[SERVER_VARIABLE];
  const path = options.binary ?? (fromEnvironment === "" ? undefined : fromEnvironment);
  if (path === undefined) return null;
  const source = options.binary === undefined ? "environment" : "option";
  const outcome = await inspect(resolve(path), options.durability);
  if (outcome.kind === "usable") return { path: resolve(path), version: outcome.version, source };
  const asked = source === "environment" ? SERVER_VARIABLE : "the option `binary`";
  throw new ConfigError(
    `${asked} names ${path}, which cannot be used: ${outcome.reason}. Name another server,` +
      ` or leave ${asked} out to have one looked for`,
    {
      details: {
        path,
        source,
        reason: outcome.reason,
        ...(outcome.version === null ? {} : { found: formatVersion(outcome.version) }),
        needed: formatVersion(versionNeededFor(options.durability)),
      },
    },
  );
}

type Inspection =
  | { readonly kind: "usable"; readonly version: ServerVersion }
  | {
      readonly kind: "unusable";
      readonly reason: string;
      readonly version: ServerVersion | null;
    };

async function inspect(path: string, durability: Durability): Promise<Inspection> {
  const outcome = await readServerVersion(path);
  if (outcome.kind === "failed") {
    return { kind: "unusable", reason: outcome.reason, version: null };
  }
  const fault = faultOfVersion(outcome.version, durability);
  if (fault === null) return { kind: "usable", version: outcome.version };
  return { kind: "unusable", reason: fault, version: outcome.version };
}

/** What `-v` of this file says, or why it says nothing. */
export async function readServerVersion(
  path: string,
): Promise<
  | { readonly kind: "version"; readonly version: ServerVersion }
  | { readonly kind: "failed"; readonly reason: string }
> {
  const fault = faultOfFile(path);
  if (fault !== null) return { kind: "failed", reason: fault };
  try {
    const { stdout } = await run(path, ["-v"], {
      timeout: VERSION_TIMEOUT_MS,
      maxBuffer: VERSION_BYTES_MAX,
    });
    const version = parseVersion(stdout);
    if (version !== null) return { kind: "version", version };
    return {
      kind: "failed",
      reason: `it is no nats-server: -v said ${JSON.stringify(stdout.slice(0, 80))}`,
    };
  } catch (error) {
    return { kind: "failed", reason: `it does not run here (${reasonOf(error)})` };
  }
}

/** Why this cannot be a program; null when it may be one. */
function faultOfFile(path: string): string | null {
  try {
    if (!statSync(path).isFile()) return "it is no file";
    accessSync(path, constants.X_OK);
    return null;
  } catch (error) {
    return reasonOf(error) === "ENOENT"
      ? "there is no such file"
      : `it cannot be run (${reasonOf(error)})`;
  }
}

function candidatesOf(
  environment: Environment,
): readonly { readonly path: string; readonly source: ServerSource }[] {
  // An empty or relative entry of PATH means "the folder one stands in": no place to take a server from.
  const onPath = (environment.PATH ?? "")
    .split(delimiter)
    .filter((folder) => folder.startsWith("/"))
    .map((folder) => join(folder, BINARY_NAME))
    .filter((path) => faultOfFile(path) !== "there is no such file");
  return [
    ...[...new Set(onPath)].map((path) => ({ path, source: "path" as const })),
    ...listCache(environment).map(({ path }) => ({ path, source: "cache" as const })),
  ];
}

/** What is said when none was found: what was looked at, what is needed, what can be done. */
export function missingServerError(options: {
  readonly durability: Durability;
  readonly rejected: readonly RejectedServer[];
  readonly environment: Environment;
  /** Why none could be got either. */
  readonly cause?: unknown;
}): ConfigError {
  const { durability, rejected, environment, cause } = options;
  const needed = formatVersion(versionNeededFor(durability));
  const looked =
    rejected.length === 0
      ? `There is none in PATH and none in ${cacheFolder(environment)}.`
      : rejected.map(({ path, reason }) => `Found ${path}: ${reason}.`).join(" ");
  const got = cause instanceof Error ? ` None could be got: ${cause.message}.` : "";
  const weaker =
    durability === "fsync"
      ? ` or choose --durability process, for which ${formatVersion(FLOOR_VERSION)} is enough`
      : "";
  return new ConfigError(
    `no nats-server ${needed} or newer for durability "${durability}". ${looked}${got} Install one` +
      ` (recommended: ${formatVersion(RECOMMENDED_VERSION)} or newer; on Debian \`apt install nats-server\`),` +
      ` or set ${SERVER_VARIABLE} to one${weaker}`,
    { details: { durability, needed, rejected }, ...(cause === undefined ? {} : { cause }) },
  );
}
