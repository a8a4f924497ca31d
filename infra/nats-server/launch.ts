/**
 * The server launcher.
 *
 * Owns: which server a data folder gets: the one that runs already, or a new one; and stopping it last.
 * Does not own: finding a binary (`provide.ts`), the configuration (`configuration.ts`), coming up (`start.ts`).
 *
 * S1. At most one server runs on a data folder. Who launches holds the folder's lock; a server that runs is found by its
 *     record, or, when a daemon died before it wrote one, by the tag in its environment.
 * S2. A server is adopted only if it is provably ours (identity), answers with our password, and runs with exactly the
 *     configuration that is wanted. One that is ours and differs is stopped and started anew.
 * S3. Nothing is ever signalled whose identity does not match to the last part.
 * S4. A server that another living daemon uses is neither stopped nor started anew.
 * S5. The next server of a folder listens on the same port if it is free, so that clients find it again.
 * S6. Every wait has a bound, and an error at it that holds the server's last words.
 */
import { randomUUID } from "node:crypto";
import { OwnershipError, SystemError } from "../../actors/errors.ts";
import { isRunning, type ProcessIdentity, readProcessIdentity } from "../processes/identity.ts";
import { askServer } from "./answer.ts";
import {
  capabilitiesOf,
  formatVersion,
  RECOMMENDED_VERSION,
  type ServerVersion,
} from "./binary/version.ts";
import { ensureCredentials, type FolderSecrets } from "./credentials.ts";
import { acquireLock } from "./exclusive-lock.ts";
import { prepareFolder, type ServerFolder } from "./folder.ts";
import {
  checkOptions,
  chooseBinary,
  type LaunchOptions,
  type LaunchPlan,
  planLaunch,
} from "./plan.ts";
import {
  type Holder,
  livingHolders,
  type RunningServer,
  readRecord,
  type ServerRecord,
  writeRecord,
} from "./record.ts";
import type { NatsServer, StopOutcome } from "./server.ts";
import { endProcess, findByTag } from "./server-process.ts";
import { KILL_WAIT_MS, startServer, urlOf } from "./start.ts";

const READY_TIMEOUT_MS = 60_000;
const TERM_WAIT_MS = 10_000;
/** How long a server may take to answer before it is taken for hung and not adopted. */
const ADOPT_TIMEOUT_MS = 5_000;
/** Another daemon's start or stop of this folder's server may take this long. */
const LOCK_WAIT_MS = 90_000;

/** Everything one launch knows, once the folder is locked. */
interface Launch {
  readonly options: LaunchOptions;
  readonly folder: ServerFolder;
  readonly secrets: FolderSecrets;
  readonly record: ServerRecord | null;
  readonly plan: LaunchPlan;
  readonly self: Holder;
  /** Other daemons that use the folder's server and live. */
  readonly others: readonly Holder[];
}

/**
 * The data folder's server, adopted or started, ready and asked. Call it again when the server died: the next one comes
 * up on the same store and, as a rule, the same port.
 *
 * Throws `invalid_argument` (an option that cannot be), `config` (no usable binary, a folder that cannot be written, a
 * fixed port that is taken), `ownership` (another living daemon uses it with another configuration, or holds the lock
 * for too long), `external_service` (it did not come up).
 */
export async function launchNatsServer(options: LaunchOptions): Promise<NatsServer> {
  checkOptions(options);
  const folder = prepareFolder(options.dataDir);
  const binary = await chooseBinary(options, folder);
  await using _lock = await acquireLock(folder.lock, {
    purpose: "starting the folder's nats-server",
    waitMs: LOCK_WAIT_MS,
  });
  const secrets = ensureCredentials(folder);
  const record = readRecord(folder);
  const plan = planLaunch(options, { binary, folder, secrets, record });
  const self = newHolder();
  const launch = { options, folder, secrets, record, plan, self, others: livingHolders(record) };
  const running = runningProcesses(record, secrets);
  const adopted = await adopt(launch, running);
  if (adopted !== null) return serverOf(launch, { ...adopted, isAdopted: true });
  await endRunning(launch, running);
  return serverOf(launch, { ...(await start(launch)), isAdopted: false });
}

function newHolder(): Holder {
  const identity = readProcessIdentity(process.pid);
  if (identity === null) {
    throw new SystemError("this process cannot find itself in /proc: Linux with /proc is needed");
  }
  return { nonce: randomUUID(), process: identity };
}

/** The folder's servers that run: at most one (S1), unless something went wrong that this repairs. */
function runningProcesses(
  record: ServerRecord | null,
  secrets: FolderSecrets,
): readonly ProcessIdentity[] {
  const recorded = record?.running?.process;
  const tagged = findByTag(secrets.tag);
  if (recorded === undefined || !isRunning(recorded)) return tagged;
  return [recorded, ...tagged.filter(({ pid }) => pid !== recorded.pid)];
}

interface RunningAt {
  readonly identity: ProcessIdentity;
  readonly port: number;
}

/** The one that runs, if it is the one that is wanted (S2); null when there is none, or another. */
async function adopt(
  launch: Launch,
  running: readonly ProcessIdentity[],
): Promise<RunningAt | null> {
  const { options, record, plan, secrets, folder, self, others } = launch;
  const [first, ...more] = running;
  if (first === undefined || more.length > 0) return null;
  if (record === null || record.running === null || !isRunning(record.running.process)) return null;
  const isWanted =
    record.running.wasReady &&
    record.running.fingerprint === plan.fingerprint &&
    record.running.binary === plan.binary.path &&
    record.running.version === formatVersion(plan.binary.version) &&
    (options.port === undefined || options.port === record.port);
  if (!isWanted) return null;
  const answer = await askServer({
    url: urlOf(record.port),
    login: secrets.roles.daemon,
    timeoutMs: ADOPT_TIMEOUT_MS,
  });
  if (answer.kind !== "ready") return null;
  writeRecord(folder, { ...record, holders: [...others, self] });
  return { identity: first, port: record.port };
}

/** Ends what runs and is not wanted. It is ours by its identity or its tag; S4 is the one thing in the way. */
async function endRunning(launch: Launch, running: readonly ProcessIdentity[]): Promise<void> {
  if (running.length === 0) return;
  const { others, folder, options } = launch;
  if (others.length > 0) {
    const pids = others.map((holder) => holder.process.pid);
    throw new OwnershipError(
      `the nats-server of ${folder.root} is used by ${pids.join(", ")} and runs with another configuration, or does` +
        " not answer: stop that daemon first, or start this one with the same durability, server and limits",
      { details: { folder: folder.root, usedBy: pids } },
    );
  }
  for (const identity of running) await endProcess(identity, stopBounds(options));
}

async function start(launch: Launch): Promise<RunningAt> {
  const { options, folder, secrets, plan, self, others } = launch;
  const { fileBytesMax } = plan.settings;
  const runningAt = (process: ProcessIdentity, wasReady: boolean): RunningServer => ({
    process,
    version: formatVersion(plan.binary.version),
    binary: plan.binary.path,
    fingerprint: plan.fingerprint,
    wasReady,
  });
  let lastPort = launch.record?.port;
  const write = (running: RunningServer | null, holders: readonly Holder[]) => {
    if (lastPort === undefined) return;
    writeRecord(folder, { port: lastPort, fileBytesMax, running, holders: [...holders] });
  };
  try {
    const started = await startServer({
      plan,
      folder,
      secrets,
      isPortFixed: options.port !== undefined,
      readyTimeoutMs: options.readyTimeoutMs ?? READY_TIMEOUT_MS,
      termWaitMs: options.termWaitMs ?? TERM_WAIT_MS,
      onProcess: (identity, port) => {
        lastPort = port;
        write(runningAt(identity, false), [...others, self]);
      },
    });
    write(runningAt(started.identity, true), [...others, self]);
    return started;
  } catch (error) {
    write(null, others);
    throw error;
  }
}

const stopBounds = (options: LaunchOptions) => ({
  termWaitMs: options.termWaitMs ?? TERM_WAIT_MS,
  killWaitMs: KILL_WAIT_MS,
});

function serverOf(launch: Launch, at: RunningAt & { readonly isAdopted: boolean }): NatsServer {
  const { plan, secrets, options } = launch;
  let stopping: Promise<StopOutcome> | null = null;
  const stop = () => {
    stopping ??= giveUp(launch, at.identity);
    return stopping;
  };
  return {
    url: urlOf(at.port),
    version: plan.binary.version,
    pid: at.identity.pid,
    durability: options.durability ?? "fsync",
    store: { folder: launch.folder.store, bytesMax: plan.settings.fileBytesMax },
    credentials: secrets.roles,
    isAdopted: at.isAdopted,
    notices: noticesOf(plan.binary.version),
    isRunning: () => isRunning(at.identity),
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop();
    },
  };
}

function noticesOf(version: ServerVersion): readonly string[] {
  if (capabilitiesOf(version).isRecommended) return [];
  return [
    `nats-server ${formatVersion(version)} works, ${formatVersion(RECOMMENDED_VERSION)} or newer is recommended`,
  ];
}

/** Takes this holder out of the record and ends the server when that was the last one (S3, S4). */
async function giveUp(launch: Launch, identity: ProcessIdentity): Promise<StopOutcome> {
  const { folder, self, options } = launch;
  await using _lock = await acquireLock(folder.lock, {
    purpose: "stopping the folder's nats-server",
    waitMs: LOCK_WAIT_MS,
  });
  const record = readRecord(folder);
  const others = livingHolders(record).filter((holder) => holder.nonce !== self.nonce);
  if (others.length > 0) {
    if (record !== null) writeRecord(folder, { ...record, holders: [...others] });
    return { kind: "left_running", usedBy: others.map((holder) => holder.process.pid) };
  }
  const outcome = await endProcess(identity, stopBounds(options));
  if (record !== null) writeRecord(folder, { ...record, running: null, holders: [] });
  return outcome;
}
