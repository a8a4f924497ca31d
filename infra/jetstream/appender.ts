/**
 * The publishing connection.
 *
 * Owns: the bytes of a publish, which answer belongs to which publish, the end of the connection. Does not own: what silence or
 * a refusal means (the journal).
 *
 * A1. One connection, never reconnected: what was sent on it is sent now or never.
 * A2. An answer is matched by the index in its reply subject, not by its place in a queue.
 * A3. The end comes once: after `close` or `onDisconnect` nothing is answered any more, whatever is still in a buffer.
 * A4. Publishing costs 5 µs a message (measured), because headers are written by hand and an answer of the usual form is read
 *     from its bytes; everything unusual is parsed as JSON.
 * A5. What is published in one round of the event loop goes out in one write: a write a message was a third of all cost of
 *     many small turns (measured). It leaves before the loop looks for input again.
 */
import { Events, type Msg, type MsgHdrs, type NatsConnection, type PublishOptions } from "nats";
import { JournalError } from "../../actors/errors.ts";
import { BODY_BYTES_MAX } from "../../actors/journal/codec.ts";
import type { AppenderEvents, LogAppender, OutgoingMessage } from "../../actors/journal/log.ts";
import { invariant } from "../../machines/invariant.ts";
import {
  newInbox,
  openBareConnection,
  REQUEST_WAIT_MS,
  type ServerAddress,
  throwOutside,
} from "./connection.ts";
import { translateError } from "./errors.ts";
import { encodeHeaders, HEADER_BYTES_MAX } from "./headers.ts";
import type { PartitionNames } from "./names.ts";
import { answerReader, isStaged } from "./publish-answer.ts";

/** What the client's publish path asks of headers: their bytes, once, at once. */
interface EncodedHeaders {
  bytes: Buffer;
  encode(): Buffer;
}

/** A message of this round, its headers encoded. */
interface Outbound {
  readonly subject: string;
  readonly body: Uint8Array;
  readonly headers: Buffer;
  readonly reply: string;
}

const PAYLOAD_BYTES_MIN = BODY_BYTES_MAX + HEADER_BYTES_MAX;
const UNSAFE_SUBJECT = /[\s\0]/;

/** `batchMax`: most messages that the stream takes as one; default 0, singles only. Errors: JournalError when the server cannot be reached, or takes only smaller messages than a journal writes. */
export async function openAppender(
  address: ServerAddress,
  names: PartitionNames,
  events: AppenderEvents,
  batchMax = 0,
): Promise<LogAppender> {
  const connection = await openBareConnection(address, `holdfast-append-${names.stream}`);
  const details = { stream: names.stream, url: address.url, waitMs: REQUEST_WAIT_MS };
  try {
    checkPayload(connection);
    const appender = new JetStreamAppender(connection, names, newInbox(address), events, batchMax);
    await roundTrip(connection);
    appender.open();
    return appender;
  } catch (error) {
    await connection.close();
    throw translateError(error, { action: `open an appender of ${names.stream}`, details });
  }
}

function checkPayload(connection: NatsConnection): void {
  const payloadBytesMax = connection.info?.max_payload ?? 0;
  if (payloadBytesMax >= PAYLOAD_BYTES_MIN) return;
  const message = `The server takes messages of at most ${payloadBytesMax} bytes (max_payload); a journal needs ${PAYLOAD_BYTES_MIN}.`;
  const details = { outcome: "refused", payloadBytesMax, payloadBytesMin: PAYLOAD_BYTES_MIN };
  throw new JournalError(message, { retry: "never", details });
}

/** Resolves when the server has handled what was sent before. The client alone would wait for ever for one that is gone. */
async function roundTrip(connection: NatsConnection): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = Object.assign(new Error("no answer"), { code: "TIMEOUT" });
    timer = setTimeout(() => reject(error), REQUEST_WAIT_MS);
  });
  const gone = connection.closed().then((error) => {
    throw Object.assign(new Error(reasonOf(error)), { code: "CONNECTION_CLOSED" });
  });
  try {
    await Promise.race([connection.flush(), late, gone]);
  } finally {
    clearTimeout(timer);
    // Looked at once more when the connection ends, with nobody waiting any longer.
    gone.catch(() => undefined);
  }
}

class JetStreamAppender implements LogAppender {
  readonly batchMax: number;
  readonly #connection: NatsConnection;
  readonly #names: PartitionNames;
  readonly #events: AppenderEvents;
  readonly #inbox: string;
  readonly #subjectHead: string;
  readonly #readAnswer: ReturnType<typeof answerReader>;
  readonly #headers: EncodedHeaders = {
    bytes: Buffer.alloc(0),
    encode() {
      return this.bytes;
    },
  };
  readonly #options: PublishOptions;
  #round: Outbound[] = [];
  #isOpen = false;
  #isOver = false;
  /** What went wrong before `open`. */
  #fault: Error | null = null;

  constructor(
    connection: NatsConnection,
    names: PartitionNames,
    inbox: string,
    events: AppenderEvents,
    batchMax: number,
  ) {
    this.batchMax = batchMax;
    this.#connection = connection;
    this.#names = names;
    this.#events = events;
    this.#inbox = `${inbox}.`;
    this.#subjectHead = `${names.prefix}.`;
    this.#readAnswer = answerReader(names.stream);
    // The client calls `encode` and nothing else; a header object of its own kind would triple the cost of a publish.
    this.#options = { reply: "", headers: this.#headers as unknown as MsgHdrs };
    connection.subscribe(`${inbox}.*`, {
      callback: (error, message) => {
        if (error === null) this.#answered(message);
        else this.#end(error);
      },
    });
    connection
      .closed()
      .then((error) => this.#end(new Error(reasonOf(error))))
      .catch(throwOutside);
    this.#watch().catch(throwOutside);
  }

  /** The server knows the subscription: no answer can be missed from here on. Throws what went wrong until now. */
  open(): void {
    if (this.#fault !== null) throw this.#fault;
    this.#isOpen = true;
  }

  publish(message: OutgoingMessage, index: number): void {
    this.#check(message);
    this.#send({
      subject: message.subject,
      body: message.body,
      headers: encodeHeaders(message),
      reply: this.#inbox + index,
    });
  }

  /** The first and the last one ask for an answer: the first one's is empty, unless the server refuses to begin. */
  publishBatch(messages: readonly OutgoingMessage[], lastIndex: number): void {
    const isPossible = messages.length >= 2 && messages.length <= this.batchMax;
    invariant(isPossible, "a batch has its size checked before it is published");
    const id = messages.at(-1)?.id ?? "";
    const reply = this.#inbox + lastIndex;
    for (const [at, message] of messages.entries()) {
      this.#check(message);
      const isLast = at === messages.length - 1;
      this.#send({
        subject: message.subject,
        body: message.body,
        headers: encodeHeaders(message, { id, sequence: at + 1, isLast }),
        reply: at === 0 || isLast ? reply : "",
      });
    }
  }

  #check({ subject, body }: OutgoingMessage): void {
    if (!subject.startsWith(this.#subjectHead) || UNSAFE_SUBJECT.test(subject)) {
      const said = "a message is published under the partition's own prefix";
      invariant(false, said, { subject, prefix: this.#names.prefix });
    }
    if (body.length > BODY_BYTES_MAX) {
      const said = "a body has its size checked before it is published";
      invariant(false, said, { subject, bytes: body.length });
    }
  }

  #send(outbound: Outbound): void {
    if (this.#isOver) return;
    this.#round.push(outbound);
    if (this.#round.length === 1) setImmediate(() => this.#sendRound());
  }

  #sendRound(): void {
    const round = this.#round;
    this.#round = [];
    for (const { subject, body, headers, reply } of round) {
      if (this.#isOver || this.#connection.isClosed()) return;
      this.#headers.bytes = headers;
      this.#options.reply = reply;
      this.#connection.publish(subject, body, this.#options);
    }
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await this.#connection.close();
  }

  #answered(message: Msg): void {
    if (this.#isOver || isStaged(message)) return;
    try {
      const index = Number(message.subject.slice(this.#inbox.length));
      this.#events.onAnswer(index, this.#readAnswer(message));
    } catch (thrown) {
      throwOutside(thrown);
    }
  }

  /** An error that the server tells (a publish that this user may not make) would otherwise be silence. */
  async #watch(): Promise<void> {
    for await (const { type, data } of this.#connection.status()) {
      if (type !== Events.Error) continue;
      this.#end(Object.assign(new Error(`the server said ${String(data)}`), { code: data }));
      if (this.#isOpen) await this.#connection.close();
    }
  }

  #end(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (!this.#isOpen) {
      this.#fault = error;
      return;
    }
    try {
      this.#events.onDisconnect(error.message);
    } catch (thrown) {
      throwOutside(thrown);
    }
  }
}

/** `closed` resolves to nothing, or to the error that closed the connection. */
const reasonOf = (error: unknown): string =>
  error instanceof Error ? error.message : "the server closed the connection";
