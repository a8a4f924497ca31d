/**
 * A private apt: downloads one package into a folder of ours.
 *
 * Owns: the configuration that keeps apt away from the system, running it, translating its complaints.
 * Does not own: which archive (`apt-sources.ts`), what becomes of the package (`obtain.ts`).
 *
 * U1. Nothing outside the given folder is written: lists, cache, state, status and source list are our own, and the
 *     machine's hooks, which clean up or notify, are cleared. No right of root is needed.
 * U2. What the machine says about the way out (proxies, time limits, keys, passwords of mirrors) is kept.
 * U3. Signatures are always checked, whatever the machine's configuration allows.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { ExternalServiceError } from "../../../actors/errors.ts";
import { reasonOf } from "../folder.ts";
import type { Environment } from "./cache.ts";

export interface AptOptions {
  /** An empty folder that belongs to this download. */
  readonly folder: string;
  /** The text of our source list. */
  readonly sources: string;
  /** What the archive must call itself. */
  readonly origin: string;
  readonly packageName: string;
  readonly environment: Environment;
}

/** A package list of the size of Debian's takes two seconds; a slow line gets this much. */
const UPDATE_TIMEOUT_MS = 10 * 60_000;
const DOWNLOAD_TIMEOUT_MS = 10 * 60_000;
const UNPACK_TIMEOUT_MS = 60_000;
const OUTPUT_BYTES_MAX = 4 * 1024 * 1024;
/** How much of apt's complaint stands in an error. */
const COMPLAINT_LENGTH_MAX = 600;

const run = promisify(execFile);

/**
 * Downloads the package and unpacks it; returns the folder it was unpacked in.
 * Throws `external_service`; `details.reason` is a key of MEANING below.
 */
export async function downloadPackage(options: AptOptions): Promise<string> {
  const configuration = writePrivateApt(options);
  await apt(options, configuration, ["update"], UPDATE_TIMEOUT_MS);
  checkOrigin(options);
  await apt(options, configuration, ["download", options.packageName], DOWNLOAD_TIMEOUT_MS);
  const archive = readdirSync(options.folder).find((name) => name.endsWith(".deb"));
  if (archive === undefined) {
    throw aptError("other", "apt-get download ended without a package", undefined);
  }
  const unpacked = join(options.folder, "unpacked");
  await command(options, "dpkg-deb", ["-x", archive, unpacked], UNPACK_TIMEOUT_MS);
  return unpacked;
}

function writePrivateApt(options: AptOptions): string {
  const { folder } = options;
  for (const path of ["lists/partial", "cache/archives/partial", "state", "empty"]) {
    mkdirSync(join(folder, path), { recursive: true });
  }
  writeFileSync(join(folder, "private.sources"), options.sources);
  writeFileSync(join(folder, "state", "status"), "");
  const configuration = join(folder, "apt.conf");
  writeFileSync(configuration, privateConfiguration(folder));
  return configuration;
}

/** Read after the machine's own configuration, so that this has the last word. */
const privateConfiguration = (folder: string): string => `\
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
Dir::Etc::SourceList "${join(folder, "private.sources")}";
Dir::Etc::SourceParts "${join(folder, "empty")}";
Dir::Etc::Preferences "${join(folder, "empty", "none")}";
Dir::Etc::PreferencesParts "${join(folder, "empty")}";
Dir::State "${join(folder, "state")}";
Dir::State::Lists "${join(folder, "lists")}";
Dir::State::Status "${join(folder, "state", "status")}";
Dir::Cache "${join(folder, "cache")}";
Dir::Log "${join(folder, "state")}";
APT::Default-Release "";
APT::Update::Error-Mode "any";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
// The folder is for its owner alone, so apt's own user could not write into it: as root, stay root. Nothing else runs.
APT::Sandbox::User "root";
`;

/** The archive's own signed word on who it is. A mirror list or a third party may stand behind a familiar address. */
function checkOrigin(options: AptOptions): void {
  const lists = join(options.folder, "lists");
  const releases = readdirSync(lists).filter((name) => /(In)?Release$/.test(name));
  const origins = releases.map((name) => readOrigin(join(lists, name)));
  if (origins.length > 0 && origins.every((origin) => origin === options.origin)) return;
  throw aptError(
    "origin",
    `the archive calls itself ${JSON.stringify(origins.join(", "))}, not ${options.origin}`,
    undefined,
  );
}

const readOrigin = (path: string): string =>
  /^Origin:\s*(.*)$/m.exec(readFileSync(path, "utf8"))?.[1]?.trim() ?? "";

async function apt(
  options: AptOptions,
  configuration: string,
  words: readonly string[],
  timeoutMs: number,
): Promise<void> {
  await command(options, "apt-get", ["-c", configuration, "-q", ...words], timeoutMs);
}

async function command(
  options: AptOptions,
  name: string,
  words: readonly string[],
  timeoutMs: number,
): Promise<void> {
  try {
    await run(name, words, {
      cwd: options.folder,
      timeout: timeoutMs,
      maxBuffer: OUTPUT_BYTES_MAX,
      // Its complaints are read below, so they must be in the one language that is read.
      env: { ...options.environment, LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive" },
    });
  } catch (error) {
    throw translate(
      error,
      `${name} ${words.at(-1) === options.packageName ? "download" : words.at(-1)}`,
    );
  }
}

/** Why apt gave nothing. */
type AptFailure =
  | "no_apt"
  | "signature"
  | "not_there"
  | "offline"
  | "timeout"
  | "disk"
  | "origin"
  | "other";

/** From the surest sign to the vaguest: a missing key also shows as a missing release file. */
const SIGNS: readonly (readonly [AptFailure, RegExp])[] = [
  ["disk", /No space left on device|not enough free space/i],
  ["signature", /NO_PUBKEY|is not signed|GPG error|EXPKEYSIG|KEYEXPIRED|BADSIG|Missing key/i],
  [
    "offline",
    /Could not resolve|Temporary failure|Could not connect|Cannot initiate the connection/i,
  ],
  [
    "offline",
    /Connection (refused|timed out|failed|reset)|Network is unreachable|Unable to connect/i,
  ],
  [
    "not_there",
    /404|does not have a Release file|Unable to locate package|no installation candidate/i,
  ],
];

/** What apt said, in one of our words. */
export function classifyComplaint(complaint: string): AptFailure {
  return SIGNS.find(([, sign]) => sign.test(complaint))?.[0] ?? "other";
}

const MEANING: Readonly<Record<AptFailure, string>> = {
  no_apt: "this machine has no apt-get and dpkg-deb",
  signature:
    "the archive's signature could not be checked with this machine's keys: bring its keyring up to date" +
    " (package debian-archive-keyring or ubuntu-keyring)",
  not_there: "the archive does not have it",
  offline: "the package archive could not be reached",
  timeout: "the package archive was too slow",
  disk: "the disk is full",
  origin: "the package source is not the distribution's own",
  other: "apt failed",
};

/** Trying again may help where the world, not the machine, was at fault. */
const TRANSIENT: ReadonlySet<AptFailure> = new Set(["offline", "timeout", "other"]);

function translate(error: unknown, what: string): ExternalServiceError {
  if (reasonOf(error) === "ENOENT") return aptError("no_apt", what, error);
  const killed = error instanceof Error && "killed" in error && error.killed === true;
  if (killed) return aptError("timeout", what, error);
  const said = error instanceof Error && "stderr" in error ? String(error.stderr) : String(error);
  return aptError(
    classifyComplaint(said),
    `${what}: ${said.trim().slice(0, COMPLAINT_LENGTH_MAX)}`,
    error,
  );
}

function aptError(reason: AptFailure, what: string, cause: unknown): ExternalServiceError {
  return new ExternalServiceError(`${MEANING[reason]} (${what})`, {
    details: { reason, service: "apt" },
    retry: TRANSIENT.has(reason) ? "backoff" : "never",
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Debian's whole keyring, for an entry that names the keys of its own suite only; null when it is not there. */
export function wholeKeyring(keyringName: string): string | null {
  const path = `/usr/share/keyrings/${keyringName}-keyring.gpg`;
  return existsSync(path) ? path : null;
}
