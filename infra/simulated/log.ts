/**
 * The Log port over a simulated store: one process's handle.
 *
 * Owns: round trips of what is asked, following across lost connections. Does not own: the store and its faults (store.ts), the
 * publishing connection (appender.ts). It is held to the same contract as the others (test/contract/log.contract.ts).
 *
 * G1. Whatever is asked takes a hop there and a hop back. When the server is away, or dies between, it is rejected with a
 *     JournalError; when the store is deaf, after REQUEST_WAIT_MS.
 * G2. A read hands over what it got before it was cut off: half of it, then the rest a round trip later.
 * G3. A follower misses nothing and sees nothing twice, also over a lost connection.
 */
import { IllegalStateError } from "../../actors/errors.ts";
import type {
  AppenderEvents,
  Log,
  LogAppender,
  LogInfo,
  ReadOptions,
  StoredMessage,
} from "../../actors/journal/log.ts";
import { checkPatterns, matcherOfAny } from "../jetstream/subject-pattern.ts";
import { SimulatedAppender } from "./appender.ts";
import type { SimulatedClock } from "./clock.ts";
import type { SimulatedStore, StoreClient } from "./store.ts";

/** As the JetStream adapter's. */
const REQUEST_WAIT_MS = 5_000;

type Visit = (message: StoredMessage) => void;

export class SimulatedLog implements Log {
  readonly #store: SimulatedStore;
  readonly #clock: SimulatedClock;
  readonly #followers = new Set<Follower>();
  #isClosed = false;

  constructor(store: SimulatedStore, clock: SimulatedClock) {
    this.#store = store;
    this.#clock = clock;
  }

  async openAppender(events: AppenderEvents): Promise<LogAppender> {
    await this.#roundTrip("open an appender");
    return new SimulatedAppender(this.#store, this.#clock, events);
  }

  async info(): Promise<LogInfo> {
    await this.#roundTrip("ask for the log's state");
    return this.#store.stream.info();
  }

  async read(options: ReadOptions, visit: Visit): Promise<void> {
    checkPatterns(options.subjects ?? []);
    const through = options.through ?? (await this.info()).lastSequence;
    await this.#roundTrip("read the log");
    const matches = matcherOfAny(options.subjects ?? [">"]);
    const middle = (options.from + through) >> 1;
    const hand = (from: number, to: number): void => {
      for (const message of this.#store.messages.slice(from - 1, to)) {
        this.#checkOpen();
        if (matches(message.subject)) visit(message);
      }
    };
    hand(options.from, middle);
    await this.#roundTrip("read the log to its end");
    hand(Math.max(options.from, middle + 1), through);
  }

  async readLast(subject: string): Promise<StoredMessage | null> {
    checkPatterns([subject]);
    await this.#roundTrip("read the last message");
    return this.#store.stream.readLast(subject);
  }

  async follow(subject: string, visit: Visit): Promise<{ stop(): Promise<void> }> {
    checkPatterns([subject]);
    await this.#roundTrip("follow the log");
    const follower = new Follower(this.#store, this.#clock, subject, visit);
    this.#followers.add(follower);
    return {
      stop: () => {
        follower.stop();
        this.#followers.delete(follower);
        return Promise.resolve();
      },
    };
  }

  close(): Promise<void> {
    this.#isClosed = true;
    for (const follower of this.#followers) follower.stop();
    this.#followers.clear();
    return Promise.resolve();
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new IllegalStateError("The log is closed.");
  }

  async #roundTrip(action: string): Promise<void> {
    this.#checkOpen();
    const store = this.#store;
    const { incarnation } = store;
    if (store.isDeaf) await this.#pause(REQUEST_WAIT_MS);
    else await this.#pause(store.latencyMs() + store.latencyMs());
    this.#checkOpen();
    if (!store.isUp || store.isDeaf || store.incarnation !== incarnation)
      throw store.unreachable(action);
  }

  #pause(forMs: number): Promise<void> {
    return new Promise((resolve) => this.#clock.deliverIn(forMs, resolve));
  }
}

class Follower implements StoreClient {
  readonly #store: SimulatedStore;
  readonly #clock: SimulatedClock;
  readonly #matches: (subject: string) => boolean;
  readonly #visit: Visit;
  /** Everything up to here was looked at. */
  #lastSequence: number;
  #isStopped = false;

  constructor(store: SimulatedStore, clock: SimulatedClock, subject: string, visit: Visit) {
    this.#store = store;
    this.#clock = clock;
    this.#matches = matcherOfAny([subject]);
    this.#visit = visit;
    this.#lastSequence = store.messages.length;
    store.connect(this);
  }

  stored(subject: string): void {
    if (this.#clock.isDead) this.stop();
    else if (this.#matches(subject)) this.#lookSoon();
  }

  broken(): void {
    // Nothing: what it misses from here on is looked at when the server is there again.
  }

  resumed(): void {
    // A stream that has lost its end goes on from there: what comes now is new.
    this.#lastSequence = Math.min(this.#lastSequence, this.#store.messages.length);
    this.#lookSoon();
  }

  stop(): void {
    this.#isStopped = true;
    this.#store.disconnect(this);
  }

  #lookSoon(): void {
    const { followLagMs } = this.#store;
    this.#clock.deliverIn(this.#store.latencyMs() + followLagMs, () => this.#look());
  }

  #look(): void {
    if (!this.#store.isUp) return;
    const { messages } = this.#store;
    while (!this.#isStopped && this.#lastSequence < messages.length) {
      const message = messages[this.#lastSequence];
      this.#lastSequence += 1;
      if (message !== undefined && this.#matches(message.subject)) this.#visit(message);
    }
  }
}
