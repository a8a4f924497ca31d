/**
 * Following: what is stored from now on, as it is stored.
 *
 * Owns: the subscription on the republished subjects, catching up after a lost connection. Does not own: reading (read.ts).
 *
 * F1. Only what the stream has stored is seen: the server republishes after storing. A subscription on the stored subjects
 *     themselves would also show publishes that were refused.
 * F2. Each message is visited once, in sequence order, from the one after the last at the time `follow` resolves. After a lost
 *     connection what was missed is read from the stream first; what comes meanwhile waits, at most WAITING_MAX messages, and
 *     beyond that is read too.
 * F3. What `visit` throws is a programmer error: it stops the process, not the other followers.
 */
import type { StoredMessage } from "../../../actors/journal/log.ts";
import { type ReadConnection, throwOutside } from "../connection.ts";
import { codeOf, translateError } from "../errors.ts";
import type { PartitionNames } from "../names.ts";
import { fromAddedHeaders, receive } from "../raw-message.ts";
import { streamInfo } from "../stream.ts";
import { narrowTo } from "../subject-pattern.ts";
import { readStream } from "./read.ts";

const WAITING_MAX = 10_000;
const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 2_000;

type Visit = (message: StoredMessage) => void;

interface Following {
  stop(): Promise<void>;
}

/** Errors: JournalError when the server does not answer. */
export async function followStream(
  connection: ReadConnection,
  names: PartitionNames,
  subject: string,
  visit: Visit,
): Promise<Following> {
  const pattern = narrowTo(names.prefix, subject);
  if (pattern === null) return { stop: () => Promise.resolve() };
  const follower = new Follower(connection, names, pattern, visit);
  try {
    await follower.start();
  } catch (error) {
    follower.stop();
    throw error;
  }
  return {
    stop: () => {
      follower.stop();
      return Promise.resolve();
    },
  };
}

class Follower {
  readonly #connection: ReadConnection;
  readonly #names: PartitionNames;
  readonly #pattern: string;
  readonly #visit: Visit;
  readonly #stops: (() => void)[] = [];
  #lastSequence = 0;
  /** What came while the stretch before it was not read yet; null: nothing is missing. */
  #waiting: StoredMessage[] | null = [];
  /** Whether something was lost since the last look, so that another is needed. */
  #isBehind = false;
  #isStopped = false;
  /** Ends the pause before another try; null: no pause. */
  #wake: (() => void) | null = null;
  #fault: Error | null = null;

  constructor(connection: ReadConnection, names: PartitionNames, pattern: string, visit: Visit) {
    this.#connection = connection;
    this.#names = names;
    this.#pattern = pattern;
    this.#visit = visit;
  }

  async start(): Promise<void> {
    const { prefix, livePrefix } = this.#names;
    const details = { subject: this.#pattern };
    const attempt = { action: `follow ${this.#pattern}`, details };
    const subscription = this.#connection.subscribe(
      livePrefix + this.#pattern.slice(prefix.length),
      (message) => {
        const stored = fromAddedHeaders(receive(message));
        if (stored !== null) this.#received(stored);
      },
      (error) => {
        // Told before the flush is: a user who may not subscribe there.
        if (this.#waiting === null) throw error;
        this.#fault = translateError(error, attempt);
      },
    );
    this.#stops.push(() => subscription.unsubscribe());
    await this.#connection.flush(attempt);
    if (this.#fault !== null) throw this.#fault;
    this.#lastSequence = (await streamInfo(this.#connection, this.#names)).lastSequence;
    this.#stops.push(
      this.#connection.onResumption(() => {
        this.#catchUp().catch(throwOutside);
      }),
      this.#connection.onInterruption((error) => {
        if (codeOf(error) === "illegal_state") this.stop(); // The log was closed: it does not come back.
      }),
    );
    this.#release();
  }

  stop(): void {
    this.#isStopped = true;
    for (const stop of this.#stops.splice(0)) stop();
    this.#wake?.();
  }

  #received(message: StoredMessage): void {
    if (this.#waiting === null) return this.#deliver(message);
    if (this.#waiting.length < WAITING_MAX) {
      this.#waiting.push(message);
      return;
    }
    this.#waiting = [];
    this.#isBehind = true;
  }

  #deliver(message: StoredMessage): void {
    if (this.#isStopped || message.sequence <= this.#lastSequence) return;
    this.#lastSequence = message.sequence;
    try {
      this.#visit(message);
    } catch (thrown) {
      throwOutside(thrown);
    }
  }

  #release(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = null;
    for (const message of waiting) this.#deliver(message);
  }

  /** Repeats until it has everything or is stopped: there is nobody to tell, and what is missing stays in the stream. */
  async #catchUp(): Promise<void> {
    this.#isBehind = true;
    if (this.#waiting !== null) return;
    this.#waiting = [];
    let retryMs = RETRY_MS_MIN;
    while (this.#isBehind && !this.#isStopped) {
      this.#isBehind = false;
      try {
        await this.#readMissed();
      } catch {
        // Away again, or not ready yet.
        this.#isBehind = true;
        await this.#pause(retryMs);
        retryMs = Math.min(2 * retryMs, RETRY_MS_MAX);
      }
    }
    this.#release();
  }

  async #readMissed(): Promise<void> {
    const { lastSequence: through } = await streamInfo(this.#connection, this.#names);
    const from = this.#lastSequence + 1;
    const options = { from, through, subjects: [this.#pattern] };
    await readStream(this.#connection, this.#names, options, (message) => this.#deliver(message));
    // Also when the stream is shorter than before (a restored backup): what comes now is new.
    this.#lastSequence = through;
  }

  #pause(forMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#wake?.(), forMs);
      this.#wake = () => {
        this.#wake = null;
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
