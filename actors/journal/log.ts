/**
 * The Log port: the one thing the journal needs from a store.
 *
 * Owns: the shapes that cross the border between the sans-IO journal (writer, reader rule, resync) and an adapter.
 * Does not own: what a body says (codec.ts), which records are valid (reader.ts), when to publish (writer.ts).
 *
 * L1. A log is one totally ordered stream: sequences start at 1 and rise; a hole is never filled later.
 * L2. A publish is answered once or never. Never is normal (a lost ack); the journal decides what silence means.
 * L3. A conditional publish is stored only if its expectation holds at the instant of storing.
 * L4. An adapter adds no retry, no reordering and no buffering across connections.
 */

/** What is sent to be stored. */
export interface OutgoingMessage {
  /** Full subject the message is stored under. */
  readonly subject: string;
  /** `<writer>.<index>`; unique for ever. Stored, and given back by `read`. */
  readonly id: string;
  /** The frame line (frame.ts); opaque to the adapter. Stored, and given back by `read`. */
  readonly frame: string;
  readonly body: Uint8Array;
  /** Stored only if the stream's last sequence is this. Absent: unconditional. */
  readonly expectedLastSequence?: number;
  /** Stored only if the id of the stream's last message is this. Absent: unconditional. */
  readonly expectedLastId?: string;
}

/** What a store answered to one publish. */
export type PublishAnswer =
  /** `isDuplicate`: the store says it had this id already, and stored nothing now. */
  | { readonly kind: "stored"; readonly sequence: number; readonly isDuplicate: boolean }
  /** The store refused, with its numeric code (10071 wrong last sequence, 10070 wrong last id, 10023 full, …). */
  | { readonly kind: "refused"; readonly code: number; readonly description: string }
  /** Nothing is listening there (no stream, store down). */
  | { readonly kind: "unavailable"; readonly description: string };

/** What is read back. */
export interface StoredMessage {
  readonly sequence: number;
  /** Wall time at which the store took it, ms since the epoch; information only, never decides. */
  readonly storedAtMs: number;
  readonly subject: string;
  /** Empty when the message was stored without one (then it is not ours). */
  readonly id: string;
  /** Empty when the message was stored without one (then it is not ours). */
  readonly frame: string;
  readonly body: Uint8Array;
}

export interface LogInfo {
  /** Sequence of the oldest message kept; lastSequence + 1 when empty. */
  readonly firstSequence: number;
  /** 0 when nothing was ever stored. */
  readonly lastSequence: number;
  readonly bytes: number;
  /** Size limit in bytes; null when there is none. */
  readonly bytesMax: number | null;
}

export interface ReadOptions {
  /** First sequence wanted, ≥ 1. */
  readonly from: number;
  /** Last sequence wanted, inclusive; must be ≤ the log's last sequence at the time of the call. Default: that last sequence. */
  readonly through?: number;
  /** Only messages whose subject matches one of these (NATS wildcards `*` and `>`), at most 64. Default: all. */
  readonly subjects?: readonly string[];
}

/** One connection that publishes. A poisoned writer closes it and opens another: nothing sent on the old one can slip in later. */
export interface LogAppender {
  /** Most messages that `publishBatch` takes; 0 where the store cannot take several as one. */
  readonly batchMax: number;
  /**
   * Sends several messages that are stored together, one behind the other, or not at all; 2 … `batchMax` of them. Only the first
   * may expect a last sequence, none a last id. Answered once, with the last one's sequence, under `lastIndex`. Between sending
   * and answer nothing else may be sent: what follows a batch that is refused would be stored (measured).
   */
  publishBatch(messages: readonly OutgoingMessage[], lastIndex: number): void;
  /**
   * Sends at once, in call order, and returns. The answer arrives at the `onAnswer` given to `openAppender`, with `index`.
   * Never throws for an operating reason: a dead connection is silence (L2). `index` is the caller's, 0 ≤ index < 2^53.
   */
  publish(message: OutgoingMessage, index: number): void;
  /** Drops the connection; nothing unsent is sent afterwards; no answer arrives after it resolves. Idempotent. */
  close(): Promise<void>;
}

export interface AppenderEvents {
  /** One publish was answered. Must not throw. */
  readonly onAnswer: (index: number, answer: PublishAnswer) => void;
  /** The connection is gone (server died, network); called at most once, never after `close`. */
  readonly onDisconnect: (reason: string) => void;
}

export interface Log {
  /** Opens a publishing connection. Rejects with JournalError when the store cannot be reached. */
  openAppender(events: AppenderEvents): Promise<LogAppender>;
  info(): Promise<LogInfo>;
  /** Calls `visit` for each message in sequence order, then resolves. A throw of `visit` ends the read and rejects with it. */
  read(options: ReadOptions, visit: (message: StoredMessage) => void): Promise<void>;
  /** The newest message whose subject matches (wildcards allowed), or null. */
  readLast(subject: string): Promise<StoredMessage | null>;
  /** Calls `visit` for messages stored from now on whose subject matches; never for refused publishes. Ends with `stop()`. */
  follow(
    subject: string,
    visit: (message: StoredMessage) => void,
  ): Promise<{ stop(): Promise<void> }>;
  /** Closes what reads and follows use. Appenders are closed by who opened them. */
  close(): Promise<void>;
}
