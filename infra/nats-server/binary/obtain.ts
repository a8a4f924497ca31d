/**
 * Getting a nats-server from the package archive of this machine's distribution.
 *
 * Owns: which suite, when it is skipped, the work folder, checking and placing the binary; the command
 * `node dist/infra/nats-server/binary/obtain.js newest|floor|<suite>`.
 * Does not own: apt (`apt.ts`), reading its sources (`apt-sources.ts`), the cache's layout (`cache.ts`).
 *
 * O1. The system is not touched and no right of root is needed.
 * O2. One process at a time gets one; who waited for another finds what it got.
 * O3. A download that broke off leaves nothing behind that counts: it lives in a work folder, and the next one under
 *     the lock sweeps what the dead left.
 * O4. Nothing is placed that did not run here and say a version at or above the floor.
 */
import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { ConfigError, ExternalServiceError, InvalidArgumentError } from "../../../actors/errors.ts";
import { acquireLock } from "../exclusive-lock.ts";
import { makeFolder, readIfThere, reasonOf } from "../folder.ts";
import { downloadPackage, wholeKeyring } from "./apt.ts";
import {
  type OwnArchive,
  ownArchive,
  type PackageSource,
  parseListFile,
  parseOsRelease,
  parseSourcesFile,
  sourceEntry,
} from "./apt-sources.ts";
import {
  BINARY_NAME,
  cacheFolder,
  type Environment,
  listCache,
  placeInCache,
  readSuiteNote,
  writeSuiteNote,
} from "./cache.ts";
import { readServerVersion, SERVER_VARIABLE } from "./find.ts";
import {
  compareVersions,
  FLOOR_VERSION,
  formatVersion,
  isAtLeast,
  RECOMMENDED_VERSION,
  type ServerVersion,
} from "./version.ts";

export interface ObtainOptions {
  /** "newest": the distribution's newest suite. "floor": the machine's own suite. Else a suite by name. */
  readonly suite: "newest" | "floor" | (string & {});
  /** Default: this process's. */
  readonly environment?: Environment;
  /** One line for each thing that is done. Default: nobody is told. */
  readonly onProgress?: (line: string) => void;
  /** Where the machine describes itself. Default: `/etc`. */
  readonly systemFolder?: string;
}

export interface ObtainedServer {
  readonly path: string;
  readonly version: ServerVersion;
  /** It was there already, and nothing was asked of the archive. */
  readonly isFromCache: boolean;
}

const PACKAGE_NAME = "nats-server";
const BINARY_PLACES = ["usr/sbin", "usr/bin"];
const WORK_PREFIX = ".work-";
/** Another process's download may take this long before we give up waiting for it. */
const LOCK_WAIT_MS = 20 * 60_000;
const SUITE_NAME = /^[a-z][a-z0-9.-]{0,63}$/;

/**
 * A server of the suite, from the cache or from the archive.
 * Throws `invalid_argument` (no such suite name), `config` (this machine's sources cannot be used), `external_service`
 * (the archive gave none; `details.reason` says why). Every text ends with what to do instead.
 */
export async function obtainNatsServer(options: ObtainOptions): Promise<ObtainedServer> {
  const environment = options.environment ?? process.env;
  const tell = options.onProgress ?? (() => undefined);
  // Before the machine's sources are read: a machine without any may have a server in the cache all the same.
  const newest = options.suite === "newest" ? await cachedNewest(environment) : null;
  if (newest !== null) return told(newest, tell);
  const machine = readMachine(options.systemFolder ?? "/etc");
  const suite = suiteOf(options.suite, machine);
  const cached = await cachedOfSuite(suite, environment);
  if (cached !== null) return told(cached, tell);
  const root = cacheFolder(environment);
  makeCache(root);
  await using _lock = await acquireLock(join(root, "obtain.lock"), {
    purpose: `getting nats-server from ${suite}`,
    waitMs: LOCK_WAIT_MS,
  });
  // Whoever held the lock before us may have got it (O2).
  const meanwhile = await cachedOfSuite(suite, environment);
  if (meanwhile !== null) return told(meanwhile, tell);
  for (const name of readdirSync(root)) {
    if (name.startsWith(WORK_PREFIX)) rmSync(join(root, name), { recursive: true, force: true });
  }
  const work = join(root, `${WORK_PREFIX}${randomUUID()}`);
  mkdirSync(work, { mode: 0o700 });
  try {
    tell(`getting nats-server from suite ${suite} of this machine's package archive`);
    const server = await download({ environment, machine, suite, work });
    writeSuiteNote(environment, suite, server.version);
    tell(`nats-server ${formatVersion(server.version)} is in ${server.path}`);
    return { ...server, isFromCache: false };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function told(server: ObtainedServer, tell: (line: string) => void): ObtainedServer {
  tell(`nats-server ${formatVersion(server.version)} is already in ${server.path}`);
  return server;
}

function makeCache(root: string): void {
  try {
    makeFolder(root);
  } catch (error) {
    throw new ConfigError(
      `the cache folder ${root} cannot be made (${reasonOf(error)}). ${otherWays()}`,
      { details: { path: root }, cause: error },
    );
  }
}

interface Machine {
  readonly archive: OwnArchive;
  readonly system: NonNullable<ReturnType<typeof parseOsRelease>>;
}

function readMachine(systemFolder: string): Machine {
  const system = parseOsRelease(readIfThere(join(systemFolder, "os-release")) ?? "");
  if (system === null) {
    throw new ConfigError(
      `this machine is no Debian or Ubuntu, so Holdfast cannot get a nats-server by itself. ${otherWays()}`,
    );
  }
  const archive = ownArchive(readSources(join(systemFolder, "apt")), system);
  if (archive === null) {
    throw new ConfigError(
      `among this machine's package sources (${join(systemFolder, "apt")}) there is none of` +
        ` ${system.distribution.origin}'s own archive. ${otherWays()}`,
    );
  }
  return { archive, system };
}

function readSources(aptFolder: string): readonly PackageSource[] {
  const parts = join(aptFolder, "sources.list.d");
  const files = [
    join(aptFolder, "sources.list"),
    ...namesIn(parts).map((name) => join(parts, name)),
  ];
  return files.flatMap((path) => {
    if (path.endsWith(".sources")) return parseSourcesFile(readIfThere(path) ?? "");
    return path.endsWith(".list") ? parseListFile(readIfThere(path) ?? "") : [];
  });
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort();
  } catch (error) {
    if (reasonOf(error) === "ENOENT") return [];
    throw error;
  }
}

function suiteOf(asked: string, machine: Machine): string {
  if (asked === "newest") return machine.system.distribution.newestSuite;
  if (asked === "floor") return machine.archive.ownSuite;
  if (SUITE_NAME.test(asked)) return asked;
  throw new InvalidArgumentError(
    `a suite is "newest", "floor", or a name such as "sid"; found ${JSON.stringify(asked)}`,
  );
}

/** Any recommended server makes asking for the newest one needless. */
const cachedNewest = (environment: Environment): Promise<ObtainedServer | null> =>
  cachedWhere(environment, (version) => isAtLeast(version, RECOMMENDED_VERSION));

/** A suite is not asked again for what it gave before. */
async function cachedOfSuite(
  suite: string,
  environment: Environment,
): Promise<ObtainedServer | null> {
  const noted = readSuiteNote(environment, suite);
  if (noted === null) return null;
  return cachedWhere(environment, (version) => compareVersions(version, noted) === 0);
}

async function cachedWhere(
  environment: Environment,
  isWanted: (version: ServerVersion) => boolean,
): Promise<ObtainedServer | null> {
  for (const { path, version } of listCache(environment)) {
    if (!isWanted(version)) continue;
    const said = await readServerVersion(path);
    if (said.kind === "version" && compareVersions(said.version, version) === 0) {
      return { path, version, isFromCache: true };
    }
  }
  return null;
}

interface Download {
  readonly environment: Environment;
  readonly machine: Machine;
  readonly suite: string;
  readonly work: string;
}

async function download(of: Download): Promise<{ path: string; version: ServerVersion }> {
  const unpacked = await downloadWithKeys(of);
  for (const place of BINARY_PLACES) {
    const binary = join(unpacked, place, BINARY_NAME);
    const said = await readServerVersion(binary);
    if (said.kind === "failed") continue;
    if (!isAtLeast(said.version, FLOOR_VERSION)) {
      throw new ExternalServiceError(
        `suite ${of.suite} has nats-server ${formatVersion(said.version)}, which is below the oldest supported` +
          ` ${formatVersion(FLOOR_VERSION)}. ${otherWays()}`,
        { details: { reason: "not_there" }, retry: "never" },
      );
    }
    const discarded = join(of.work, "discarded");
    return {
      path: placeInCache({ environment: of.environment, binary, version: said.version, discarded }),
      version: said.version,
    };
  }
  throw new ExternalServiceError(
    `the package of suite ${of.suite} has no nats-server that runs on this machine. ${otherWays()}`,
    { details: { reason: "other" }, retry: "never" },
  );
}

/**
 * Downloads with the keys the machine's entry names. Where they do not vouch for this suite (an entry may name the keys
 * of its own suite alone), once more with the distribution's whole keyring, if it is installed. Never without keys.
 */
async function downloadWithKeys(of: Download): Promise<string> {
  const { distribution } = of.machine.system;
  const attempt = (name: string, signedBy: string | undefined) => {
    const folder = join(of.work, name);
    mkdirSync(folder);
    return downloadPackage({
      folder,
      sources: sourceEntry({
        archive: of.machine.archive,
        suite: of.suite,
        component: distribution.component,
        signedBy,
      }),
      origin: distribution.origin,
      packageName: PACKAGE_NAME,
      environment: of.environment,
    });
  };
  try {
    return await attempt("apt", undefined);
  } catch (error) {
    const keyring = wholeKeyring(distribution.keyringName);
    const isOwn = of.machine.archive.source.signedBy === keyring;
    if (keyring === null || isOwn || !isSignatureFault(error)) throw withOtherWays(error);
    try {
      return await attempt("apt-whole-keyring", keyring);
    } catch (second) {
      throw withOtherWays(second);
    }
  }
}

const isSignatureFault = (error: unknown): boolean =>
  error instanceof ExternalServiceError && error.details.reason === "signature";

const otherWays = (): string =>
  `Install nats-server ${formatVersion(RECOMMENDED_VERSION)} or newer by hand (on Debian` +
  ` \`apt install nats-server\`), or set ${SERVER_VARIABLE} to one`;

function withOtherWays(error: unknown): unknown {
  if (!(error instanceof ExternalServiceError)) return error;
  return new ExternalServiceError(`no nats-server could be got: ${error.message}. ${otherWays()}`, {
    details: error.details,
    retry: error.retry,
    cause: error,
  });
}

/** The command. Exit 0: there is one. Exit 1: there is none, and why. */
async function main(words: readonly string[]): Promise<void> {
  const say = (line: string) => process.stdout.write(`${line}\n`);
  try {
    await obtainNatsServer({ suite: words[0] ?? "newest", onProgress: say });
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  }
}

const started = process.argv[1];
if (started !== undefined && realpathSync(started) === fileURLToPath(import.meta.url)) {
  await main(process.argv.slice(2));
}
