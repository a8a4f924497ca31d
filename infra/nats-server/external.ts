/**
 * A server that somebody else runs (`--nats URL`).
 *
 * Owns: checking that it can be used. Does not own: anything of its life: it is never started, configured or stopped.
 */
import { ConfigError, ExternalServiceError, InvalidArgumentError } from "../../actors/errors.ts";
import type { Durability } from "../../actors/journal/codec.ts";
import { askServer, type ServerAnswer } from "./answer.ts";
import {
  capabilitiesOf,
  faultOfVersion,
  formatVersion,
  RECOMMENDED_VERSION,
  type ServerVersion,
  versionNeededFor,
} from "./binary/version.ts";
import { type Login, parseAddress, type ServerAddress } from "./credentials.ts";
import type { NatsServer } from "./server.ts";

export interface ExternalOptions {
  /** `nats://host:port`, `tls://host:port`; a name and password in it are taken out and used as the login. */
  readonly url: string;
  readonly user?: string;
  readonly password?: string;
  readonly token?: string;
  /** Default: `_INBOX`, which a user without restrictions may use. */
  readonly inboxPrefix?: string;
  /** Default: "fsync". */
  readonly durability?: Durability;
  /** Default: 5 000 ms; the check takes at most about twice that. */
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 5_000;

/**
 * The external server, once it was reached, has JetStream, and is new enough.
 * Throws `invalid_argument` (no such URL), `config` (too old, refuses this login, has no JetStream), `external_service`
 * (not reachable; trying again may help).
 */
export async function connectExternal(options: ExternalOptions): Promise<NatsServer> {
  const { url, login } = addressOf(options);
  const durability = options.durability ?? "fsync";
  const answer = await askServer({ url, login, timeoutMs: options.timeoutMs ?? TIMEOUT_MS });
  const version = versionOf(answer, url);
  const fault = faultOfVersion(version, durability);
  if (fault !== null) {
    throw new ConfigError(`the server at ${url} cannot be used: ${fault}`, {
      details: {
        url,
        found: formatVersion(version),
        needed: formatVersion(versionNeededFor(durability)),
        durability,
      },
    });
  }
  return {
    url,
    version,
    pid: null,
    durability,
    credentials: { daemon: login, service: login, operator: login, observer: login },
    store: null,
    isAdopted: false,
    notices: noticesOf(version, durability),
    isRunning: () => true,
    stop: async () => ({ kind: "left_running", usedBy: [] }),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

function addressOf(options: ExternalOptions): ServerAddress {
  const address = parseAddress(options.url, options.inboxPrefix);
  if (address === null) {
    throw new InvalidArgumentError(
      "the address of a NATS server is nats://host:port or tls://host:port",
    );
  }
  const { user, password, token } = options;
  const login: Login = {
    ...address.login,
    ...(user === undefined ? {} : { user }),
    ...(password === undefined ? {} : { password }),
    ...(token === undefined ? {} : { token }),
  };
  return { url: address.url, login };
}

function versionOf(answer: ServerAnswer, url: string): ServerVersion {
  switch (answer.kind) {
    case "ready":
      return answer.version;
    case "unreachable":
      throw new ExternalServiceError(
        `no NATS server answers at ${url}: look whether it runs and the address is right`,
        { details: { service: "nats-server", url }, cause: answer.cause },
      );
    case "refused":
      throw new ConfigError(
        `the server at ${url} refuses this login, or does not let it use JetStream: give a user that may publish to` +
          " $JS.API.> and subscribe to its inbox",
        { details: { url }, cause: answer.cause },
      );
    case "no_jetstream":
      throw new ConfigError(
        `the server at ${url} (${formatVersion(answer.version)}) gives this account no JetStream: add a \`jetstream\`` +
          " block to its configuration, as in nats.conf",
        { details: { url, found: formatVersion(answer.version) }, cause: answer.cause },
      );
    case "foreign":
      throw new ConfigError(`what answers at ${url} is no nats-server of a known version`, {
        details: { url },
        cause: answer.cause,
      });
  }
}

function noticesOf(version: ServerVersion, durability: Durability): readonly string[] {
  const notices: string[] = [];
  if (durability === "fsync") {
    notices.push(
      "an external server does not say whether it syncs: durability fsync holds only if its configuration has" +
        " `sync_interval: always`",
    );
  }
  if (!capabilitiesOf(version).isRecommended) {
    notices.push(
      `nats-server ${formatVersion(version)} works, ${formatVersion(RECOMMENDED_VERSION)} or newer is recommended`,
    );
  }
  return notices;
}
