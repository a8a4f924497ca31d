/**
 * A runtime on a real server, driven step by step: the log and its latencies are real, the clock is simulated.
 *
 * Owns: lives on one stream, each of which ends as a killed process does, and now and then the server with it; a copy of the
 * log for folds beside it. Does not own: the path (paths.ts), what is done at each step (driven-job.ts).
 */
import { connect } from "nats";
import type { JobDefinition } from "../../../actors/attempt/definition.ts";
import type { Log, StoredMessage } from "../../../actors/journal/log.ts";
import { Runtime, worldOf } from "../../../actors/runtime/runtime.ts";
import type { Notice } from "../../../actors/runtime/world.ts";
import { openJetStreamLog } from "../../../infra/jetstream/log.ts";
import { partitionNames } from "../../../infra/jetstream/names.ts";
import { connectionOptions } from "../../../infra/nats-server/credentials.ts";
import { SimulatedClock, SimulatedMachine } from "../../../infra/simulated/clock.ts";
import { jobAmbient } from "../../../infra/system/ambient.ts";
import { systemIds } from "../../../infra/system/ids.ts";
import { flush, PREFIX, transitionsIn } from "../runtime.ts";
import type { TestServer } from "../server.ts";
import type { DrivenRuntime } from "./driven-job.ts";

const ADDRESS = { namespace: "test", partition: 0, generation: 1 } as const;
const SETTLE_WAIT_MS = 10_000;

interface Life {
  readonly runtime: Runtime;
  readonly clock: SimulatedClock;
  readonly log: WatchedLog;
}

/** What the runtime asks of its log takes real time; code that begins may wait for it. */
interface WatchedLog extends Log {
  readonly readsUnderWay: () => number;
}

function watched(log: Log): WatchedLog {
  let underWay = 0;
  const counted = async <Result>(reading: Promise<Result>): Promise<Result> => {
    underWay += 1;
    try {
      return await reading;
    } finally {
      underWay -= 1;
    }
  };
  return {
    ...log,
    read: (options, visit) => counted(log.read(options, visit)),
    readLast: (subject) => counted(log.readLast(subject)),
    readsUnderWay: () => underWay,
  };
}

export class JetStreamRuntime implements DrivenRuntime, AsyncDisposable {
  readonly #server: TestServer;
  readonly #serverDiesEvery: number;
  readonly #machine = new SimulatedMachine();
  readonly #messages: StoredMessage[] = [];
  readonly #notices: Notice[] = [];
  #life: Life | null = null;
  #lives = 0;

  private constructor(server: TestServer, serverDiesEvery: number) {
    this.#server = server;
    this.#serverDiesEvery = serverDiesEvery;
  }

  /** On an empty stream. `serverDiesEvery`: how many crashes it takes until the server is killed too. */
  static async start(
    server: TestServer,
    definitions: readonly JobDefinition[],
    options: { readonly serverDiesEvery: number },
  ): Promise<JetStreamRuntime> {
    const started = new JetStreamRuntime(server, options.serverDiesEvery);
    await started.restart({ definitions });
    return started;
  }

  get runtime(): Runtime {
    return this.#current.runtime;
  }

  get log(): { readonly messages: readonly StoredMessage[] } {
    return { messages: this.#messages };
  }

  async restart({
    definitions,
  }: {
    readonly definitions: readonly JobDefinition[];
  }): Promise<void> {
    await this.#die();
    if (this.#lives > 0 && this.#lives % this.#serverDiesEvery === 0) await this.#server.restart();
    this.#lives += 1;
    const { url, credentials } = this.#server;
    const log = watched(await openJetStreamLog({ url, ...credentials.daemon, ...ADDRESS }));
    const clock = new SimulatedClock(this.#machine);
    const runtime = await Runtime.start({
      log,
      clock,
      ids: systemIds(),
      ambient: jobAmbient,
      definitions,
      prefix: PREFIX,
      owner: `test-${this.#lives}`,
      durability: "process",
      onNotice: (notice) => this.#notices.push(notice),
    });
    this.#life = { runtime, clock, log };
    await this.settle();
  }

  async advance(ms: number): Promise<void> {
    await this.#machine.time.advance(ms);
    await this.settle();
  }

  /** Waits until all is acknowledged and nothing follows from it, and reads what the server has. */
  async settle(): Promise<void> {
    const { runtime, log } = this.#current;
    const { journal } = worldOf(runtime);
    const deadline = performance.now() + SETTLE_WAIT_MS;
    let quietTurns = 0;
    while (quietTurns < 2) {
      await flush();
      const isQuiet = journal.pendingCount === 0 && log.readsUnderWay() === 0;
      quietTurns = isQuiet ? quietTurns + 1 : 0;
      if (performance.now() > deadline)
        throw new Error(`not settled after ${SETTLE_WAIT_MS} ms: journal ${journal.state}`);
    }
    const { lastSequence } = await log.info();
    const from = this.#messages.length + 1;
    if (from <= lastSequence)
      await log.read({ from, through: lastSequence }, (message) => this.#messages.push(message));
  }

  history(job: string): readonly string[] {
    return transitionsIn(this.#messages)
      .filter(({ actor }) => actor === `job:${job}`)
      .map(({ event }) => event.type.replace("job.", ""));
  }

  faults(): readonly Notice[] {
    return this.#notices.filter(({ kind }) => kind === "fault" || kind === "found");
  }

  get serverDeaths(): number {
    return Math.floor(Math.max(0, this.#lives - 1) / this.#serverDiesEvery);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#die();
  }

  get #current(): Life {
    if (this.#life === null) throw new Error("no runtime was started");
    return this.#life;
  }

  /** As SIGKILL: nothing is tidied up, and nothing is heard of it any more. */
  async #die(): Promise<void> {
    if (this.#life === null) return;
    const { runtime, clock, log } = this.#life;
    clock.kill();
    await worldOf(runtime).journal.close();
    await log.close();
    this.#life = null;
  }
}

/** Takes away what the path before has left, if there is one. */
export async function removeStream(server: TestServer): Promise<void> {
  const admin = await connect(connectionOptions(server.url, server.credentials.daemon));
  await admin.request(`$JS.API.STREAM.DELETE.${partitionNames(ADDRESS).stream}`);
  await admin.close();
}
