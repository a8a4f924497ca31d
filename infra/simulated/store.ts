/**
 * The store of a simulated world: what a server is, as far as the journal can tell.
 *
 * Owns: one stream, who is connected to it, and the faults of a server: restarts, power cuts, a full disk, silence, broken
 * connections, a rival's message. Does not own: conditional storing (disk.ts, infra/memory), a process's handle (log.ts) and its
 * publishing connection (appender.ts), which message meets which fate (fates.ts).
 *
 * S1. A message is judged and stored at the instant it arrives, in the order of arrival.
 * S2. Deterministic: latencies and fates come from the generator and the script that were given; without them every hop takes
 *     LATENCY_MS and everything is delivered.
 * S3. Nothing that was stored changes or goes, but for what `cutPower` takes from its end.
 */
import { JournalError } from "../../actors/errors.ts";
import type { OutgoingMessage, PublishAnswer, StoredMessage } from "../../actors/journal/log.ts";
import { invariant } from "../../machines/invariant.ts";
import type { MemoryLog } from "../memory/log.ts";
import type { SimulatedMachine } from "./clock.ts";
import { Disk } from "./disk.ts";
import { deliverAll, type FateOf } from "./fates.ts";
import type { Random } from "./random.ts";

const LATENCY_MS = 1;
/** Longest hop when latencies are drawn: short against every wait of the journal, since slowness is a fault of its own. */
const LATENCY_MS_MAX = 5;
/** How long a closed connection still delivers what it held up: about as long as its successor takes to look around. */
const LINGER_MS_MAX = 50;
const BATCH_MAX_DEFAULT = 1_000;
const FULL: PublishAnswer = {
  kind: "refused",
  code: 10023,
  description: "insufficient resources",
};

export interface SimulatedStoreOptions {
  readonly machine: SimulatedMachine;
  /** Draws latencies. Default: each hop takes 1 ms. */
  readonly random?: Random;
  /** Size limit of the stream in bytes. Default: none. */
  readonly bytesMax?: number;
  /** Most messages that it stores as one; 0: it is a server from before batches. Default: 1,000. */
  readonly batchMax?: number;
}

/** What was under way to the server when it died or the network broke: does it still arrive? Its answers never do. */
export type UnderWay = "arrives" | "isLost";

/** Whoever is connected, as the store sees it. */
export interface StoreClient {
  broken(reason: string, underWay: UnderWay): void;
  /** The server is there again. */
  resumed?(): void;
  /** Something was stored under this subject. */
  stored?(subject: string): void;
}

export class SimulatedStore {
  readonly machine: SimulatedMachine;
  readonly batchMax: number;
  /** What becomes of each publish; may be changed at any time. */
  fateOf: FateOf = deliverAll;
  /** Every publish is refused as full. */
  isFull = false;
  /** No publish is stored or answered, as on a disk without space. */
  isSilent = false;
  /** Nothing else is answered either (servers before 2.10 without space). */
  isDeaf = false;
  /** Followers see what is stored later by this much, ms. */
  followLagMs = 0;
  readonly #random: Random | null;
  readonly #bytesMax: number | null;
  readonly #clients = new Set<StoreClient>();
  #disk: Disk;
  #isUp = true;
  /** Counts lives of the server: what was asked of one is not answered by the next. */
  #incarnation = 1;

  private constructor(options: SimulatedStoreOptions, disk: Disk) {
    this.machine = options.machine;
    this.batchMax = options.batchMax ?? BATCH_MAX_DEFAULT;
    this.#random = options.random ?? null;
    this.#bytesMax = options.bytesMax ?? null;
    this.#disk = disk;
  }

  static async start(options: SimulatedStoreOptions): Promise<SimulatedStore> {
    const { machine, bytesMax = null } = options;
    return new SimulatedStore(options, await Disk.open({ nowMs: () => machine.wallMs, bytesMax }));
  }

  /** Everything stored, in order; for looking at, never to be changed. */
  get messages(): readonly StoredMessage[] {
    return this.#disk.messages;
  }

  /** The stream itself, for tests that read without a network between; another one after `cutPower`. */
  get stream(): MemoryLog {
    return this.#disk.log;
  }

  get isUp(): boolean {
    return this.#isUp;
  }

  /** Open connections and followers: none are left when everybody has closed what they opened. */
  get clientCount(): number {
    return this.#clients.size;
  }

  get incarnation(): number {
    return this.#incarnation;
  }

  /** Time of one hop, ms. */
  latencyMs(): number {
    return this.#random?.integer(1, LATENCY_MS_MAX) ?? LATENCY_MS;
  }

  /** How much longer a closed connection delivers, ms. */
  lingerMs(): number {
    return this.#random?.integer(0, LINGER_MS_MAX) ?? LATENCY_MS;
  }

  connect(client: StoreClient): void {
    this.#clients.add(client);
  }

  disconnect(client: StoreClient): void {
    this.#clients.delete(client);
  }

  /** Judges and perhaps stores what arrived: one message, or several as one. Null: silence. */
  arrive(messages: readonly OutgoingMessage[]): PublishAnswer | null {
    if (!this.#isUp || this.isSilent) return null;
    return this.isFull ? FULL : this.#store(messages);
  }

  /** Stores a message from elsewhere, whatever the faults of the moment. */
  storeForeign(message: OutgoingMessage): void {
    this.#store([message]);
  }

  #store(messages: readonly OutgoingMessage[]): PublishAnswer {
    const answer = this.#disk.store(messages);
    if (answer.kind !== "stored" || answer.isDuplicate) return answer;
    for (const { subject } of messages)
      for (const client of this.#clients) client.stored?.(subject);
    return answer;
  }

  /** The network between breaks: every connection ends, the server goes on. */
  breakConnections(reason: string, underWay: UnderWay): void {
    for (const client of [...this.#clients]) client.broken(reason, underWay);
    for (const client of [...this.#clients]) client.resumed?.();
  }

  /** The server dies without a word. What it had stored stays. */
  stop(underWay: UnderWay): void {
    if (!this.#isUp) return;
    // While it can still store: what arrives was read before the end, and just not answered.
    for (const client of [...this.#clients]) client.broken("the server died", underWay);
    this.#isUp = false;
    this.#incarnation += 1;
  }

  start(): void {
    if (this.#isUp) return;
    this.#isUp = true;
    for (const client of [...this.#clients]) client.resumed?.();
  }

  /** The power fails under the server, and with it goes the stream's end: `lostCount` messages that were not yet synced. */
  async cutPower(lostCount: number): Promise<void> {
    this.stop("isLost");
    const { machine, messages } = this;
    const kept = messages.slice(0, Math.max(0, messages.length - lostCount));
    const bytesMax = this.#bytesMax;
    this.#disk = await Disk.open({ nowMs: () => machine.wallMs, bytesMax }, kept);
    invariant(this.messages.length === kept.length, "S3: what was synced is kept", {
      kept: kept.length,
    });
  }

  /** The error of who cannot reach the server. */
  unreachable(action: string): JournalError {
    return new JournalError(`Could not ${action}: the simulated server is away.`, {
      details: { outcome: "refused" },
    });
  }
}
