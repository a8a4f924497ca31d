/**
 * Bringing a new server up.
 *
 * Owns: choosing a port, writing the configuration, waiting until it answers. Does not own: when that is done and what
 * is written down about it (`launch.ts`), which holds the folder's lock meanwhile.
 */
import { createServer } from "node:net";
import { ConfigError, ExternalServiceError } from "../../actors/errors.ts";
import { isRunning, type ProcessIdentity } from "../processes/identity.ts";
import { askServer, type ServerAnswer } from "./answer.ts";
import { configurationText } from "./configuration.ts";
import type { FolderSecrets } from "./credentials.ts";
import { reasonOf, type ServerFolder, writeWhole } from "./folder.ts";
import type { LaunchPlan } from "./plan.ts";
import {
  endProcess,
  lastLines,
  readLog,
  type StartedProcess,
  startProcess,
  waitALittle,
} from "./server-process.ts";

export interface StartOptions {
  readonly plan: LaunchPlan;
  readonly folder: ServerFolder;
  readonly secrets: FolderSecrets;
  /** The port was asked for: no other will do. */
  readonly isPortFixed: boolean;
  readonly readyTimeoutMs: number;
  readonly termWaitMs: number;
  /** Called as soon as there is a process, before it is ready: what is not written down is not found again. */
  readonly onProcess: (identity: ProcessIdentity, port: number) => void;
}

/** Between our finding a port free and the server's taking it somebody else may: try another, this often. */
const PORT_ATTEMPTS_MAX = 5;
/** One look at a server that says it listens. */
const ANSWER_TIMEOUT_MS = 2_000;
export const KILL_WAIT_MS = 5_000;
const HOST = "127.0.0.1";

/**
 * Starts a server and waits until JetStream answers. Leaves no process behind when it throws.
 * Throws `config` (the fixed port is taken), `external_service` (it did not come up; holds its last words).
 */
export async function startServer(
  options: StartOptions,
): Promise<{ readonly identity: ProcessIdentity; readonly port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await choosePort(options, attempt);
    const outcome = await startAt(options, port);
    if (outcome.kind === "ready") return { identity: outcome.identity, port };
    if (options.isPortFixed) throw portTaken(port, "EADDRINUSE");
    if (attempt >= PORT_ATTEMPTS_MAX) {
      throw new ExternalServiceError(
        `nats-server found ${PORT_ATTEMPTS_MAX} ports taken in a row, the last ${port}: give it one with \`port\``,
        { details: { service: "nats-server", port } },
      );
    }
  }
}

/** The fixed port, or at first the folder's last one, else one that the system gives. */
async function choosePort(options: StartOptions, attempt: number): Promise<number> {
  const wish = options.plan.settings.port;
  if (wish !== 0 && (attempt === 1 || options.isPortFixed)) {
    const reason = await faultOfPort(wish);
    if (reason === null) return wish;
    if (options.isPortFixed) throw portTaken(wish, reason);
  }
  return await freePort();
}

const portTaken = (port: number, reason: string): ConfigError =>
  new ConfigError(
    `port ${port} on ${HOST} cannot be used (${reason}): give another, or none to have a free one chosen`,
    { details: { port, reason } },
  );

/** Null: a server can listen there now. */
async function faultOfPort(port: number): Promise<string | null> {
  try {
    await listenOnce(port);
    return null;
  } catch (error) {
    return reasonOf(error);
  }
}

const freePort = (): Promise<number> => listenOnce(0);

/** Listens and lets go at once; the port that it was. */
function listenOnce(port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen({ host: HOST, port, exclusive: true }, () => {
      const address = server.address();
      const taken = address !== null && typeof address === "object" ? address.port : port;
      server.close(() => resolve(taken));
    });
  });
}

type StartOutcome =
  | { readonly kind: "ready"; readonly identity: ProcessIdentity }
  | { readonly kind: "port_taken" };

async function startAt(options: StartOptions, port: number): Promise<StartOutcome> {
  const { plan, folder, secrets } = options;
  writeWhole(folder.configuration, configurationText(plan.template, { ...plan.settings, port }));
  const started = await startProcess({ binary: plan.binary.path, folder, tag: secrets.tag });
  try {
    options.onProcess(started.identity, port);
    const outcome = await waitUntilReady(options, started, port);
    if (outcome === "ready") return { kind: "ready", identity: started.identity };
    await endStarted(options, started);
    return { kind: "port_taken" };
  } catch (error) {
    await endStarted(options, started);
    throw error;
  }
}

async function endStarted(options: StartOptions, started: StartedProcess): Promise<void> {
  const { termWaitMs } = options;
  await endProcess(started.identity, { termWaitMs, killWaitMs: KILL_WAIT_MS });
}

async function waitUntilReady(
  options: StartOptions,
  started: StartedProcess,
  port: number,
): Promise<"ready" | "port_taken"> {
  const { folder, readyTimeoutMs } = options;
  const deadline = performance.now() + readyTimeoutMs;
  let answer: ServerAnswer | null = null;
  for (;;) {
    // Alive is asked before the log is read: what an ended server said last is then in the log.
    const isAlive = isRunning(started.identity);
    const word = readLog(folder, started, port);
    if (word === "port_taken") return "port_taken";
    if (!isAlive) throw didNotComeUp(options, started, "it ended", answer);
    if (word === "listening") {
      answer = await askServer({
        url: urlOf(port),
        login: options.secrets.roles.daemon,
        timeoutMs: ANSWER_TIMEOUT_MS,
      });
      if (answer.kind === "ready") return "ready";
    }
    if (performance.now() >= deadline) {
      throw didNotComeUp(options, started, `it was not ready in ${readyTimeoutMs} ms`, answer);
    }
    await waitALittle();
  }
}

function didNotComeUp(
  options: StartOptions,
  started: StartedProcess,
  what: string,
  answer: ServerAnswer | null,
): ExternalServiceError {
  const { folder, plan } = options;
  const said = lastLines(folder, started.logOffset);
  const cause = answer === null || answer.kind === "ready" ? undefined : answer.cause;
  return new ExternalServiceError(
    `nats-server (${plan.binary.path}) did not come up: ${what}.` +
      `${answer === null ? "" : ` Asked, it was ${answer.kind}.`} Its last words, from ${folder.log}:\n${said}`,
    {
      details: { service: "nats-server", binary: plan.binary.path, log: folder.log },
      ...(cause === undefined ? {} : { cause }),
    },
  );
}

export const urlOf = (port: number): string => `nats://${HOST}:${port}`;
