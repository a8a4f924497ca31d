/** What the API's tests share: a runtime with an API on a real server, and clients of it. */
import { connect, type NatsConnection } from "nats";
import { z } from "zod";
import { defineDoer, defineTool } from "../../../actors/attempt/definition.ts";
import type { Log } from "../../../actors/journal/log.ts";
import type { Runtime } from "../../../actors/runtime/runtime.ts";
import { type ApiClient, connectClient } from "../../../infra/api/client.ts";
import type { ApiRuntime } from "../../../infra/api/endpoint.ts";
import { type Api, startApi } from "../../../infra/api/service.ts";
import { storeBounds } from "../../../infra/daemon/room.ts";
import { openJetStreamLog } from "../../../infra/jetstream/log.ts";
import { openLog } from "../../../infra/logging/logger.ts";
import { connectionOptions, type Role } from "../../../infra/nats-server/credentials.ts";
import { startRealRuntime } from "../../support/real-runtime.ts";
import type { TestServer } from "../../support/server.ts";

/** Held until a test opens it. */
export class Gate {
  #open: () => void = () => {};
  readonly opened = new Promise<void>((resolve) => {
    this.#open = resolve;
  });

  open(): void {
    this.#open();
  }
}

/** How often each tool has run, and the gates that hold `hold` jobs, by name. */
export class Jobs {
  readonly runs = new Map<string, number>();
  readonly gates = new Map<string, Gate>();

  gate(name: string): Gate {
    const gate = this.gates.get(name) ?? new Gate();
    this.gates.set(name, gate);
    return gate;
  }

  readonly echo = defineTool({
    type: "echo",
    input: z.unknown(),
    output: z.unknown(),
    run: (context, input) => {
      this.#ran(context.id);
      return input;
    },
  });

  readonly add = defineTool({
    type: "add",
    input: z.strictObject({ a: z.number(), b: z.number() }),
    output: z.number(),
    run: (_context, { a, b }) => a + b,
  });

  readonly fail = defineTool({
    type: "fail",
    input: z.string(),
    output: z.null(),
    run: (_context, message) => {
      throw new TypeError(message);
    },
  });

  readonly hold = defineTool({
    type: "hold",
    input: z.string(),
    output: z.string(),
    timeoutMs: null,
    run: async (context, name) => {
      await Promise.race([
        this.gate(name).opened,
        new Promise<void>((resolve) => context.onCancel(resolve)),
      ]);
      context.checkCancellation();
      return name;
    },
  });

  readonly family = defineDoer({
    type: "family",
    input: z.strictObject({ width: z.number() }),
    output: z.number(),
    run: async (context, { width }) => {
      context.nextStep();
      const wide = Array.from({ length: width }, (_, index) =>
        context.submitInCurrentStep(this.echo, index),
      );
      const children = await Promise.all(wide);
      await Promise.all(children.map((child) => child.result()));
      const last = await context.submitInStep(this.add, { a: 1, b: 2 });
      return last.result();
    },
  });

  readonly grow = defineTool({
    type: "grow",
    input: z.number(),
    output: z.string(),
    run: (_context, length) => "x".repeat(length),
  });

  readonly approval = defineDoer({
    type: "approval",
    input: z.unknown(),
    output: z.unknown(),
    run: (context) => context.waitFor("word", { reason: "somebody has to look" }),
  });

  #ran(job: string): void {
    this.runs.set(job, (this.runs.get(job) ?? 0) + 1);
  }
}

export interface Rig extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly log: Log;
  readonly jobs: Jobs;
  readonly api: Api;
  readonly namespace: string;
  /** What was logged, one line each. */
  readonly lines: string[];
  client(role?: Role): Promise<ApiClient>;
  /** A client that knows nothing of Holdfast. */
  connection(role: Role): Promise<NatsConnection>;
}

let namespaces = 0;

/** Each rig has a namespace of its own, so that one server serves a whole file. */
export async function startRig(
  server: TestServer,
  options: {
    readonly wrap?: (runtime: Runtime) => ApiRuntime;
    /** Default: one of its own. One that is taken is taken over. */
    readonly namespace?: string;
  } = {},
): Promise<Rig> {
  namespaces += 1;
  const { namespace = `t${namespaces}` } = options;
  const address = { namespace, partition: 0, generation: 1 };
  const { url, credentials } = server;
  const log = await openJetStreamLog({ url, ...credentials.daemon, ...address });
  const jobs = new Jobs();
  const { echo, add, fail, hold, family, approval, grow } = jobs;
  const runtime = await startRealRuntime(log, {
    address,
    definitions: [echo, add, fail, hold, family, approval, grow],
    durability: server.durability,
    bounds: () => storeBounds(log, server.server),
  });
  const lines: string[] = [];
  const { logger } = openLog({
    level: "debug",
    destination: { write: (line) => lines.push(line) },
  });
  const api = await startApi({
    url,
    login: credentials.service,
    namespace,
    runtime: options.wrap?.(runtime) ?? runtime,
    facts: {
      version: "0.1.0",
      startedAt: Date.now(),
      server: () => ({ version: "test", isEmbedded: true, pid: null }),
      stream: async () => {
        const { lastSequence, bytes, bytesMax } = await log.info();
        return { lastSequence, bytes, bytesMax };
      },
    },
    logger,
    redact: (value) => value,
    onLost: (error) => lines.push(`lost: ${error.message}`),
  });
  const clients: (() => Promise<void>)[] = [];
  return {
    runtime,
    log,
    jobs,
    api,
    namespace,
    lines,
    client: async (role = "operator") => {
      const client = await connectClient({ url, namespace, login: credentials[role] });
      clients.push(() => client.close());
      return client;
    },
    connection: async (role) => {
      const connection = await connect(connectionOptions(url, credentials[role]));
      clients.push(() => connection.close());
      return connection;
    },
    [Symbol.asyncDispose]: async () => {
      for (const close of clients) await close();
      await api.stop();
      for (const gate of jobs.gates.values()) gate.open();
      await runtime.detach();
      await log.close();
    },
  };
}

/** Asks as any program would: text in, JSON out. */
export async function askRaw(
  connection: NatsConnection,
  subject: string,
  body: string | Uint8Array,
): Promise<Record<string, unknown>> {
  const answer = await connection.request(subject, body, { timeout: 10_000 });
  return JSON.parse(answer.string());
}

const WAIT_MS = 10_000;
const LOOK_EVERY_MS = 10;

/** Waits for a condition, with a bound. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + WAIT_MS;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not so after ${WAIT_MS} ms: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
