/**
 * The daemon's server: the embedded one, kept running, or an external one.
 *
 * Owns: getting it, starting an embedded one again when it died, giving it up. Does not own: how a server is launched or checked
 * (infra/nats-server).
 *
 * S1. An embedded server that dies is started again on the same store; the journal reads back what it stored and goes on. What
 *     cannot be mended ends the daemon: another address, or a server that does not come up again.
 * S2. An external server is never started, stopped or watched: its connections tell.
 */
import { ExternalServiceError, type HoldfastError, isHoldfastError } from "../../actors/errors.ts";
import type { Durability } from "../../actors/journal/codec.ts";
import { formatVersion } from "../nats-server/binary/version.ts";
import { connectExternal } from "../nats-server/external.ts";
import { launchNatsServer } from "../nats-server/launch.ts";
import type { NatsServer } from "../nats-server/server.ts";

/** Between two looks at an embedded server. */
const LOOK_EVERY_MS = 250;
/** Tries to start a dead one again, and the pause between them, ms. */
const RELAUNCHES_MAX = 5;
const RELAUNCH_PAUSE_MS = 1_000;

export interface ExternalServer {
  /** `nats://host:port` or `tls://host:port`, with name and password in it where the server wants them. */
  readonly url: string;
  /** First token of reply subjects, where the user may subscribe to no other. Default: `_INBOX`. */
  readonly inboxPrefix?: string;
}

export interface ServerOptions {
  readonly dataDir: string;
  readonly durability: Durability;
  /** Default: an embedded server. */
  readonly nats?: ExternalServer | undefined;
  /** One sentence each, for people. */
  readonly onProgress: (line: string) => void;
  /** An embedded server died, and runs again. */
  readonly onRestarted: (server: NatsServer) => void;
  /** It is gone for good (S1). Called at most once. */
  readonly onLost: (error: HoldfastError) => void;
}

export class DaemonServer {
  readonly #options: ServerOptions;
  #server: NatsServer;
  #timer: NodeJS.Timeout | null = null;
  #relaunch: Promise<void> | null = null;
  #isStopping = false;

  private constructor(options: ServerOptions, server: NatsServer) {
    this.#options = options;
    this.#server = server;
  }

  /** Errors: those of `launchNatsServer` and `connectExternal`. */
  static async open(options: ServerOptions): Promise<DaemonServer> {
    const server = new DaemonServer(options, await acquire(options));
    if (server.isEmbedded) server.#watch();
    return server;
  }

  get isEmbedded(): boolean {
    return this.#options.nats === undefined;
  }

  get current(): NatsServer {
    return this.#server;
  }

  get facts(): { version: string; isEmbedded: boolean; pid: number | null } {
    const { version, pid } = this.#server;
    return { version: formatVersion(version), isEmbedded: this.isEmbedded, pid };
  }

  /** Ends an embedded server when nobody else uses it. Idempotent; bounded by the launcher's own times. */
  async stop(): Promise<void> {
    await this.leave();
    await this.#server.stop();
  }

  /** Stops looking after it, and lets it run: the next daemon of this folder adopts it. */
  async leave(): Promise<void> {
    this.#isStopping = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    await this.#relaunch;
  }

  #watch(): void {
    this.#timer = setTimeout(() => {
      if (this.#isStopping) return;
      if (this.#server.isRunning()) this.#watch();
      else this.#relaunch = this.#startAgain();
    }, LOOK_EVERY_MS);
    // It must not keep a process alive that has nothing else to do.
    this.#timer.unref();
  }

  async #startAgain(): Promise<void> {
    const { onProgress, onRestarted, onLost } = this.#options;
    const { url, pid } = this.#server;
    onProgress(`nats-server (pid ${pid}) has ended; it is started again`);
    for (let attempt = 1; !this.#isStopping; attempt += 1) {
      try {
        this.#server = await acquire(this.#options);
        break;
      } catch (error) {
        if (attempt >= RELAUNCHES_MAX) return onLost(lostError(url, error));
        onProgress(`nats-server does not come up (attempt ${attempt}): ${textOf(error)}`);
        await new Promise((resolve) => setTimeout(resolve, RELAUNCH_PAUSE_MS));
      }
    }
    if (this.#isStopping) return;
    if (this.#server.url !== url) return onLost(movedError(url, this.#server.url));
    onRestarted(this.#server);
    this.#watch();
  }
}

const acquire = ({ dataDir, durability, nats, onProgress }: ServerOptions): Promise<NatsServer> =>
  nats === undefined
    ? launchNatsServer({ dataDir, durability, onProgress })
    : connectExternal({ ...nats, durability });

const textOf = (error: unknown): string => (isHoldfastError(error) ? error.message : String(error));

const lostError = (url: string, cause: unknown): HoldfastError =>
  new ExternalServiceError(
    `The nats-server at ${url} ended and did not come up again in ${RELAUNCHES_MAX} attempts.`,
    { cause, details: { service: "nats-server", url, attempts: RELAUNCHES_MAX } },
  );

const movedError = (before: string, now: string): HoldfastError =>
  new ExternalServiceError(
    `The nats-server ended, and its next one had to take another address (${now}, not ${before}): start the daemon again.`,
    { retry: "now", details: { service: "nats-server", before, now } },
  );
