/**
 * The journal: one owner's end of the log.
 *
 * Owns: taking the partition (fence, then reading up to it), publishing what the writer gives, and resync after a poisoned
 * acknowledgement. Does not own: what a record means (the turn), validity (reader.ts), positions and the chain (writer.ts).
 *
 * N1. The fence of a take is unconditional: a conditional one starves against a live writer (measured). The fence of a
 *     resync is conditional on the position just read, so that it can never fence a rival who came meanwhile.
 * N2. A resync uses a new connection; the old one is closed first, so nothing sent on it can slip in.
 * N3. While the store is away the journal waits and keeps what is staged. It ends (`onEnd`) only when fenced, when the log
 *     lost what it had acknowledged, or when a reader must halt.
 * N4. Silence is judged one poll after it is due, and never by a poll that came late itself: our own gap is not the store's.
 * N5. Of two fences the later one owns. A foreign one that shows before our own has a position is compared when it has one.
 * N6. Resyncs that bring no group into the log come ever more slowly: each leaves a fence in a store that may be almost full.
 */
import { invariant } from "../../machines/invariant.ts";
import { type HoldfastError, isHoldfastError, JournalError } from "../errors.ts";
import type { Clock } from "../ports/clock.ts";
import type { Ids } from "../ports/ids.ts";
import { BODY_VERSION, type Durability, encodeBody, type FenceBody } from "./codec.ts";
import { Epochs } from "./epochs.ts";
import { checksumOf, formatFrame, messageId, parseFrame } from "./frame.ts";
import {
  brokenError,
  fencedBy,
  fencedError,
  haltError,
  ownerOfFence,
  type Rival,
  rolledBackError,
  unfencedError,
} from "./journal-errors.ts";
import { JournalTime, type LastMoment } from "./journal-time.ts";
import type { Log, LogAppender, PublishAnswer, StoredMessage } from "./log.ts";
import { JournalReader, type ReaderSink, type ReadRecord } from "./reader.ts";
import { readScopes } from "./scoped-reader.ts";
import { JournalWriter, type ScopedBody, SINGLES_MAX } from "./writer.ts";

/** No answer to the oldest publish for this long is a fault (a full disk answers nothing: measured). */
export const ANSWER_WAIT_MS = 5_000;
const POLL_MS = 1_000;
const BACKOFF_MS_MIN = 50;
const BACKOFF_MS_MAX = 2_000;
/** Staged bytes beyond which commands are refused; completions never are. */
export const PENDING_BYTES_MAX = 64 * 1024 * 1024;

export interface JournalOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly ids: Ids;
  /** A name for people: host and process. */
  readonly owner: string;
  readonly durability: Durability;
  /** Full subject of the dispatcher's scope: fences stand there. */
  readonly fenceSubject: string;
  /** The journal is over: FencedError or JournalError. Called at most once. */
  readonly onEnd: (error: HoldfastError) => void;
  /** For people: a resync began, ended, is waiting. */
  readonly onNotice?: (notice: JournalNotice) => void;
}

export type JournalNotice =
  | { readonly kind: "resyncing"; readonly reason: string; readonly pending: number }
  | { readonly kind: "waiting"; readonly reason: string; readonly delayMs: number }
  | { readonly kind: "resynced"; readonly fencePosition: number; readonly resent: number };

/** What became of a fence: in the log, or why not. `unknown`: the log alone can tell. */
type FenceOutcome =
  | { readonly kind: "stored"; readonly writer: string; readonly position: number }
  | { readonly kind: "refused" | "unknown"; readonly reason: string };

export type JournalState = "taking" | "open" | "resyncing" | "ended" | "closed";

export class Journal {
  readonly #options: JournalOptions;
  readonly #writer = new JournalWriter();
  /** Who owned which positions, this owner included. */
  readonly epochs = new Epochs();
  /** Writers this process minted: their fences are not foreign. */
  readonly #own = new Set<string>();
  #appender: LogAppender | null = null;
  #follow: { stop(): Promise<void> } | null = null;
  #time: JournalTime;
  /** 0 until the first own fence is answered. */
  #fencePosition = 0;
  /** The latest foreign fence that was seen. */
  #rival: Rival | null = null;
  #state: JournalState = "taking";
  /** Whether `take` has resolved, so that `onEnd` is the way to tell that all is over. */
  #isTaken = false;
  #ended: HoldfastError | null = null;
  /** Why the present connection is gone; null while it is not. */
  #lost: string | null = null;
  #poll: { cancel(): void } | null = null;
  /** Since when the oldest publish in flight has been waiting, as far as polls saw; null: nothing is waiting. */
  #oldest: { readonly position: number; readonly sinceMs: number } | null = null;
  /** Before the next attempt to resync (N6). */
  #delayMs = 0;
  readonly #drained: (() => void)[] = [];
  #isPumping = false;

  private constructor(options: JournalOptions) {
    this.#options = options;
    this.#time = new JournalTime(options.clock, null);
  }

  /**
   * Takes the partition: fences whoever had it, then hands every message up to the fence to `sink` by the reader rule.
   * Resolves when all was read; nothing can be appended before `open`.
   * Errors: JournalError when the store is away or a reader must halt, FencedError when another fence came meanwhile.
   */
  static async take(options: JournalOptions, sink: ReaderSink): Promise<Journal> {
    const journal = new Journal(options);
    try {
      await journal.#take(sink);
      return journal;
    } catch (error) {
      await journal.close();
      throw error;
    }
  }

  get state(): JournalState {
    return this.#state;
  }

  /** The epoch: position of this owner's latest fence. */
  get fencePosition(): number {
    return this.#fencePosition;
  }

  get acknowledgedPosition(): number {
    return this.#writer.acknowledgedPosition;
  }

  /** Messages staged and not yet acknowledged. */
  get pendingCount(): number {
    return this.#writer.pendingCount;
  }

  /** Whether new commands are to be refused until the log has caught up. */
  get isCongested(): boolean {
    return this.#writer.pendingBytes > PENDING_BYTES_MAX;
  }

  /** Journal time now, ms. */
  now(): number {
    return this.#time.now();
  }

  /**
   * Begins appending. Journal time goes on from `last`, the newest moment that the fold saw.
   * Errors: what `onEnd` was told, when the journal has ended since it was taken.
   */
  open(last: LastMoment | null): void {
    if (this.#ended !== null) throw this.#ended;
    invariant(this.#state === "taking", "a journal is opened once, before it is closed", {
      state: this.#state,
    });
    this.#time = new JournalTime(this.#options.clock, last);
    this.#state = "open";
    this.#schedulePoll();
    if (this.#lost === null) this.#pump();
    else this.#poisoned(this.#lost); // The connection went while the log was read.
  }

  /** Stages one group; `onAcknowledged` runs when the log has all of it, in staging order. Never throws. */
  append(messages: readonly ScopedBody[], onAcknowledged: () => void): void {
    this.#writer.stage(messages, onAcknowledged);
    if (this.#state === "open") this.#pump();
  }

  /** Runs `callback` when everything staged so far is acknowledged. */
  barrier(callback: () => void): void {
    this.#writer.barrier(callback);
  }

  /** Hands the valid, acknowledged records of some scopes to `visit`, in order. `subjects` are full, wildcards allowed. */
  readScopes(
    subjects: readonly string[],
    visit: (record: ReadRecord) => void,
    range: { readonly from?: number; readonly through?: number } = {},
  ): Promise<void> {
    const { log } = this.#options;
    const { from = 1, through: last = Number.POSITIVE_INFINITY } = range;
    const through = Math.min(last, this.#writer.firstIncomplete.position - 1); // Whole groups only.
    return readScopes({ log, epochs: this.epochs, subjects, from, through }, visit);
  }

  /** Subject of the newest message that matches, or null. */
  async lastSubject(subject: string): Promise<string | null> {
    return (await this.#options.log.readLast(subject))?.subject ?? null;
  }

  /** Resolves when nothing is pending, or when the journal has ended. */
  drained(): Promise<void> {
    if (this.#writer.pendingCount === 0 || this.#state === "ended" || this.#state === "closed")
      return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  /** Stops at once; what is pending stays unacknowledged. Idempotent. */
  async close(): Promise<void> {
    this.#state = "closed";
    this.#poll?.cancel();
    this.#settleDrained();
    await this.#follow?.stop();
    await this.#appender?.close();
    this.#appender = null;
    this.#follow = null;
  }

  async #take(sink: ReaderSink): Promise<void> {
    const { log, fenceSubject } = this.#options;
    this.#follow = await log.follow(fenceSubject, (message) => this.#watchFence(message));
    await this.#connect();
    const fence = await this.#fence("take", undefined);
    if (fence.kind !== "stored") throw unfencedError(fence, fenceSubject);
    this.#fencePosition = fence.position;
    this.#writer.begin(fence.writer, fence.position);
    const reader = new JournalReader({
      group: (records, lastPosition) => sink.group(records, lastPosition),
      fault: (fault) => sink.fault(fault),
      fence: (read) => {
        this.epochs.begin(read.writer, read.position, read.validThrough);
        sink.fence(read);
      },
    });
    await log.read({ from: 1, through: fence.position }, (message) => reader.push(message));
    if (reader.halted !== null) throw haltError(reader.halted);
    if (this.#isOverruled(this.#rival)) throw fencedError(this.#rival);
    this.#isTaken = true;
  }

  /** N5. */
  #isOverruled<Fence extends { readonly position: number }>(rival: Fence | null): rival is Fence {
    return rival !== null && this.#fencePosition > 0 && rival.position > this.#fencePosition;
  }

  #watchFence({ frame: line, sequence: position, body }: StoredMessage): void {
    const frame = parseFrame(line);
    if (frame?.index !== 0 || this.#own.has(frame.writer)) return;
    this.#rival = { position, writer: frame.writer, owner: ownerOfFence(body) };
    if (this.#isTaken && this.#isOverruled(this.#rival)) this.#end(fencedError(this.#rival));
  }

  async #connect(): Promise<void> {
    this.#lost = null;
    const appender = await this.#options.log.openAppender({
      onAnswer: (index, answer) => this.#answered(index, answer),
      onDisconnect: (reason) => this.#disconnected(reason),
    });
    if (this.#state === "taking" || this.#state === "resyncing") this.#appender = appender;
    else await appender.close(); // It was closed, or ended, meanwhile.
  }

  /** Publishes a fence and waits for its answer, at most ANSWER_WAIT_MS. */
  async #fence(kind: "take" | "resync", after: number | undefined): Promise<FenceOutcome> {
    const { clock, ids, owner, durability, fenceSubject } = this.#options;
    const writer = ids.writerId();
    this.#own.add(writer);
    const content: FenceBody = {
      v: BODY_VERSION,
      at: clock.wallMs(),
      fence: { owner, durability, kind },
    };
    const body = encodeBody(content);
    const frame = formatFrame({ writer, index: 0, part: 1, parts: 1, checksum: checksumOf(body) });
    const answer = await this.#publishFence({
      subject: fenceSubject,
      id: messageId(writer, 0),
      frame,
      body,
      ...(after === undefined ? {} : { expectedLastSequence: after }),
    });
    if (answer === null) return { kind: "unknown", reason: this.#lost ?? "no answer" };
    if (answer.kind === "stored") {
      return answer.isDuplicate
        ? { kind: "unknown", reason: "answered as a duplicate" }
        : { kind: "stored", writer, position: answer.sequence };
    }
    this.#own.delete(writer); // Nobody will ever read it.
    return { kind: "refused", reason: answer.description };
  }

  #fenceAnswer: ((answer: PublishAnswer | null) => void) | null = null;

  #publishFence(message: Parameters<LogAppender["publish"]>[0]): Promise<PublishAnswer | null> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.wakeIn(ANSWER_WAIT_MS, () => this.#fenceAnswer?.(null));
      this.#fenceAnswer = (answer) => {
        timer.cancel();
        this.#fenceAnswer = null;
        resolve(answer);
      };
      this.#appender?.publish(message, 0);
    });
  }

  #answered(index: number, answer: PublishAnswer): void {
    if (index === 0) {
      this.#fenceAnswer?.(answer);
      return;
    }
    if (this.#state !== "open") return;
    this.#writer.answer(index, answer);
    if (this.#writer.poison === null) this.#pump();
    else void this.#resync(this.#writer.poison.reason);
  }

  #disconnected(reason: string): void {
    this.#lost = reason;
    this.#fenceAnswer?.(null);
    if (this.#state === "open") this.#poisoned(reason);
  }

  #poisoned(reason: string): void {
    this.#writer.poisonWith(reason);
    void this.#resync(reason);
  }

  #pump(): void {
    // Acknowledgement callbacks stage more while answers are handled: one pump at a time keeps the call order.
    if (this.#isPumping || this.#appender === null) return;
    this.#isPumping = true;
    try {
      const appender = this.#appender;
      // Without a sync per acknowledgement a batch gains nothing: singles go out as they come.
      const batchMax = this.#options.durability === "fsync" ? appender.batchMax : 0;
      while (this.#publishNext(appender, batchMax)) {
        // Until the window is full, a batch is under way, or nothing waits.
      }
    } catch (error) {
      // What was handed to a connection that cannot take it is in the log or not: a new one tells (N2).
      return this.#poisoned(`publishing failed: ${String(error)}`);
    } finally {
      this.#isPumping = false;
    }
    if (this.#writer.pendingCount === 0) this.#settleDrained();
  }

  #publishNext(appender: LogAppender, batchMax: number): boolean {
    if (batchMax > 1 && this.#writer.pendingCount > SINGLES_MAX) {
      const batch = this.#writer.nextBatch(batchMax);
      if (batch === null) return false; // What is in flight comes first.
      appender.publishBatch(batch.messages, batch.lastIndex);
      return true;
    }
    const next = this.#writer.next();
    if (next === null) return false;
    appender.publish(next.message, next.index);
    return true;
  }

  #settleDrained(): void {
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  #schedulePoll(): void {
    const askedAtMs = this.#options.clock.monotonicMs();
    this.#poll = this.#options.clock.wakeIn(POLL_MS, () => {
      const nowMs = this.#options.clock.monotonicMs();
      if (this.#state === "ended" || this.#state === "closed") return;
      if (this.#state === "open") this.#judgeSilence(nowMs, nowMs - askedAtMs > 2 * POLL_MS);
      this.#schedulePoll();
    });
  }

  #judgeSilence(nowMs: number, wasLate: boolean): void {
    const position = this.#writer.acknowledgedPosition;
    if (this.#writer.inFlightCount === 0) {
      this.#oldest = null;
      return;
    }
    if (this.#oldest?.position !== position || wasLate) {
      this.#oldest = { position, sinceMs: nowMs };
      return;
    }
    const silentMs = Math.round(nowMs - this.#oldest.sinceMs);
    if (silentMs >= ANSWER_WAIT_MS)
      this.#poisoned(`no answer to the oldest publish for ${silentMs} ms`);
  }

  async #resync(reason: string): Promise<void> {
    if (this.#state !== "open") return;
    this.#state = "resyncing";
    const pending = this.#writer.pendingCount;
    this.#options.onNotice?.({ kind: "resyncing", reason, pending });
    const hasProgressed = this.#writer.firstIncomplete.position > this.#fencePosition + 1;
    if (hasProgressed) this.#delayMs = 0;
    let obstacle: string | null = reason;
    while (obstacle !== null) {
      await this.#pause(obstacle);
      obstacle = this.#state === "resyncing" ? await this.#tryResync() : null;
    }
  }

  async #pause(reason: string): Promise<void> {
    const delayMs = this.#delayMs;
    this.#delayMs = Math.min(Math.max(2 * delayMs, BACKOFF_MS_MIN), BACKOFF_MS_MAX);
    if (delayMs === 0) return;
    this.#options.onNotice?.({ kind: "waiting", reason, delayMs });
    await new Promise<void>((resolve) => this.#options.clock.wakeIn(delayMs, resolve));
  }

  /** Null: open again, or over. Else what stands in the way, for a while. */
  async #tryResync(): Promise<string | null> {
    try {
      return await this.#resyncOnce();
    } catch (error) {
      if (error instanceof JournalError && error.retry !== "never") return error.message;
      const end = isHoldfastError(error) ? error : brokenError(error);
      this.#end(end);
      return null;
    }
  }

  /** Null: open again, or over. Else what stands in the way. Throws: the store is away, or the end. */
  async #resyncOnce(): Promise<string | null> {
    await this.#appender?.close();
    this.#appender = null;
    await this.#connect();
    const { lastSequence } = await this.#options.log.info();
    await this.#reread(lastSequence);
    if (this.#state !== "resyncing") return null;
    const fence = await this.#fence("resync", lastSequence);
    if (this.#state !== "resyncing") return null;
    if (fence.kind !== "stored") return `the fence was not acknowledged: ${fence.reason}`;
    if (this.#lost !== null) return this.#lost;
    this.epochs.begin(fence.writer, fence.position, this.#writer.firstIncomplete.position - 1);
    this.#fencePosition = fence.position;
    this.#writer.begin(fence.writer, fence.position);
    this.#state = "open";
    this.#oldest = null;
    this.#options.onNotice?.({
      kind: "resynced",
      fencePosition: fence.position,
      resent: this.#writer.pendingCount,
    });
    this.#pump();
    return null;
  }

  /** Finds what of ours the log holds, by the reader rule itself, and that it still holds what it acknowledged. */
  async #reread(lastSequence: number): Promise<void> {
    const acknowledged = this.#writer.acknowledgedPosition;
    if (lastSequence < acknowledged) throw rolledBackError(lastSequence, acknowledged);
    const from = this.#writer.firstIncomplete;
    const reader = new JournalReader(
      {
        fence: (read) => {
          if (!this.#own.has(read.writer)) throw fencedBy(read);
        },
        group: () => {
          // Groups of the epoch that is being resynced only: an own fence after it has no groups yet.
          if (this.#state === "resyncing") this.#writer.confirmBelow(reader.state.nextIndex);
        },
        fault: () => undefined, // Void records of others, and our own behind them, are what the new fence settles.
      },
      {
        writer: this.#writer.writer,
        fencePosition: this.#fencePosition,
        nextIndex: from.index,
        validThrough: from.position - 1,
      },
    );
    // A log that lost its end and grew again is as long as before: the last acknowledged record itself has to be there.
    let isKept = false;
    const start = Math.min(from.position, acknowledged);
    await this.#options.log.read({ from: start, through: lastSequence }, (message) => {
      if (message.sequence === acknowledged) {
        isKept = message.id === messageId(this.#writer.writer, acknowledged - this.#fencePosition);
        if (!isKept) throw rolledBackError(acknowledged - 1, acknowledged);
      }
      if (message.sequence >= from.position) reader.push(message);
    });
    if (!isKept) throw rolledBackError(acknowledged - 1, acknowledged);
    if (reader.halted !== null) throw haltError(reader.halted);
  }

  #end(error: HoldfastError): void {
    if (this.#state === "ended" || this.#state === "closed") return;
    this.#state = "ended";
    this.#ended = error;
    this.#poll?.cancel();
    this.#settleDrained();
    this.#options.onEnd(error);
  }
}
