/**
 * The NATS API of a daemon: a micro service that answers commands and queries.
 *
 * Owns: its connection, taking requests, answering each exactly once, stopping. Does not own: what is answered (handlers/).
 *
 * V1. Nothing that a handler throws, at once or later, leaves it: it becomes a refusal with a code. The client of this
 *     library would turn the one into a bare 500 and die of the other.
 * V2. Every request is answered or, where no answer can be sent, told in the log. At a stop those that are still being decided
 *     are answered that nobody knows.
 * V3. Requests are taken in parallel, in the order they came; only queries that read the journal take turns.
 * V4. The connection's user may publish into inboxes and nowhere else: a request cannot have its answer written into the
 *     journal (nats.conf).
 */
import { connect, headers, type NatsConnection, type Service, type ServiceMsg } from "nats";
import type { Logger } from "pino";
import {
  ConfigError,
  ExternalServiceError,
  type HoldfastError,
  IllegalStateError,
} from "../../actors/errors.ts";
import { errorFields } from "../logging/notices.ts";
import { connectionOptions, type Login } from "../nats-server/credentials.ts";
import { isDoneWithin, orNullWithin } from "../system/bounded-wait.ts";
import type { Refusal } from "./contract/answers.ts";
import {
  COMMANDS_IN_FLIGHT_MAX,
  HEALTH_STREAM_WAIT_MS,
  READS_AT_ONCE_MAX,
  READS_WAITING_MAX,
  STOP_WAIT_MS,
} from "./contract/limits.ts";
import { commandsPrefix, queriesPrefix, SERVICE_NAME } from "./contract/names.ts";
import type { AnswerBody, ApiRuntime, Endpoint, Stopping } from "./endpoint.ts";
import { endpointsOf } from "./endpoints.ts";
import type { HealthFacts } from "./handlers/queries.ts";
import { isDecided, refusalOf, statusOf } from "./refusal.ts";
import { Turnstile } from "./turnstile.ts";

export interface ApiOptions {
  readonly url: string;
  /** Of the role `service`. */
  readonly login: Login;
  readonly namespace: string;
  readonly runtime: ApiRuntime;
  readonly facts: Omit<HealthFacts, "namespace" | "commandsInFlight" | "lookAtRoom">;
  readonly logger: Logger;
  /** Takes registered secrets out of what a refusal says. */
  readonly redact: <Value>(value: Value) => Value;
  /** The API is gone for good though nobody stopped it. Called at most once. */
  readonly onLost: (error: HoldfastError) => void;
}

export interface Api {
  /** Commands that are being decided or waited for. */
  readonly commandsInFlight: number;
  /**
   * Takes no more requests, answers those that are there (bounded by STOP_WAIT_MS), closes. Idempotent. `why` is the refusal
   * of those that are not decided by then.
   */
  stop(why?: HoldfastError): Promise<void>;
}

const CONNECT_WAIT_MS = 5_000;
const PING_INTERVAL_MS = 10_000;
const RECONNECT_WAIT_MS = 250;
const CLOSE_WAIT_MS = 2_000;

/** Connects and begins to answer. Errors: ExternalServiceError when the server cannot be reached or refuses the login. */
export async function startApi(options: ApiOptions): Promise<Api> {
  const connection = await open(options);
  const service = new ApiService(options, connection);
  try {
    await service.start();
    return service;
  } catch (error) {
    await connection.close();
    throw error;
  }
}

async function open({ url, login, namespace }: ApiOptions): Promise<NatsConnection> {
  try {
    return await connect({
      ...connectionOptions(url, login),
      name: `holdfast-api-${namespace}`,
      timeout: CONNECT_WAIT_MS,
      pingInterval: PING_INTERVAL_MS,
      maxReconnectAttempts: -1,
      reconnectTimeWait: RECONNECT_WAIT_MS,
      ignoreAuthErrorAbort: true,
      noAsyncTraces: true,
    });
  } catch (error) {
    throw new ExternalServiceError(`The API cannot connect to ${url}.`, {
      cause: error,
      details: { service: "nats-server", url },
    });
  }
}

/** A request that has not been answered. */
interface Pending {
  readonly message: ServiceMsg;
  readonly endpoint: Endpoint;
}

class ApiService implements Api {
  readonly #options: ApiOptions;
  readonly #connection: NatsConnection;
  readonly #endpoints: readonly Endpoint[];
  readonly #pending = new Set<Pending>();
  readonly #stopTold = new Set<() => void>();
  readonly #reads = new Turnstile({
    what: "queries",
    insideMax: READS_AT_ONCE_MAX,
    waitingMax: READS_WAITING_MAX,
  });
  #service: Service | null = null;
  #commandsInFlight = 0;
  #idle: (() => void) | null = null;
  #stopping: Promise<void> | null = null;

  constructor(options: ApiOptions, connection: NatsConnection) {
    this.#options = options;
    this.#connection = connection;
    const { runtime, namespace, facts } = options;
    const stopping: Stopping = {
      onStop: (told) => {
        if (this.#stopping !== null) told();
        else this.#stopTold.add(told);
        return () => this.#stopTold.delete(told);
      },
    };
    this.#endpoints = endpointsOf({
      runtime,
      stopping,
      facts: {
        ...facts,
        namespace,
        stream: () => orNullWithin(facts.stream(), HEALTH_STREAM_WAIT_MS),
        lookAtRoom: () => orNullWithin(runtime.lookAtRoom(), HEALTH_STREAM_WAIT_MS),
        commandsInFlight: () => this.#commandsInFlight,
      },
    });
  }

  get commandsInFlight(): number {
    return this.#commandsInFlight;
  }

  async start(): Promise<void> {
    const { namespace, facts, onLost } = this.#options;
    const service = await this.#connection.services.add({
      name: SERVICE_NAME,
      version: facts.version,
      description: "Jobs of a Holdfast daemon: commands and queries.",
      metadata: { namespace },
    });
    this.#service = service;
    this.#addEndpoints(service);
    await this.#connection.flush();
    const lost = (cause: unknown) => {
      if (this.#stopping !== null) return;
      onLost(
        new ExternalServiceError("The API's subscriptions ended by themselves.", {
          details: { service: "nats-server", namespace },
          ...(cause === undefined || cause === null ? {} : { cause }),
        }),
      );
    };
    service.stopped.then(lost, lost);
  }

  #addEndpoints(service: Service): void {
    const { namespace } = this.#options;
    const groups = {
      command: service.addGroup(commandsPrefix(namespace)),
      query: service.addGroup(queriesPrefix(namespace)),
    };
    for (const endpoint of this.#endpoints) {
      groups[endpoint.kind].addEndpoint(endpoint.verb, {
        metadata: { ...endpoint.metadata },
        handler: (error, message) => {
          if (error === null) this.#take(endpoint, message);
          else
            this.#options.logger.warn(
              { verb: endpoint.verb, ...errorFields(error) },
              "a request was lost",
            );
        },
      });
    }
  }

  /** Never throws (V1). */
  #take(endpoint: Endpoint, message: ServiceMsg): void {
    const pending: Pending = { message, endpoint };
    this.#pending.add(pending);
    if (endpoint.kind === "query") {
      this.#handle(pending);
      return;
    }
    if (this.#commandsInFlight >= COMMANDS_IN_FLIGHT_MAX) {
      this.#refuse(pending, busyError());
      return;
    }
    this.#commandsInFlight += 1;
    this.#handle(pending, () => {
      this.#commandsInFlight -= 1;
      if (this.#commandsInFlight === 0) this.#idle?.();
    });
  }

  #handle(pending: Pending, done?: () => void): void {
    const answered = (answer: AnswerBody): void => {
      this.#answer(pending, answer);
      done?.();
    };
    const failed = (error: unknown): void => {
      this.#refuse(pending, error);
      done?.();
    };
    try {
      this.#work(pending).then(answered, failed);
    } catch (error) {
      failed(error); // The request itself was at fault.
    }
  }

  #work({ endpoint, message }: Pending): Promise<AnswerBody> {
    const { kind, verb } = endpoint;
    // Health reads no journal: it is answered when everything else has to wait.
    return kind === "command" || verb === "health"
      ? endpoint.take(message.data)
      : this.#reads.pass(() => endpoint.take(message.data));
  }

  #refuse(pending: Pending, error: unknown): void {
    if (!isDecided(error)) {
      const { verb } = pending.endpoint;
      this.#options.logger.error({ verb, ...errorFields(error) }, "a request failed on a defect");
    }
    this.#answer(pending, refusalOf(error));
  }

  #answer(pending: Pending, answer: AnswerBody): void {
    if (!this.#pending.delete(pending)) return; // Answered by the stop (V2).
    const { logger, redact } = this.#options;
    const { verb } = pending.endpoint;
    try {
      const told = answer.ok ? answer : redact(answer);
      if (logger.isLevelEnabled("debug")) {
        const { ok, decision, job, workflow, code } = told;
        logger.debug({ verb, ok, decision, job, workflow, code }, "answered");
      }
      this.#send(pending.message, told);
    } catch (error) {
      // Closing, or closed: whoever asked gets no answer, and asks again.
      logger.warn({ verb, ...errorFields(error) }, "an answer was not sent");
    }
  }

  #send(message: ServiceMsg, answer: AnswerBody): void {
    const body = Buffer.from(JSON.stringify(answer));
    const bytesMax = this.#connection.info?.max_payload ?? Number.POSITIVE_INFINITY;
    if (body.length > bytesMax) this.#send(message, tooLargeAnswer(body.length, bytesMax));
    else if (answer.ok) message.respond(body);
    else message.respond(body, { headers: errorHeaders(answer) });
  }

  stop(why?: HoldfastError): Promise<void> {
    this.#stopping ??= this.#stop(why ?? stoppedError());
    return this.#stopping;
  }

  async #stop(why: HoldfastError): Promise<void> {
    const { logger } = this.#options;
    try {
      // First of all, so that what comes from now on is told at once that nobody answers.
      if (this.#service !== null) await isDoneWithin(this.#service.stop(), CLOSE_WAIT_MS);
      for (const told of [...this.#stopTold]) told();
      await this.#settled();
      for (const pending of [...this.#pending]) this.#answer(pending, undecided(why));
      await isDoneWithin(this.#connection.flush(), CLOSE_WAIT_MS);
    } catch (error) {
      logger.warn(errorFields(error), "the API's connection was lost while it stopped");
    } finally {
      await isDoneWithin(this.#connection.close(), CLOSE_WAIT_MS);
    }
  }

  /** All commands are answered, or STOP_WAIT_MS have passed. */
  async #settled(): Promise<void> {
    if (this.#commandsInFlight === 0) return;
    const idle = new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
    await isDoneWithin(idle, STOP_WAIT_MS);
  }
}

const busyError = (): HoldfastError =>
  new IllegalStateError(
    `${COMMANDS_IN_FLIGHT_MAX} commands are being decided already: ask again in a while.`,
    { retry: "backoff", details: { commandsInFlightMax: COMMANDS_IN_FLIGHT_MAX } },
  );

const stoppedError = (): HoldfastError => new IllegalStateError("The daemon stops.");

const undecided = (why: HoldfastError): AnswerBody => ({
  ...refusalOf(why),
  reason: `${why.message} Whether this was carried out is not known: ask again with the same id.`,
  retry: "backoff",
});

const tooLargeAnswer = (bytes: number, bytesMax: number): AnswerBody =>
  refusalOf(
    new ConfigError(
      `The answer takes ${bytes} bytes, and this server lets ${bytesMax} through: raise its max_payload.`,
      { details: { bytes, bytesMax } },
    ),
  );

/** By which generic clients of NATS services know a refusal; plain words, since a header takes no other. */
function errorHeaders(answer: AnswerBody) {
  // Every answer that is not `ok` was made by `refusalOf`.
  const refusal = answer as AnswerBody & Refusal;
  const fields = headers();
  fields.set("Nats-Service-Error-Code", String(statusOf(refusal)));
  fields.set("Nats-Service-Error", refusal.code);
  return fields;
}
