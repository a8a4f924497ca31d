/**
 * The writer: what may be published next, and what is known to be stored.
 *
 * Owns: indices, frames, the chain, the window, acknowledgement in order. Does no I/O and reads no clock: the driver
 * (journal.ts) publishes what `next` gives and hands in the answers.
 *
 * W1. Message i of a writer is expected at position fence + i; each publish is conditional on that position and on its
 *     predecessor's id (the chain). The position alone fences nobody: a rival's one message would displace just one of ours.
 * W2. Acknowledged means: stored, not a duplicate, at the predicted position. Anything else poisons.
 * W3. A group's callback runs when its last message and everything before it is acknowledged, in staging order.
 * W5. A batch (stored whole or not at all, answered once) is alone in flight: what follows one that is refused would be stored.
 *     Its first message carries the expected position; its ids keep the chain for what comes after it.
 * W4. Poisoned, it publishes nothing more. `begin` under a new fence sends again from the first group that is not whole.
 */
import { invariant } from "../../machines/invariant.ts";
import { checksumOf, formatFrame, messageId } from "./frame.ts";
import type { OutgoingMessage, PublishAnswer } from "./log.ts";

/** In flight at once. More gains nothing (measured), and it bounds what a fenced writer can leave behind. */
export const WINDOW_MAX = 256;

/** Up to so many waiting, singles are as fast as a batch; with more, one batch costs one sync to disk (measured). */
export const SINGLES_MAX = 16;
/** Bytes of bodies in one batch, so that it is answered well before its answer is missed. */
const BATCH_BYTES_MAX = 8 * 1024 * 1024;

export interface ScopedBody {
  readonly subject: string;
  readonly body: Uint8Array;
}

interface Group {
  readonly bytes: number;
  callbacks: (() => void)[];
}

interface Entry {
  readonly group: Group;
  readonly subject: string;
  readonly body: Uint8Array;
  readonly checksum: string;
  readonly part: number;
  readonly parts: number;
  isStored: boolean;
}

export interface Poison {
  readonly reason: string;
  /** The store's numeric code, when it gave one. */
  readonly code: number | null;
}

/** What is acknowledged is let go once there is this much of it, or nothing behind it: amortised, and it bounds the waste. */
const COMPACT_AT = 4_096;
const COMPACT_AT_BYTES = 16 * 1024 * 1024;

const NO_CALLBACKS: (() => void)[] = [];

export class JournalWriter {
  #writer = "";
  #fencePosition = 0;
  /** Not yet acknowledged from `#head` on; `#entries[#head]` has index `#headIndex`. */
  #entries: Entry[] = [];
  #head = 0;
  #headIndex = 1;
  /** How many from `#head` on were handed out by `next`. */
  #inFlight = 0;
  #bytes = 0;
  /** Bytes of bodies that are acknowledged and not yet let go. */
  #doneBytes = 0;
  /** The group whose callbacks are running. */
  #called: Group | null = null;
  /** Index of the last message of the batch that is in flight; null while none is. */
  #batch: number | null = null;
  #poison: Poison | null = null;
  #hasBegun = false;

  get writer(): string {
    return this.#writer;
  }

  /** Position up to which everything is acknowledged. */
  get acknowledgedPosition(): number {
    return this.#fencePosition + this.#headIndex - 1;
  }

  /** Bytes of bodies staged and not yet acknowledged. */
  get pendingBytes(): number {
    return this.#bytes;
  }

  get pendingCount(): number {
    return this.#entries.length - this.#head;
  }

  get inFlightCount(): number {
    return this.#inFlight;
  }

  get poison(): Poison | null {
    return this.#poison;
  }

  /** Position and index from which a resync reads: the first message of the first group that is not whole. */
  get firstIncomplete(): { readonly position: number; readonly index: number } {
    const first = this.#entries[this.#head];
    const index = first === undefined ? this.#headIndex : this.#headIndex - (first.part - 1);
    return { position: this.#fencePosition + index, index };
  }

  /** Starts an epoch: the fence `writer` stands at `fencePosition`. What is not whole is sent again, renumbered. */
  begin(writer: string, fencePosition: number): void {
    const first = this.#entries[this.#head];
    // Parts of the first group that were acknowledged under the old fence are void now: its callback has not run.
    if (first !== undefined) this.#head -= first.part - 1;
    this.#entries = this.#entries.slice(this.#head);
    this.#doneBytes = 0;
    for (const entry of this.#entries) entry.isStored = false;
    this.#head = 0;
    this.#headIndex = 1;
    this.#inFlight = 0;
    this.#batch = null;
    this.#writer = writer;
    this.#fencePosition = fencePosition;
    this.#poison = null;
    this.#hasBegun = true;
  }

  /** Adds one group; `onAcknowledged` runs once (W3). Bodies must not change afterwards. */
  stage(messages: readonly ScopedBody[], onAcknowledged: () => void): void {
    invariant(messages.length > 0, "W3: a group has at least one message");
    let bytes = 0;
    for (const { body } of messages) bytes += body.length;
    const group: Group = { bytes, callbacks: [onAcknowledged] };
    const parts = messages.length;
    for (let at = 0; at < parts; at += 1) {
      const { subject, body } = messages[at] as ScopedBody; // at < length
      this.#entries.push({
        group,
        subject,
        body,
        checksum: checksumOf(body),
        part: at + 1,
        parts,
        isStored: false,
      });
    }
    this.#bytes += bytes;
  }

  /** Runs `callback` when all that is staged now is acknowledged: at once when nothing is pending, but in order (W3). */
  barrier(callback: () => void): void {
    const last = this.pendingCount === 0 ? this.#called : this.#entries.at(-1)?.group;
    if (last === null || last === undefined) callback();
    else last.callbacks.push(callback);
  }

  /** The next message to publish, or null: nothing staged, window full, poisoned, a batch in flight, or no fence yet. */
  next(): { readonly message: OutgoingMessage; readonly index: number } | null {
    if (!this.#canPublish || this.#inFlight >= WINDOW_MAX) return null;
    const entry = this.#entries[this.#head + this.#inFlight];
    if (entry === undefined) return null;
    const index = this.#headIndex + this.#inFlight;
    this.#inFlight += 1;
    const { part, parts, checksum, subject, body } = entry;
    // One literal, not a spread: every message makes one.
    const message = {
      subject,
      id: messageId(this.#writer, index),
      frame: formatFrame({ writer: this.#writer, index, part, parts, checksum }),
      body,
      expectedLastSequence: this.#fencePosition + index - 1,
      expectedLastId: messageId(this.#writer, index - 1),
    };
    return { message, index };
  }

  get #canPublish(): boolean {
    return this.#poison === null && this.#hasBegun && this.#batch === null;
  }

  /**
   * Everything that waits, as far as it fits, to be stored whole or not at all (W5); null while anything is in flight, and when
   * there are not two. `batchMax`: most messages that the store takes as one, ≥ 2.
   */
  nextBatch(
    batchMax: number,
  ): { readonly messages: readonly OutgoingMessage[]; readonly lastIndex: number } | null {
    if (!this.#canPublish || this.#inFlight > 0 || this.pendingCount < 2) return null;
    const count = this.#batchCount(batchMax);
    const messages: OutgoingMessage[] = [];
    for (let offset = 0; offset < count; offset += 1) {
      const entry = this.#entries[this.#head + offset] as Entry; // offset < pendingCount
      messages.push(this.#message(entry, this.#headIndex + offset));
    }
    const [first, ...others] = messages as [OutgoingMessage, ...OutgoingMessage[]]; // Two or more.
    this.#inFlight = count;
    this.#batch = this.#headIndex + count - 1;
    const expectedLastSequence = this.#fencePosition + this.#headIndex - 1;
    const chained = { ...first, expectedLastSequence };
    return { messages: [chained, ...others], lastIndex: this.#batch };
  }

  /** As many as fit; a larger group than that goes in several batches, whole by its frames. At least two. */
  #batchCount(batchMax: number): number {
    let bytes = 0;
    let count = 0;
    const countMax = Math.min(batchMax, this.pendingCount);
    while (count < countMax) {
      bytes += this.#entries[this.#head + count]?.body.length ?? 0;
      if (count >= 2 && bytes > BATCH_BYTES_MAX) break;
      count += 1;
    }
    return count;
  }

  #message({ part, parts, checksum, subject, body }: Entry, index: number): OutgoingMessage {
    const frame = formatFrame({ writer: this.#writer, index, part, parts, checksum });
    return { subject, id: messageId(this.#writer, index), frame, body };
  }

  /** Hands in one answer. Acknowledges, or poisons (W2); answers that come after the poison and lie before it still count. */
  answer(index: number, answer: PublishAnswer): void {
    const offset = index - this.#headIndex;
    const entry =
      offset < 0 || offset >= this.#inFlight ? undefined : this.#entries[this.#head + offset];
    if (entry === undefined) return; // Answered before, or of an earlier epoch's appender that is closed.
    const fault = this.#faultOf(index, answer);
    if (fault !== null) {
      // Of a batch that is not stored nothing is.
      this.#inFlight = this.#batch === null ? offset : 0; // Nothing from here on can count: its predecessor is not stored.
      this.#poison ??= fault;
      return;
    }
    if (this.#batch !== null) return this.#batchStored(index);
    entry.isStored = true;
    if (offset === 0) this.#advance();
  }

  /** A batch is answered once, for its last message: all of it is stored. */
  #batchStored(index: number): void {
    invariant(index === this.#batch, "W5: a batch is answered for its last message", { index });
    for (let at = this.#headIndex; at <= index; at += 1) {
      const entry = this.#entries[this.#head + at - this.#headIndex];
      if (entry !== undefined) entry.isStored = true;
    }
    this.#batch = null;
    this.#advance();
  }

  /** What a resync found in the log: every message below `index` is stored. */
  confirmBelow(index: number): void {
    for (let offset = 0; offset < index - this.#headIndex; offset += 1) {
      const entry = this.#entries[this.#head + offset];
      invariant(entry !== undefined, "W2: only what was staged can be stored", { index });
      entry.isStored = true;
    }
    // Not past `index`: an answer that came out of order may tell of a message that the log has lost since.
    this.#advance(index);
  }

  poisonWith(reason: string): void {
    this.#poison ??= { reason, code: null };
  }

  #faultOf(index: number, answer: PublishAnswer): Poison | null {
    switch (answer.kind) {
      case "stored": {
        const expected = this.#fencePosition + index;
        if (answer.isDuplicate)
          return { reason: `message ${index} answered as a duplicate`, code: null };
        if (answer.sequence === expected) return null;
        return {
          reason: `message ${index} stored at ${answer.sequence}, not at ${expected}`,
          code: null,
        };
      }
      case "refused":
        return { reason: answer.description, code: answer.code };
      case "unavailable":
        return { reason: answer.description, code: null };
    }
  }

  #advance(before = Number.POSITIVE_INFINITY): void {
    let entry = this.#entries[this.#head];
    while (entry?.isStored === true && this.#headIndex < before) {
      this.#head += 1;
      this.#headIndex += 1;
      if (this.#inFlight > 0) this.#inFlight -= 1;
      if (entry.part === entry.parts) this.#complete(entry.group);
      entry = this.#entries[this.#head];
    }
    const isLarge = this.#head >= COMPACT_AT || this.#doneBytes >= COMPACT_AT_BYTES;
    if (isLarge || this.pendingCount === 0) this.#compact();
  }

  #complete(group: Group): void {
    this.#bytes -= group.bytes;
    this.#doneBytes += group.bytes;
    this.#called = group;
    try {
      // A barrier that one of them sets is added behind the others, and runs in this loop.
      for (const callback of group.callbacks) callback();
    } finally {
      this.#called = null;
      group.callbacks = NO_CALLBACKS; // What they hold is not to outlive them: the group itself goes with many others.
    }
  }

  /** Drops what is acknowledged, but never a part of the first group that is not whole: a resync sends those again. */
  #compact(): void {
    const first = this.#entries[this.#head];
    const keep = first === undefined ? 0 : first.part - 1;
    this.#entries = this.#entries.slice(this.#head - keep);
    this.#head = keep;
    this.#doneBytes = 0;
  }
}
