/**
 * Where a log to be checked is: a data folder, a server, a file.
 *
 * Owns: finding it, and starting a folder's server for as long as it is read. Does not own: the check (log-check.ts), launching
 * (infra/nats-server), which of the three was asked for.
 *
 * S1. Nothing is fenced and nothing is written: a daemon that lives does not notice.
 * S2. A folder's server that runs is read from and left as it is. One that does not is started only when nobody owns the
 *     folder, and stopped again; meanwhile the folder is ours, so that a daemon that starts is refused instead of disturbed.
 * S3. The server that is started is the one that the folder's next daemon would start: an older one might not read its store.
 */
import { existsSync } from "node:fs";
import {
  ForbiddenError,
  isHoldfastError,
  NotFoundError,
  OwnershipError,
} from "../../actors/errors.ts";
import type { Durability } from "../../actors/journal/codec.ts";
import { type DataFolder, dataFolder, findDaemon, ownerOf } from "../daemon/data-folder.ts";
import { ensureCredentials, type Login } from "../nats-server/credentials.ts";
import { acquireLock, type ExclusiveLock } from "../nats-server/exclusive-lock.ts";
import { readIfThere, reasonOf, type ServerFolder, serverFolder } from "../nats-server/folder.ts";
import { launchNatsServer } from "../nats-server/launch.ts";
import { readRecord } from "../nats-server/record.ts";
import { urlOf } from "../nats-server/start.ts";
import { isRunning } from "../processes/identity.ts";
import { openLogFile } from "./log-file.ts";
import { openStoredStream, type ReadableLog } from "./stored-stream.ts";

const NAMESPACE_DEFAULT = "default";

export interface LogSource extends AsyncDisposable {
  readonly log: ReadableLog;
  /** For people: a file, or a stream and where it is. */
  readonly what: string;
  /** The partition's subject prefix, with its last dot; undefined: the log has to show it. */
  readonly prefix: string | undefined;
}

/** Errors: NotFoundError, InvalidArgumentError. */
export async function openFileSource(path: string): Promise<LogSource> {
  const log = await openLogFile(path);
  return sourceOf(log, `the file ${path}`, undefined, []);
}

export interface ServerSource {
  readonly url: string;
  readonly login: Login;
  /** Default: "default". */
  readonly namespace?: string | undefined;
}

/** Errors: JournalError, NotFoundError, InvalidArgumentError. */
export async function openServerSource(
  { url, login, namespace = NAMESPACE_DEFAULT }: ServerSource,
  closes: readonly (() => Promise<unknown>)[] = [],
): Promise<LogSource> {
  const { log, stream, prefix } = await openStoredStream({ url, ...login }, namespace);
  return sourceOf(log, `${stream} at ${url}`, prefix, closes);
}

export interface FolderSource {
  readonly dataDir: string;
  /** Default: that of the daemon that runs, else "default". */
  readonly namespace?: string | undefined;
  /** For a daemon that uses an external server. */
  readonly login?: Login | undefined;
  /** One sentence each, for people. */
  readonly onProgress: (line: string) => void;
}

/**
 * Errors: NotFoundError (no log there), ForbiddenError (another user's folder), OwnershipError (its daemon comes up or goes down,
 * and its server does not run), JournalError, and those of `launchNatsServer`.
 */
export async function openFolderSource(options: FolderSource): Promise<LogSource> {
  const { login, namespace } = options;
  const folder = dataFolder(options.dataDir);
  const daemon = findDaemon(folder);
  if (daemon.kind === "found" && daemon.isAlive) {
    const { url, isEmbedded, namespace: own } = daemon.record;
    const address = isEmbedded ? daemonLogin(serverFolder(folder.root)) : (login ?? NO_LOGIN);
    return openServerSource({ url, login: address, namespace: namespace ?? own });
  }
  const server = serverFolder(folder.root);
  if (!existsSync(server.store)) throw noLog(folder);
  const running = runningUrl(server);
  if (running !== null) {
    return openServerSource({ url: running, login: daemonLogin(server), namespace });
  }
  return openStopped(folder, server, options);
}

const NO_LOGIN: Login = { inboxPrefix: "_INBOX" };

/** S2, S3. */
async function openStopped(
  folder: DataFolder,
  server: ServerFolder,
  { namespace, onProgress }: FolderSource,
): Promise<LogSource> {
  const lock = await lockOf(folder);
  try {
    onProgress("starting the folder's nats-server");
    const launched = await launchNatsServer({
      dataDir: folder.root,
      durability: durabilityOf(server),
      onProgress,
    });
    try {
      return await openServerSource(
        { url: launched.url, login: launched.credentials.daemon, namespace },
        [() => launched.stop(), async () => lock.release()],
      );
    } catch (error) {
      await launched.stop();
      throw error;
    }
  } catch (error) {
    lock.release();
    throw error;
  }
}

async function lockOf(folder: DataFolder): Promise<ExclusiveLock> {
  try {
    return await acquireLock(folder.lock, { purpose: "a check of its log", waitMs: 0 });
  } catch (error) {
    if (!isHoldfastError(error) || error.code !== "ownership") throw error;
    const owner = ownerOf(folder);
    const who =
      owner.kind === "alive" ? `process ${owner.pid} (${owner.purpose})` : "another process";
    throw new OwnershipError(
      `The data folder ${folder.root} belongs to ${who}, and its server does not run: its log can be read when the daemon is up, or has stopped.`,
      { cause: error, details: { folder: folder.root }, retry: "backoff" },
    );
  }
}

/** What the folder's last server was configured for; so its next one is chosen alike. */
function durabilityOf(server: ServerFolder): Durability {
  const configuration = readIfThere(server.configuration) ?? "";
  return /^\s*sync_interval:\s*always/m.test(configuration) ? "fsync" : "process";
}

/** Of a server that outlives its daemon, as one does after a kill. */
function runningUrl(server: ServerFolder): string | null {
  const record = readRecord(server);
  const running = record?.running;
  if (record === null || running === null || running === undefined) return null;
  return running.wasReady && isRunning(running.process) ? urlOf(record.port) : null;
}

function daemonLogin(server: ServerFolder): Login {
  try {
    // Only looked at when it is there: making new passwords is the daemon's business.
    if (readIfThere(server.credentials) !== null) return ensureCredentials(server).roles.daemon;
  } catch (error) {
    if (reasonOf(error) !== "EACCES") throw error;
    throw new ForbiddenError(
      `The log belongs to another user: ${server.credentials} cannot be read.`,
      { cause: error, details: { path: server.credentials } },
    );
  }
  throw new NotFoundError(
    `The passwords of the server in ${server.root} are missing (${server.credentials}).`,
    { details: { path: server.credentials } },
  );
}

const noLog = ({ root }: DataFolder): NotFoundError =>
  new NotFoundError(
    `There is no log in ${root}: name another folder with --data, or a server with --nats where the daemon used one.`,
    { details: { folder: root } },
  );

function sourceOf(
  log: ReadableLog,
  what: string,
  prefix: string | undefined,
  closes: readonly (() => Promise<unknown>)[],
): LogSource {
  return {
    log,
    what,
    prefix,
    [Symbol.asyncDispose]: async () => {
      await log.close();
      for (const close of closes) await close();
    },
  };
}
