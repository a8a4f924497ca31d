/**
 * Connections to the server.
 *
 * Owns: the client's options, the connection that reads (it reconnects), the bare connection of an appender (it does not).
 * Does not own: what is sent on them.
 *
 * C1. Nothing waits without a bound. A request is answered, or fails after REQUEST_WAIT_MS, or fails at once when the
 *     connection is lost: the client alone would drop it silently and let it time out.
 * C2. Nothing is sent on a lost connection: what the client would keep for the next one it drops at the next dial.
 * C3. A callback that throws would end the client's read loop, with the connection looking alive. `subscribe` therefore takes
 *     callbacks that must not throw, and what one throws all the same is a programmer error that stops the process.
 */
import {
  type ConnectionOptions,
  connect,
  createInbox,
  Events,
  type Msg,
  type MsgHdrs,
  type NatsConnection,
  type Subscription,
} from "nats";
import { IllegalStateError, JournalError } from "../../actors/errors.ts";
import { parseVersion } from "../nats-server/binary/version.ts";
import { connectionOptions } from "../nats-server/credentials.ts";
import { type Attempt, codeOf, translateError } from "./errors.ts";

/** Where the server is and who we are there; a launcher's `Login` with its URL is one. */
export interface ServerAddress {
  /** `nats://host:port`, or `tls://host:port`. */
  readonly url: string;
  readonly user?: string;
  readonly password?: string;
  readonly token?: string;
  /** First token of reply subjects, when the user may subscribe to no other. Default `_INBOX`. */
  readonly inboxPrefix?: string;
}

const INBOX_PREFIX_DEFAULT = "_INBOX";

/** A subject that only this connection listens to. */
export const newInbox = (address: ServerAddress): string =>
  createInbox(address.inboxPrefix ?? INBOX_PREFIX_DEFAULT);

const CONNECT_WAIT_MS = 5_000;
export const REQUEST_WAIT_MS = 5_000;
/** Two unanswered pings, this far apart, and the connection is given up. */
const PING_INTERVAL_MS = 10_000;
const RECONNECT_WAIT_MS = 250;

function optionsOf(address: ServerAddress, name: string): ConnectionOptions {
  const inboxPrefix = address.inboxPrefix ?? INBOX_PREFIX_DEFAULT;
  return {
    ...connectionOptions(address.url, { ...address, inboxPrefix }),
    name,
    timeout: CONNECT_WAIT_MS,
    pingInterval: PING_INTERVAL_MS,
    // A stack trace for each request costs more than the request.
    noAsyncTraces: true,
  };
}

async function open(address: ServerAddress, options: ConnectionOptions): Promise<NatsConnection> {
  try {
    return await connect(options);
  } catch (error) {
    const details = { url: address.url, waitMs: CONNECT_WAIT_MS };
    throw translateError(error, { action: `connect to ${address.url}`, details });
  }
}

/** Bytes that the client gathers before it writes within a round of the event loop: a whole window, so that it is one write. */
const ROUND_BYTES = 256 * 1024;

/** A connection that ends when the server does: what was sent on it can never be sent again by the client. */
export const openBareConnection = (
  address: ServerAddress,
  name: string,
): Promise<NatsConnection> => {
  // The client takes the limit and does not name it in its types.
  const options: ConnectionOptions & { readonly pendingLimit: number } = {
    ...optionsOf(address, name),
    reconnect: false,
    pendingLimit: ROUND_BYTES,
  };
  return open(address, options);
};

/** Makes what a callback throws an uncaught exception, outside of the client's read loop (C3). */
export function throwOutside(error: unknown): void {
  queueMicrotask(() => {
    throw error;
  });
}

interface RequestOptions {
  readonly headers?: MsgHdrs;
  /** Default: REQUEST_WAIT_MS. */
  readonly waitMs?: number;
}

/** The shared connection of everything that reads. It reconnects for ever, until `close`. */
export class ReadConnection {
  readonly #connection: NatsConnection;
  readonly #address: ServerAddress;
  readonly #interruptions = new Set<(error: Error) => void>();
  readonly #resumptions = new Set<() => void>();
  #isConnected = true;

  private constructor(connection: NatsConnection, address: ServerAddress) {
    this.#connection = connection;
    this.#address = address;
  }

  /** Errors: JournalError when the server cannot be reached or does not accept the user. */
  static async open(address: ServerAddress, name: string): Promise<ReadConnection> {
    const connection = await open(address, {
      ...optionsOf(address, name),
      // The client's own default gives up for good after ten.
      maxReconnectAttempts: -1,
      ignoreAuthErrorAbort: true,
      reconnectTimeWait: RECONNECT_WAIT_MS,
    });
    const reader = new ReadConnection(connection, address);
    reader.#watch().catch(throwOutside);
    return reader;
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  /** Whether one consumer may have several filter subjects: since 2.10. A later server may have been started meanwhile. */
  get hasFilterList(): boolean {
    const version = parseVersion(`v${this.#connection.info?.version ?? ""}`);
    return version !== null && (version.major > 2 || (version.major === 2 && version.minor >= 10));
  }

  inbox(): string {
    return newInbox(this.#address);
  }

  /**
   * Errors: JournalError (C1). Waits for a lost connection to come back, up to REQUEST_WAIT_MS; then for the answer, up to
   * `waitMs` (default: REQUEST_WAIT_MS).
   */
  async request(
    subject: string,
    payload: string,
    attempt: Attempt,
    { headers, waitMs: timeout = REQUEST_WAIT_MS }: RequestOptions = {},
  ): Promise<Msg> {
    if (!this.#isConnected) await this.#resumed(attempt);
    const options = { timeout, ...(headers === undefined ? {} : { headers }) };
    return this.#orInterruption(this.#connection.request(subject, payload, options), attempt);
  }

  /** Resolves when the server has handled all that was sent before. Errors: JournalError. */
  async flush(attempt: Attempt): Promise<void> {
    if (!this.#isConnected) await this.#resumed(attempt);
    await this.#orInterruption(this.#connection.flush(), attempt);
  }

  /** `onMessage` must not throw (C3). The client subscribes again by itself when it has reconnected. */
  subscribe(
    subject: string,
    onMessage: (message: Msg) => void,
    onError: (error: Error) => void,
  ): Subscription {
    return this.#connection.subscribe(subject, {
      callback: (error, message) => {
        try {
          if (error === null) onMessage(message);
          else onError(error);
        } catch (thrown) {
          throwOutside(thrown);
        }
      },
    });
  }

  /** Sends, if there is a connection (C2). */
  publish(subject: string): void {
    if (this.#isConnected && !this.#connection.isClosed()) this.#connection.publish(subject);
  }

  /** Calls `listener` when the connection is lost or closed. Returns how to stop that. */
  onInterruption(listener: (error: Error) => void): () => void {
    this.#interruptions.add(listener);
    return () => this.#interruptions.delete(listener);
  }

  /** Calls `listener` when a lost connection is back. Returns how to stop that. */
  onResumption(listener: () => void): () => void {
    this.#resumptions.add(listener);
    return () => this.#resumptions.delete(listener);
  }

  async close(): Promise<void> {
    this.#isConnected = false;
    this.#interrupt(new IllegalStateError("The log was closed."));
    await this.#connection.close();
  }

  async #watch(): Promise<void> {
    for await (const { type } of this.#connection.status()) {
      if (type === Events.Disconnect) {
        this.#isConnected = false;
        const details = { outcome: "refused", url: this.#address.url };
        this.#interrupt(
          new JournalError(`The connection to ${this.#address.url} was lost.`, { details }),
        );
      } else if (type === Events.Reconnect && !this.#connection.isClosed()) {
        this.#isConnected = true;
        for (const listener of [...this.#resumptions]) listener();
      }
    }
  }

  #interrupt(error: Error): void {
    for (const listener of [...this.#interruptions]) listener(error);
  }

  #resumed(attempt: Attempt): Promise<void> {
    if (this.#connection.isClosed()) {
      return Promise.reject(
        new IllegalStateError(`Could not ${attempt.action}: the log is closed.`),
      );
    }
    return new Promise((resolve, reject) => {
      const settle = (done: () => void): void => {
        clearTimeout(timer);
        stops.forEach((stop) => {
          stop();
        });
        done();
      };
      const timer = setTimeout(() => {
        const away = new Error(`not connected for ${REQUEST_WAIT_MS} ms`);
        const error = Object.assign(away, { code: "CONNECTION_TIMEOUT" });
        settle(() => reject(translateError(error, attempt)));
      }, REQUEST_WAIT_MS);
      const stops = [
        this.onResumption(() => settle(resolve)),
        // Only a close interrupts a connection that is lost already.
        this.onInterruption((error) => settle(() => reject(error))),
      ];
    });
  }

  /** `work`, or the loss of the connection if that comes first. */
  #orInterruption<Result>(work: Promise<Result>, attempt: Attempt): Promise<Result> {
    return new Promise((resolve, reject) => {
      const stop = this.onInterruption((error) => {
        stop();
        reject(codeOf(error) === "illegal_state" ? error : lostError(error, attempt));
      });
      work.then(
        (result) => {
          stop();
          resolve(result);
        },
        (error: unknown) => {
          stop();
          reject(translateError(error, attempt));
        },
      );
    });
  }
}

const lostError = (cause: Error, attempt: Attempt): JournalError =>
  translateError(
    Object.assign(new Error(cause.message, { cause }), { code: "DISCONNECT" }),
    attempt,
  );
