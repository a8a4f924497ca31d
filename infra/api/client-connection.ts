/**
 * A client's connection: one request, one answer, or an error with a code.
 *
 * Owns: asking within a bound, telling apart why no answer came. Does not own: what is asked (client.ts).
 *
 * K1. A request ends: with an answer, with its time, or at once when the connection is lost. The client of this library alone
 *     would drop it silently and let it time out.
 * K2. An error says whether the request may have been carried out. Where it may, asking again with the same id is safe.
 */
import { connect, ErrorCode, Events, type NatsConnection, NatsError } from "nats";
import {
  ExternalServiceError,
  ForbiddenError,
  type HoldfastError,
  IllegalStateError,
  InvalidArgumentError,
} from "../../actors/errors.ts";
import { connectionOptions, type Login } from "../nats-server/credentials.ts";
import { parseJson } from "../nats-server/folder.ts";

export interface ClientOptions {
  /** `nats://host:port`, or `tls://host:port`. */
  readonly url: string;
  /** Default: "default". */
  readonly namespace?: string;
  /** Of the role `operator`, or `observer` for queries alone. Default: none. */
  readonly login?: Login;
  /** Default: 5 000 ms. */
  readonly connectWaitMs?: number;
  /** How long an answer may take besides what it was asked to wait. Default: 10 000 ms. */
  readonly answerWaitMs?: number;
}

const CONNECT_WAIT_MS = 5_000;
const PING_INTERVAL_MS = 5_000;
const RECONNECT_WAIT_MS = 250;

export interface Ask {
  readonly subject: string;
  readonly body: unknown;
  readonly waitMs: number;
}

export class ClientConnection {
  readonly #connection: NatsConnection;
  readonly #url: string;
  readonly #interruptions = new Set<() => void>();
  #isConnected = true;

  private constructor(connection: NatsConnection, url: string) {
    this.#connection = connection;
    this.#url = url;
  }

  /** Errors: ExternalServiceError (nobody answers there), ForbiddenError (the login is refused). */
  static async open(options: ClientOptions): Promise<ClientConnection> {
    const { url, login = { inboxPrefix: "_INBOX" }, connectWaitMs = CONNECT_WAIT_MS } = options;
    try {
      const connection = await connect({
        ...connectionOptions(url, login),
        name: "holdfast-client",
        timeout: connectWaitMs,
        pingInterval: PING_INTERVAL_MS,
        maxReconnectAttempts: -1,
        reconnectTimeWait: RECONNECT_WAIT_MS,
        noAsyncTraces: true,
      });
      const client = new ClientConnection(connection, url);
      client.#watch();
      return client;
    } catch (error) {
      throw isRefusal(error) ? forbidden(url, error) : unreachable(url, error);
    }
  }

  /** The answer's JSON. Errors: those of `open`, and InvalidArgumentError for what the server lets nobody send. */
  async ask({ subject, body, waitMs }: Ask): Promise<unknown> {
    const bytes = Buffer.from(JSON.stringify(body));
    this.#checkSize(bytes.length);
    if (this.#connection.isClosed()) throw closedError(undefined);
    // What is sent on a lost connection is dropped when the next one is made.
    if (!this.#isConnected) throw unreachable(this.#url, undefined);
    try {
      const answer = await this.#orInterruption(
        this.#connection.request(subject, bytes, { timeout: waitMs }),
      );
      return parseJson(answer.string());
    } catch (error) {
      throw this.#translate(error, subject, waitMs);
    }
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  #checkSize(bytes: number): void {
    const bytesMax = this.#connection.info?.max_payload ?? Number.POSITIVE_INFINITY;
    if (bytes <= bytesMax) return;
    throw new InvalidArgumentError(
      `The request takes ${bytes} bytes, and the server lets ${bytesMax} through. Hand large data over by reference.`,
      { details: { bytes, bytesMax } },
    );
  }

  #watch(): void {
    const watch = async (): Promise<void> => {
      for await (const { type } of this.#connection.status()) {
        if (type === Events.Reconnect) this.#isConnected = true;
        if (type !== Events.Disconnect) continue;
        this.#isConnected = false;
        for (const interrupt of [...this.#interruptions]) interrupt();
      }
    };
    // The status ends with the connection; without it a lost connection is found by the request's own time.
    watch().catch(() => undefined);
  }

  #orInterruption<Result>(work: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const interrupt = (): void =>
        reject(new NatsError("the connection was lost", ErrorCode.Disconnect));
      this.#interruptions.add(interrupt);
      work.then(resolve, reject).finally(() => this.#interruptions.delete(interrupt));
    });
  }

  #translate(error: unknown, subject: string, waitMs: number): HoldfastError {
    // A close is told to those who wait as if their time were over.
    if (this.#connection.isClosed()) return closedError(error);
    const code = error instanceof NatsError ? error.code : "";
    const details = { service: "holdfast", url: this.#url, subject };
    switch (code) {
      case ErrorCode.NoResponders:
        return new ExternalServiceError(
          `No daemon answers on ${subject} at ${this.#url}: it is not up, or has another namespace.`,
          { cause: error, details: { ...details, outcome: "refused" } },
        );
      case ErrorCode.Timeout:
        return new ExternalServiceError(
          `The daemon did not answer on ${subject} within ${waitMs} ms; whether it did what was asked is not known.`,
          { cause: error, details: { ...details, waitMs, outcome: "unknown" } },
        );
      case ErrorCode.PermissionsViolation:
        return forbidden(this.#url, error);
      default:
        return new ExternalServiceError(
          `The connection to ${this.#url} was lost; whether the daemon did what was asked is not known.`,
          { cause: error, details: { ...details, outcome: "unknown" } },
        );
    }
  }
}

const REFUSALS: ReadonlySet<string> = new Set([
  ErrorCode.AuthorizationViolation,
  ErrorCode.AuthenticationExpired,
  ErrorCode.BadAuthentication,
  ErrorCode.PermissionsViolation,
]);

const isRefusal = (error: unknown): boolean =>
  error instanceof NatsError && REFUSALS.has(error.code);

const closedError = (cause: unknown): HoldfastError =>
  new IllegalStateError("The client was closed.", cause === undefined ? {} : { cause });

const forbidden = (url: string, cause: unknown): HoldfastError =>
  new ForbiddenError(`The server at ${url} does not let this user do that.`, {
    cause,
    details: { url },
  });

const unreachable = (url: string, cause: unknown): HoldfastError =>
  new ExternalServiceError(`No server answers at ${url}.`, {
    ...(cause === undefined ? {} : { cause }),
    details: { service: "nats-server", url, outcome: "refused" },
  });
