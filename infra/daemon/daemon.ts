/**
 * The daemon: a runtime on its server, with its API, in a data folder of its own.
 *
 * Owns: the order of coming up and going down, and what ends a daemon. Does not own: what each part does; signals and exit
 * codes, which are the command line's (infra/cli).
 *
 * D1. Up: job modules, data folder, server, lease, log, runtime, API, `daemon.json`. A failure on the way takes down what
 *     stands, in reverse, and is the error of the start.
 * D2. Down: `daemon.json`, API, runtime, log, lease, server, data folder. Each step has a bound; a step that is not done by then is
 *     told in the log, and the next one begins.
 * D3. A stop detaches: what is queued or waiting comes back at the next start; code that runs gets `detachWaitMs` to end, and
 *     what still runs then is interrupted, as its class says (CAN-7).
 * D4. A daemon ends by itself when it is fenced, when the journal is over, or when its server is gone for good. It never goes
 *     on without one of its parts. Fenced, it leaves its server running: the new owner works on it. What that one has taken
 *     over (lease, data folder, `daemon.json`) is no longer its own, and is left alone.
 */
import { hostname } from "node:os";
import type { JobDefinition } from "../../actors/attempt/definition.ts";
import { type HoldfastError, IllegalStateError, SystemError } from "../../actors/errors.ts";
import type { Durability } from "../../actors/journal/codec.ts";
import { Redactor, SECRET_LENGTH_MIN } from "../../actors/journal/redaction.ts";
import { Runtime } from "../../actors/runtime/runtime.ts";
import type { Notice } from "../../actors/runtime/world.ts";
import { startApi } from "../api/service.ts";
import { checkTtl } from "../jetstream/leases/bucket.ts";
import { openLeaseStore } from "../jetstream/leases/lease-store.ts";
import { type JetStreamLog, openJetStreamLog } from "../jetstream/log.ts";
import { partitionNames } from "../jetstream/names.ts";
import { openRecordStore } from "../jetstream/records/record-store.ts";
import { type DaemonLog, openLog } from "../logging/logger.ts";
import { errorFields, logNotice } from "../logging/notices.ts";
import type { ExclusiveLock } from "../nats-server/exclusive-lock.ts";
import { type ProcessIdentity, readProcessIdentity } from "../processes/identity.ts";
import { jobAmbient } from "../system/ambient.ts";
import { systemClock } from "../system/clock.ts";
import { systemIds } from "../system/ids.ts";
import {
  type DataFolder,
  dataFolder,
  removeDaemonRecord,
  takeDataFolder,
  writeDaemonRecord,
} from "./data-folder.ts";
import { loadJobModules } from "./job-modules.ts";
import { LEASE_TTL_MS_DEFAULT, PartitionLease } from "./partition-lease.ts";
import { RecordKeeper } from "./records.ts";
import { storeBounds } from "./room.ts";
import { DaemonServer, type ExternalServer } from "./server.ts";
import { STEP_WAIT_MS_DEFAULT, Teardown } from "./teardown.ts";
import { holdfastVersion } from "./version.ts";

export const NAMESPACE_DEFAULT = "default";
/** How long a stop waits for code that runs, ms. */
export const DETACH_WAIT_MS_DEFAULT = 5_000;

/** The one partition, and its first generation. */
const PARTITION = { partition: 0, generation: 1 } as const;
/** A server ends after its clients, and is killed when it does not: the launcher's own bounds together, ms. */
const SERVER_STOP_WAIT_MS = 30_000;

export interface DaemonOptions {
  readonly dataDir: string;
  /** Letters, digits, `_` and `-`; 1 … 64 of them. Default: "default". */
  readonly namespace?: string;
  /** Default: "fsync", which needs a server ≥ 2.12. */
  readonly durability?: Durability;
  /** Paths of job modules. */
  readonly jobs: readonly string[];
  /** Definitions that the host has already: of a service that embeds the runtime. */
  readonly definitions?: readonly JobDefinition[];
  /** Default: an embedded server in the data folder. */
  readonly nats?: ExternalServer | undefined;
  /** Default: JSON lines on stderr, from level "info". */
  readonly log?: DaemonLog;
  /** D3. Default: 5 000 ms. */
  readonly detachWaitMs?: number;
  /**
   * Takes data folder and partition at once from whoever has them, alive or not. A former owner that lives is fenced, and ends
   * by itself. Default: false, which refuses where one lives.
   */
  readonly takeOver?: boolean;
  /**
   * How long the lease of the partition lives unless it is renewed, in ms: after a crash on another machine a starter waits as
   * long. A whole number, 500 … 600 000. Default: 10 000.
   */
  readonly leaseTtlMs?: number;
}

/** Why a daemon is over. */
export type DaemonEnd =
  | { readonly kind: "stopped" }
  /** By itself (D4). */
  | { readonly kind: "failed"; readonly error: HoldfastError };

export interface Daemon extends AsyncDisposable {
  readonly url: string;
  readonly namespace: string;
  readonly dataDir: string;
  readonly durability: Durability;
  readonly server: { version: string; isEmbedded: boolean; pid: number | null };
  readonly runtime: Runtime;
  /** Settles when everything is down. Never rejects. */
  readonly ended: Promise<DaemonEnd>;
  /** Goes down in order (D2, D3). Idempotent. */
  stop(): Promise<DaemonEnd>;
}

/**
 * Brings a daemon up. Resolves when it answers.
 * Errors: ConfigError (job modules, folder, server), InvalidArgumentError (an impossible namespace or lease), OwnershipError (a
 * living daemon has the folder or the partition), ExternalServiceError (the server), JournalError, FencedError.
 */
export async function startDaemon(options: DaemonOptions): Promise<Daemon> {
  // What is wrong with these does not get better later: they are looked at before anything is taken (J1).
  partitionNames({ namespace: options.namespace ?? NAMESPACE_DEFAULT, ...PARTITION });
  checkTtl(options.leaseTtlMs ?? LEASE_TTL_MS_DEFAULT);
  const definitions = [...(options.definitions ?? []), ...(await loadJobModules(options.jobs))];
  const daemon = new RunningDaemon(options, definitions);
  await daemon.start();
  return daemon;
}

class RunningDaemon implements Daemon {
  readonly namespace: string;
  readonly durability: Durability;
  readonly ended: Promise<DaemonEnd>;
  readonly #options: DaemonOptions;
  readonly #definitions: readonly JobDefinition[];
  readonly #log: DaemonLog;
  readonly #folder: DataFolder;
  readonly #teardown = new Teardown();
  readonly #redactor = new Redactor();
  readonly #secrets = new Set<string>();
  readonly #startedAt = Date.now();
  readonly #process = ownIdentity();
  readonly #owner = `${hostname()}:${process.pid}`;
  #settleEnded: (end: DaemonEnd) => void = () => {};
  #server: DaemonServer | null = null;
  #runtime: Runtime | null = null;
  /** Why it is over by itself, or null. */
  #failure: HoldfastError | null = null;
  #failStart: ((error: HoldfastError) => void) | null = null;
  #stopping: Promise<DaemonEnd> | null = null;

  constructor(options: DaemonOptions, definitions: readonly JobDefinition[]) {
    const { namespace = NAMESPACE_DEFAULT, durability = "fsync", log = openLog() } = options;
    this.#options = options;
    this.#definitions = definitions;
    this.#log = log;
    this.#folder = dataFolder(options.dataDir);
    this.namespace = namespace;
    this.durability = durability;
    this.ended = new Promise((resolve) => {
      this.#settleEnded = resolve;
    });
  }

  get dataDir(): string {
    return this.#folder.root;
  }

  get url(): string {
    return this.#opened(this.#server).current.url;
  }

  get server(): DaemonServer["facts"] {
    return this.#opened(this.#server).facts;
  }

  get runtime(): Runtime {
    return this.#opened(this.#runtime);
  }

  /** Rejects with what kept it from coming up, when everything that stood is down again (D1). */
  async start(): Promise<void> {
    const failed = new Promise<never>((_resolve, reject) => {
      this.#failStart = reject;
    });
    try {
      await Promise.race([this.#comeUp(), failed]);
    } catch (error) {
      await this.#takeDown();
      throw error;
    } finally {
      this.#failStart = null;
    }
    this.#log.logger.info(this.#facts(), "the daemon is up");
  }

  async #comeUp(): Promise<void> {
    const { takeOver: isTakeOver = false } = this.#options;
    const lock = await takeDataFolder(this.#folder, { isTakeOver });
    this.#teardown.add({ what: "the data folder", close: () => lock.release() });
    const server = await this.#openServer();
    await this.#takeLease(server, isTakeOver);
    const log = await this.#openLog(server);
    const runtime = await this.#startRuntime(server, log);
    await this.#startApi(server, runtime, log);
    await this.#keepRecords(server, runtime);
    this.#publish(server, lock);
  }

  async #openServer(): Promise<DaemonServer> {
    const { logger } = this.#log;
    const server = await DaemonServer.open({
      dataDir: this.#folder.root,
      durability: this.durability,
      nats: this.#options.nats,
      onProgress: (line) => logger.info(line),
      onRestarted: ({ pid, url }) => logger.warn({ url, serverPid: pid }, "nats-server runs again"),
      onLost: (error) => this.#fail(error),
    });
    this.#server = server;
    this.#teardown.add({
      what: "the server",
      waitMs: SERVER_STOP_WAIT_MS,
      // Who fenced us works on this very server.
      close: () => (this.#failure?.code === "fenced" ? server.leave() : server.stop()),
    });
    this.#keepSecret(Object.values(server.current.credentials).map(({ password }) => password));
    for (const notice of server.current.notices) logger.warn(notice);
    const { url, isAdopted } = server.current;
    logger.info({ url, isAdopted, server: server.facts }, "the server runs");
    return server;
  }

  #keepSecret(passwords: readonly (string | undefined)[]): void {
    for (const password of passwords) {
      if (password === undefined || password.length < SECRET_LENGTH_MIN) continue;
      this.#log.register(password);
      this.#redactor.register(password);
      this.#secrets.add(password);
    }
  }

  async #takeLease(server: DaemonServer, isTakeOver: boolean): Promise<void> {
    const { namespace } = this;
    const { leaseTtlMs: ttlMs = LEASE_TTL_MS_DEFAULT } = this.#options;
    const { url, credentials } = server.current;
    const address = { url, ...credentials.daemon, namespace, ...PARTITION };
    const lease = new PartitionLease({
      store: await openLeaseStore({ ...address, ttlMs }),
      clock: systemClock,
      logger: this.#log.logger,
      owner: this.#owner,
      process: this.#process,
      what: `partition ${PARTITION.partition} of namespace ${namespace}`,
      ttlMs,
    });
    // Before it is taken: a start that is given up meanwhile ends the waiting.
    this.#teardown.add({ what: "the lease", close: () => lease.close() });
    await lease.take({ isTakeOver });
  }

  async #openLog(server: DaemonServer): Promise<JetStreamLog> {
    const { url, credentials } = server.current;
    const log = await openJetStreamLog({
      url,
      ...credentials.daemon,
      namespace: this.namespace,
      ...PARTITION,
    });
    this.#teardown.add({ what: "the log", close: () => log.close() });
    return log;
  }

  async #startRuntime(server: DaemonServer, log: JetStreamLog): Promise<Runtime> {
    const { prefix } = partitionNames({ namespace: this.namespace, ...PARTITION });
    const runtime = await Runtime.start({
      log,
      clock: systemClock,
      ids: systemIds(),
      ambient: jobAmbient,
      definitions: this.#definitions,
      prefix: `${prefix}.`,
      owner: this.#owner,
      durability: this.durability,
      bounds: () => storeBounds(log, server.current),
      secrets: [...this.#secrets],
      onNotice: (notice) => this.#noticed(notice),
    });
    this.#runtime = runtime;
    const { detachWaitMs = DETACH_WAIT_MS_DEFAULT } = this.#options;
    this.#teardown.add({
      what: "the runtime",
      // What was decided while code ended is still to be acknowledged.
      waitMs: detachWaitMs + STEP_WAIT_MS_DEFAULT,
      close: () => runtime.detach({ waitMs: detachWaitMs }),
    });
    return runtime;
  }

  async #startApi(server: DaemonServer, runtime: Runtime, log: JetStreamLog): Promise<void> {
    const { url, credentials } = server.current;
    const api = await startApi({
      url,
      login: credentials.service,
      namespace: this.namespace,
      runtime,
      facts: {
        version: holdfastVersion(),
        startedAt: this.#startedAt,
        server: () => server.facts,
        stream: async () => {
          const { lastSequence, bytes, bytesMax } = await log.info();
          return { lastSequence, bytes, bytesMax };
        },
      },
      logger: this.#log.logger,
      redact: (value) => this.#redactor.redact(value),
      onLost: (error) => this.#fail(error),
    });
    this.#teardown.add({ what: "the API", close: () => api.stop(this.#failure ?? undefined) });
  }

  async #keepRecords(server: DaemonServer, runtime: Runtime): Promise<void> {
    const { url, credentials } = server.current;
    const { namespace } = this;
    const store = await openRecordStore({ url, ...credentials.daemon, namespace });
    const keeper = new RecordKeeper(runtime, store, this.#log.logger);
    this.#teardown.add({ what: "the records", close: () => keeper.close() });
  }

  #publish(server: DaemonServer, lock: ExclusiveLock): void {
    if (!lock.isHeld()) return; // The folder was taken over: the fence is on its way.
    const record = {
      url: server.current.url,
      namespace: this.namespace,
      process: this.#process,
      version: holdfastVersion(),
      startedAt: this.#startedAt,
      durability: this.durability,
      isEmbedded: server.isEmbedded,
    };
    writeDaemonRecord(this.#folder, record);
    this.#teardown.add({
      what: "daemon.json",
      close: () => removeDaemonRecord(this.#folder, record),
    });
  }

  #noticed(notice: Notice): void {
    logNotice(this.#log.logger, notice);
    if (notice.kind === "ended") this.#fail(notice.error);
  }

  /** D4. */
  #fail(error: HoldfastError): void {
    if (this.#failure !== null || this.#stopping !== null) return;
    this.#failure = error;
    if (this.#failStart !== null) this.#failStart(error);
    else void this.stop();
  }

  stop(): Promise<DaemonEnd> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<DaemonEnd> {
    const { logger } = this.#log;
    if (this.#failure === null) logger.info("the daemon stops");
    else logger.error(errorFields(this.#failure), "the daemon stops by itself");
    await this.#takeDown();
    const end: DaemonEnd =
      this.#failure === null ? { kind: "stopped" } : { kind: "failed", error: this.#failure };
    logger.info("the daemon is down");
    this.#settleEnded(end);
    return end;
  }

  async #takeDown(): Promise<void> {
    for (const fault of await this.#teardown.run()) {
      const { what } = fault;
      if (fault.kind === "slow") {
        this.#log.logger.warn({ what, waitMs: fault.waitMs }, "a part did not stop in time");
      } else
        this.#log.logger.warn({ what, ...errorFields(fault.error) }, "a part did not stop well");
    }
  }

  #facts(): Readonly<Record<string, unknown>> {
    const { namespace, durability, dataDir, url } = this;
    const types = this.#definitions.length;
    return { version: holdfastVersion(), namespace, durability, dataDir, url, types };
  }

  #opened<Part>(part: Part | null): Part {
    if (part !== null) return part;
    throw new IllegalStateError("The daemon has not come up.");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

function ownIdentity(): ProcessIdentity {
  const identity = readProcessIdentity(process.pid);
  if (identity !== null) return identity;
  throw new SystemError("this process cannot find itself in /proc: Linux with /proc is needed");
}
