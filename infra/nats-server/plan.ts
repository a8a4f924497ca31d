/**
 * What a data folder's server is to be: binary, settings, fingerprint.
 *
 * Owns: choosing between the server that runs and the one that was found; the size limit's default.
 * Does not own: doing it (`launch.ts`).
 *
 * W1. A server that was named is the one. One that was merely found gives way to a running one that is as new: a
 *     daemon's restart is no reason to restart the server, and never one to go back to an older.
 * W2. The size limit, once set, stays until another is asked for: streams have claimed their share of it.
 */
import { statfsSync } from "node:fs";
import { InvalidArgumentError } from "../../actors/errors.ts";
import type { Durability } from "../../actors/journal/codec.ts";
import { isRunning } from "../processes/identity.ts";
import type { Environment } from "./binary/cache.ts";
import { type FoundServer, findNatsServer } from "./binary/find.ts";
import { provideNatsServer } from "./binary/provide.ts";
import { compareVersions, faultOfVersion, parseVersion } from "./binary/version.ts";
import { configurationFingerprint, readTemplate, type ServerSettings } from "./configuration.ts";
import type { FolderSecrets } from "./credentials.ts";
import type { ServerFolder } from "./folder.ts";
import { readRecord, type ServerRecord } from "./record.ts";

export interface LaunchOptions {
  /** The daemon's data folder; the server's things lie in `nats/` below it. */
  readonly dataDir: string;
  /** Default: "fsync", which needs a server ≥ 2.12. */
  readonly durability?: Durability;
  /** A server to use instead of HOLDFAST_NATS_SERVER, PATH, the cache. */
  readonly binary?: string;
  /** What all streams together may take, in bytes; at least 64 MiB. Default: see `plan.ts`, `fileBytesDefault`. */
  readonly fileBytesMax?: number;
  /** A fixed loopback port, 1–65535. Default: the folder's last one if it is free, else any free one. */
  readonly port?: number;
  /** Whether a server may be downloaded when none is found. Default: true. */
  readonly mayObtain?: boolean;
  /** One line for each thing that takes time. Default: nobody is told. */
  readonly onProgress?: (line: string) => void;
  /** Default: this process's. */
  readonly environment?: Environment;
  /** How long the server may take to come up, in milliseconds. Default: 60 000; a large store takes seconds. */
  readonly readyTimeoutMs?: number;
  /** How long it may take to end by itself before it is killed, in milliseconds. Default: 10 000. */
  readonly termWaitMs?: number;
}

export interface LaunchPlan {
  readonly binary: FoundServer;
  readonly template: string;
  /** The port in it is only a wish. */
  readonly settings: ServerSettings;
  readonly fingerprint: string;
}

const MEBIBYTE = 1024 * 1024;
const GIBIBYTE = 1024 * MEBIBYTE;
const FILE_BYTES_LEAST = 64 * MEBIBYTE;
const FILE_BYTES_DEFAULT_MAX = 20 * GIBIBYTE;

/** Throws `invalid_argument`: names each option that cannot be, what was found and what is allowed. */
export function checkOptions(options: LaunchOptions): void {
  const faults: string[] = [];
  const { durability, fileBytesMax, port } = options;
  if (options.dataDir === "") faults.push("dataDir: found an empty text, a path is needed");
  if (durability !== undefined && durability !== "fsync" && durability !== "process") {
    faults.push(
      `durability: found ${JSON.stringify(durability)}, allowed are "fsync" and "process"`,
    );
  }
  if (
    fileBytesMax !== undefined &&
    !isWithin(fileBytesMax, FILE_BYTES_LEAST, Number.MAX_SAFE_INTEGER)
  ) {
    faults.push(
      `fileBytesMax: found ${fileBytesMax}, a whole number from ${FILE_BYTES_LEAST} on is allowed`,
    );
  }
  if (port !== undefined && !isWithin(port, 1, 65_535)) {
    faults.push(`port: found ${port}, 1 to 65535 is allowed`);
  }
  if (faults.length === 0) return;
  throw new InvalidArgumentError(`the server cannot be launched: ${faults.join("; ")}`, {
    details: { faults },
  });
}

const isWithin = (value: number, least: number, most: number): boolean =>
  Number.isSafeInteger(value) && value >= least && value <= most;

/**
 * The binary for this folder. May take minutes when one has to be got, so it is called before the folder is locked.
 * Throws `config`: none to be had; the text says what was looked at and what to do.
 */
export async function chooseBinary(
  options: LaunchOptions,
  folder: ServerFolder,
): Promise<FoundServer> {
  const asked = {
    durability: options.durability ?? "fsync",
    binary: options.binary,
    environment: options.environment ?? process.env,
    mayObtain: options.mayObtain,
    onProgress: options.onProgress,
  };
  const outcome = await findNatsServer(asked);
  const found = outcome.kind === "found" ? outcome.server : null;
  if (found?.source === "option" || found?.source === "environment") return found;
  const running = runningBinary(readRecord(folder), asked.durability);
  if (
    running !== null &&
    (found === null || compareVersions(running.version, found.version) >= 0)
  ) {
    return running;
  }
  return found ?? provideNatsServer(asked);
}

/** The binary of the server that runs, if it keeps this durability (W1). Looked at without the lock: only a wish. */
function runningBinary(record: ServerRecord | null, durability: Durability): FoundServer | null {
  if (record === null || record.running === null || !isRunning(record.running.process)) return null;
  const version = parseVersion(record.running.version);
  if (version === null || faultOfVersion(version, durability) !== null) return null;
  return { path: record.running.binary, version, source: "cache" };
}

export function planLaunch(
  options: LaunchOptions,
  known: {
    readonly binary: FoundServer;
    readonly folder: ServerFolder;
    readonly secrets: FolderSecrets;
    readonly record: ServerRecord | null;
  },
): LaunchPlan {
  const { binary, folder, secrets, record } = known;
  const template = readTemplate();
  const { daemon, service, operator, observer } = secrets.roles;
  const settings: ServerSettings = {
    version: binary.version,
    durability: options.durability ?? "fsync",
    port: options.port ?? record?.port ?? 0,
    storeParent: folder.root,
    logFile: folder.log,
    fileBytesMax: options.fileBytesMax ?? record?.fileBytesMax ?? fileBytesDefault(folder),
    passwords: {
      daemon: daemon.password,
      service: service.password,
      operator: operator.password,
      observer: observer.password,
    },
  };
  const fingerprint = configurationFingerprint(template, settings);
  return { binary, template, settings, fingerprint };
}

/** Half of what the disk has free, at most 20 GiB: at the limit a server refuses cleanly, on a full disk it hangs. */
function fileBytesDefault(folder: ServerFolder): number {
  const { bavail, bsize } = statfsSync(folder.store);
  const half = Math.floor((bavail * bsize) / 2 / MEBIBYTE) * MEBIBYTE;
  return Math.max(FILE_BYTES_LEAST, Math.min(half, FILE_BYTES_DEFAULT_MAX));
}
