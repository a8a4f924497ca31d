/**
 * The Log port in memory: the embedded default, and the twin that tests hold against JetStream (test/contract/log.contract.ts).
 *
 * Owns: conditional storing, answers in order, reading and following by pattern. Does not own: faults (the simulated log drops,
 * delays and rolls back), durability (nothing outlives the process).
 *
 * M1. Storing is synchronous, in the order of the calls, whichever appender they come from: two appenders interleave exactly
 *     as two connections whose bytes arrive in that order. Answers and followed messages come later, through the scheduler.
 * M2. Checks come in the order of a server from 2.12 on: last sequence, then the id seen before, then last id.
 * M3. Deterministic: no clock, no randomness, unless they are given.
 */
import { IllegalStateError } from "../../actors/errors.ts";
import { BODY_BYTES_MAX } from "../../actors/journal/codec.ts";
import type {
  AppenderEvents,
  Log,
  LogAppender,
  LogInfo,
  OutgoingMessage,
  PublishAnswer,
  ReadOptions,
  StoredMessage,
} from "../../actors/journal/log.ts";
import { invariant } from "../../machines/invariant.ts";
import { encodeHeaders } from "../jetstream/headers.ts";
import { checkPatterns, matcherOfAny } from "../jetstream/subject-pattern.ts";

const WRONG_LAST_SEQUENCE = 10071;
const WRONG_LAST_ID = 10070;
const MAXIMUM_BYTES = 10077;
const DUPLICATE_IN_BATCH = 10201;
const DUPLICATE_WINDOW_DEFAULT = 4_096;

export interface MemoryLogOptions {
  /** Runs what a server would send back, later and in order. Default: as a microtask. */
  readonly schedule?: (task: () => void) => void;
  /** Wall time of storing, ms. Default: the sequence, so that runs are alike. */
  readonly nowMs?: () => number;
  /** Size limit in bytes of subjects, headers and bodies. Default: none. */
  readonly bytesMax?: number;
  /** For how many messages an id is remembered. 0: ids are not looked at. Default 4,096. */
  readonly duplicateWindowCount?: number;
}

interface Connection {
  disconnect(reason: string): void;
}

/** What all handles on one log share: the part that a server would be. */
class MemoryStream {
  readonly schedule: (task: () => void) => void;
  readonly messages: StoredMessage[] = [];
  readonly connections = new Set<Connection>();
  readonly followers = new Set<(message: StoredMessage) => void>();
  readonly bytesMax: number | null;
  bytes = 0;
  readonly #nowMs: (() => number) | null;
  readonly #duplicateWindowCount: number;
  readonly #sequenceById = new Map<string, number>();

  constructor(options: MemoryLogOptions) {
    this.schedule = options.schedule ?? queueMicrotask;
    this.bytesMax = options.bytesMax ?? null;
    this.#nowMs = options.nowMs ?? null;
    this.#duplicateWindowCount = options.duplicateWindowCount ?? DUPLICATE_WINDOW_DEFAULT;
  }

  get lastSequence(): number {
    return this.messages.length;
  }

  store(message: OutgoingMessage): PublishAnswer {
    const { expectedLastSequence, expectedLastId, id } = message;
    if (expectedLastSequence !== undefined && expectedLastSequence !== this.lastSequence) {
      return refused(WRONG_LAST_SEQUENCE, `wrong last sequence: ${this.lastSequence}`);
    }
    const sequence = this.#sequenceById.get(id);
    if (sequence !== undefined) return { kind: "stored", sequence, isDuplicate: true };
    const lastId = this.messages.at(-1)?.id ?? "";
    if (expectedLastId !== undefined && expectedLastId !== lastId) {
      return refused(WRONG_LAST_ID, `wrong last msg ID: ${lastId}`);
    }
    const bytes = sizeOf(message);
    if (this.bytesMax !== null && this.bytes + bytes > this.bytesMax) {
      return refused(MAXIMUM_BYTES, "maximum bytes exceeded");
    }
    return this.#keep(message, bytes);
  }

  #keep({ subject, id, frame, body }: OutgoingMessage, bytes: number): PublishAnswer {
    const sequence = this.lastSequence + 1;
    const storedAtMs = this.#nowMs?.() ?? sequence;
    // Copied: the caller may use its buffer again, and what is stored never changes.
    const stored = { sequence, storedAtMs, subject, id, frame, body: body.slice() };
    this.messages.push(stored);
    this.bytes += bytes;
    this.#remember(id, sequence);
    for (const follower of this.followers) this.schedule(() => follower(stored));
    return { kind: "stored", sequence, isDuplicate: false };
  }

  /** All or none. */
  storeAll(messages: readonly OutgoingMessage[]): PublishAnswer {
    const expected = messages[0]?.expectedLastSequence;
    if (expected !== undefined && expected !== this.lastSequence) {
      return refused(WRONG_LAST_SEQUENCE, `wrong last sequence: ${this.lastSequence}`);
    }
    const seen = messages.find(({ id }) => this.#sequenceById.has(id));
    if (seen !== undefined)
      return refused(DUPLICATE_IN_BATCH, `an id of the batch is known: ${seen.id}`);
    const sizes = messages.map(sizeOf);
    if (
      this.bytesMax !== null &&
      this.bytes + sizes.reduce((sum, size) => sum + size, 0) > this.bytesMax
    ) {
      return refused(MAXIMUM_BYTES, "maximum bytes exceeded");
    }
    for (const [at, message] of messages.entries()) this.#keep(message, sizes[at] ?? 0);
    return { kind: "stored", sequence: this.lastSequence, isDuplicate: false };
  }

  #remember(id: string, sequence: number): void {
    if (this.#duplicateWindowCount === 0) return;
    this.#sequenceById.set(id, sequence);
    const forgotten = this.messages[sequence - this.#duplicateWindowCount - 1];
    if (forgotten !== undefined) this.#sequenceById.delete(forgotten.id);
  }
}

const sizeOf = (message: OutgoingMessage): number =>
  message.subject.length + encodeHeaders(message).length + message.body.length;

const refused = (code: number, description: string): PublishAnswer => ({
  kind: "refused",
  code,
  description,
});

/** As many as a server takes. */
const BATCH_MAX = 1_000;

class MemoryAppender implements LogAppender, Connection {
  readonly batchMax = BATCH_MAX;
  readonly #stream: MemoryStream;
  readonly #events: AppenderEvents;
  #isOver = false;

  constructor(stream: MemoryStream, events: AppenderEvents) {
    this.#stream = stream;
    this.#events = events;
    stream.connections.add(this);
  }

  publishBatch(messages: readonly OutgoingMessage[], lastIndex: number): void {
    invariant(
      messages.length >= 2 && messages.length <= BATCH_MAX,
      "a batch has its size checked before",
    );
    if (this.#isOver) return;
    const answer = this.#stream.storeAll(messages);
    this.#stream.schedule(() => {
      if (!this.#isOver) this.#events.onAnswer(lastIndex, answer);
    });
  }

  publish(message: OutgoingMessage, index: number): void {
    invariant(!/[\s\0]/.test(message.subject), "a subject holds no white space", {
      subject: message.subject,
    });
    invariant(message.body.length <= BODY_BYTES_MAX, "a body has its size checked before", {
      subject: message.subject,
      bytes: message.body.length,
    });
    if (this.#isOver) return;
    const answer = this.#stream.store(message);
    this.#stream.schedule(() => {
      if (!this.#isOver) this.#events.onAnswer(index, answer);
    });
  }

  close(): Promise<void> {
    this.#over();
    return Promise.resolve();
  }

  disconnect(reason: string): void {
    if (this.#isOver) return;
    this.#over();
    this.#stream.schedule(() => this.#events.onDisconnect(reason));
  }

  #over(): void {
    this.#isOver = true;
    this.#stream.connections.delete(this);
  }
}

export class MemoryLog implements Log {
  readonly #stream: MemoryStream;
  readonly #stops = new Set<() => void>();
  #isClosed = false;

  constructor(options: MemoryLogOptions | MemoryStream = {}) {
    this.#stream = options instanceof MemoryStream ? options : new MemoryStream(options);
  }

  /** Everything stored, in order; for looking at, never to be changed. */
  get messages(): readonly StoredMessage[] {
    return this.#stream.messages;
  }

  /** Another handle on the same messages, as another process would have. */
  reopen(): MemoryLog {
    return new MemoryLog(this.#stream);
  }

  /** Ends every appender of every handle, as the death of a server would: what was published is stored, but not answered. */
  disconnect(reason: string): void {
    for (const connection of [...this.#stream.connections]) connection.disconnect(reason);
  }

  openAppender(events: AppenderEvents): Promise<LogAppender> {
    return this.#whileOpen(() => new MemoryAppender(this.#stream, events));
  }

  info(): Promise<LogInfo> {
    const { lastSequence, bytes, bytesMax, messages } = this.#stream;
    const firstSequence = messages[0]?.sequence ?? lastSequence + 1;
    return this.#whileOpen(() => ({ firstSequence, lastSequence, bytes, bytesMax }));
  }

  async read(options: ReadOptions, visit: (message: StoredMessage) => void): Promise<void> {
    checkPatterns(options.subjects ?? []);
    const matches = matcherOfAny(options.subjects ?? [">"]);
    const { messages, lastSequence } = this.#stream;
    const stretch = messages.slice(options.from - 1, options.through ?? lastSequence);
    await this.#whileOpen(() => undefined);
    for (const message of stretch) {
      this.#checkOpen();
      if (matches(message.subject)) visit(message);
    }
  }

  async readLast(subject: string): Promise<StoredMessage | null> {
    checkPatterns([subject]);
    const matches = matcherOfAny([subject]);
    return await this.#whileOpen(
      () => this.#stream.messages.findLast((message) => matches(message.subject)) ?? null,
    );
  }

  async follow(
    subject: string,
    visit: (message: StoredMessage) => void,
  ): Promise<{ stop(): Promise<void> }> {
    checkPatterns([subject]);
    const matches = matcherOfAny([subject]);
    const { followers } = this.#stream;
    const follower = (message: StoredMessage): void => {
      // Asked again: it may have been stopped between storing and now.
      if (followers.has(follower) && matches(message.subject)) visit(message);
    };
    const stop = (): void => {
      followers.delete(follower);
      this.#stops.delete(stop);
    };
    return await this.#whileOpen(() => {
      followers.add(follower);
      this.#stops.add(stop);
      return {
        stop: () => {
          stop();
          return Promise.resolve();
        },
      };
    });
  }

  close(): Promise<void> {
    this.#isClosed = true;
    for (const stop of [...this.#stops]) stop();
    return Promise.resolve();
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new IllegalStateError("The log is closed.");
  }

  /** `work` through the scheduler, like an answer; rejects with IllegalStateError once the log is closed. */
  #whileOpen<Result>(work: () => Result): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#stream.schedule(() => {
        try {
          this.#checkOpen();
          resolve(work());
        } catch (error) {
          reject(error);
        }
      });
    });
  }
}
