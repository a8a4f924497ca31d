/**
 * The reader rule: which stored messages are valid, decided from the log alone and by every reader alike.
 *
 * Owns: the walk over the whole stream in order. Does not own: reading (Log), folding (what a valid transition does),
 * readers that see only some subjects (scoped-reader.ts).
 *
 * R1. A record is valid if its writer is that of the latest fence, its index follows, and its group is whole.
 * R2. A fence voids the incomplete group before it, and every later record of an older writer.
 * R3. A frame that holds over a body that does not is *damaged*: it keeps its place in its group, and its scope is set aside
 *     when that group is whole. In a group that a fence voids it is void like the rest.
 * R4. An index that does not follow, or more void records in a row than a window can hold, halts: nothing is dropped silently.
 */
import { decodeBody, type FenceBody, type RecordBody } from "./codec.ts";
import { checksumOf, type Frame, parseFrame } from "./frame.ts";
import type { StoredMessage } from "./log.ts";

/** More void records than this in a row cannot come from a writer that was fenced in flight (window 256, batch 1,000). */
export const VOID_RUN_MAX = 2_048;

export interface ReadRecord {
  readonly position: number;
  readonly subject: string;
  readonly body: RecordBody;
}

export type ReadFault =
  | {
      readonly kind: "void";
      readonly position: number;
      readonly subject: string;
      readonly reason: string;
    }
  | {
      readonly kind: "damaged";
      readonly position: number;
      readonly subject: string;
      readonly reason: string;
    };

/** A new owner. */
export interface ReadFence {
  readonly position: number;
  readonly writer: string;
  readonly body: FenceBody;
  /** Up to where the epoch before it is valid: its last whole group, or its own fence. */
  readonly validThrough: number;
  /** Records of the incomplete group before it, void now. */
  readonly voided: number;
}

export interface ReaderSink {
  fence(fence: ReadFence): void;
  /** A whole group; damaged members are missing from it and were told by `fault` before. */
  group(records: readonly ReadRecord[], lastPosition: number): void;
  fault(fault: ReadFault): void;
}

export interface Halt {
  readonly position: number;
  readonly reason: string;
}

/** State that a reader can be started with again; it goes on with the message behind `validThrough`. */
export interface ReaderState {
  /** Null: no fence yet. */
  readonly writer: string | null;
  readonly fencePosition: number;
  /** Index of the owner's first record behind `validThrough`. */
  readonly nextIndex: number;
  /** Last position up to which all is decided: a whole group's end or a fence. */
  readonly validThrough: number;
}

export class JournalReader {
  readonly #sink: ReaderSink;
  #writer: string | null = null;
  #fencePosition = 0;
  #nextIndex = 0;
  #validThrough = 0;
  #voidRun = 0;
  #halt: Halt | null = null;
  #pending: ReadRecord[] = [];
  /** Damaged parts of the group so far: told when it is whole, since a fence makes nothing of them (R2). */
  #pendingFaults: ReadFault[] = [];
  #pendingParts = 0;
  #pendingSeen = 0;

  /** `from`: the state of another reader, to go on behind its `validThrough`; default: the beginning of the stream. */
  constructor(sink: ReaderSink, from?: ReaderState) {
    this.#sink = sink;
    if (from === undefined) return;
    this.#writer = from.writer;
    this.#fencePosition = from.fencePosition;
    this.#nextIndex = from.nextIndex;
    this.#validThrough = from.validThrough;
  }

  get state(): ReaderState {
    return {
      writer: this.#writer,
      fencePosition: this.#fencePosition,
      nextIndex: this.#nextIndex - this.#pendingSeen,
      validThrough: this.#validThrough,
    };
  }

  /** Why reading stopped, or null. After a halt every push is ignored. */
  get halted(): Halt | null {
    return this.#halt;
  }

  push(message: StoredMessage): void {
    if (this.#halt !== null) return;
    const frame = parseFrame(message.frame);
    if (frame === null) return this.#void(message, "no frame of ours");
    if (frame.index === 0) return this.#takeFence(message, frame);
    if (frame.writer !== this.#writer)
      return this.#void(message, `writer ${frame.writer} is not the owner`);
    if (frame.index !== this.#nextIndex) {
      return this.#stop(message, `index ${frame.index} where ${this.#nextIndex} follows`);
    }
    const inGroup = this.#pendingSeen + 1;
    if (frame.part !== inGroup || (inGroup > 1 && frame.parts !== this.#pendingParts)) {
      return this.#stop(message, `part ${frame.part}/${frame.parts} where part ${inGroup} follows`);
    }
    this.#voidRun = 0;
    this.#nextIndex += 1;
    this.#pendingSeen = inGroup;
    this.#pendingParts = frame.parts;
    this.#keep(message, frame);
    if (inGroup === frame.parts) this.#close(message.sequence);
  }

  #keep(message: StoredMessage, frame: Frame): void {
    const { sequence: position, subject } = message;
    if (checksumOf(message.body) !== frame.checksum) {
      const reason = "the body does not match its checksum";
      this.#pendingFaults.push({ kind: "damaged", position, subject, reason });
      return;
    }
    const decoded = decodeBody(message.body);
    if (decoded.kind !== "record") {
      const reason = decoded.kind === "fence" ? "a fence that is not at index 0" : decoded.reason;
      this.#pendingFaults.push({ kind: "damaged", position, subject, reason });
      return;
    }
    this.#pending.push({ position, subject, body: decoded.body });
  }

  #close(position: number): void {
    const group = this.#pending;
    const faults = this.#pendingFaults;
    this.#forgetPending();
    this.#validThrough = position;
    for (const fault of faults) this.#sink.fault(fault);
    if (group.length > 0) this.#sink.group(group, position);
  }

  #takeFence(message: StoredMessage, frame: Frame): void {
    const decoded = checksumOf(message.body) === frame.checksum ? decodeBody(message.body) : null;
    if (decoded?.kind !== "fence") {
      // Who owns the stream from here on cannot be told: going on would be a guess.
      return this.#stop(
        message,
        `a fence that cannot be read${decoded?.kind === "unreadable" ? `: ${decoded.reason}` : ""}`,
      );
    }
    const voided = this.#pendingSeen;
    this.#forgetPending();
    this.#voidRun = 0;
    this.#writer = frame.writer;
    this.#fencePosition = message.sequence;
    this.#nextIndex = 1;
    const validThrough = this.#validThrough;
    this.#validThrough = message.sequence;
    this.#sink.fence({
      position: message.sequence,
      writer: frame.writer,
      body: decoded.body,
      validThrough,
      voided,
    });
  }

  #forgetPending(): void {
    this.#pending = [];
    this.#pendingFaults = [];
    this.#pendingParts = 0;
    this.#pendingSeen = 0;
  }

  #void(message: StoredMessage, reason: string): void {
    this.#voidRun += 1;
    this.#sink.fault({
      kind: "void",
      position: message.sequence,
      subject: message.subject,
      reason,
    });
    if (this.#voidRun > VOID_RUN_MAX) {
      this.#stop(message, `more than ${VOID_RUN_MAX} void records in a row`);
    }
  }

  #stop(message: StoredMessage, reason: string): void {
    this.#halt = { position: message.sequence, reason };
  }
}
