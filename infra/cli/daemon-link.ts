/**
 * From a command line to the daemon it speaks to.
 *
 * Owns: where a daemon is found (its data folder, or a server that is named), with which login. Does not own: the API's client
 * (infra/api/client.ts).
 *
 * N1. `--nats` or HOLDFAST_NATS names a server; else the data folder says where its daemon is. A daemon that is gone is told
 *     before anything is sent: silence would be a worse answer.
 * N2. The login of an embedded server is read from its folder, which its owner alone may read.
 */
import { ExternalServiceError, ForbiddenError, type HoldfastError } from "../../actors/errors.ts";
import { type ApiClient, type ClientOptions, connectClient } from "../api/client.ts";
import { type DataFolder, dataFolder, findDaemon } from "../daemon/data-folder.ts";
import {
  ensureCredentials,
  isInboxPrefix,
  type Login,
  parseAddress,
  type ServerAddress,
} from "../nats-server/credentials.ts";
import { readIfThere, reasonOf, serverFolder } from "../nats-server/folder.ts";
import { UsageError } from "./line/usage-error.ts";
import type { Invocation } from "./line/verb.ts";
import { printable } from "./text.ts";

export const DATA_VARIABLE = "HOLDFAST_DATA";
export const NATS_VARIABLE = "HOLDFAST_NATS";
const INBOX_VARIABLE = "HOLDFAST_INBOX_PREFIX";
const DATA_DEFAULT = ".holdfast";
const NAMESPACE_DEFAULT = "default";

type Asking = Pick<Invocation, "text" | "environment">;

const given = (text: string | undefined): string | undefined => (text === "" ? undefined : text);

export const dataDirOf = ({ text, environment }: Asking): string =>
  given(text("data")) ?? given(environment[DATA_VARIABLE]) ?? DATA_DEFAULT;

/** The server that was named, or undefined. */
export const natsOf = ({ text, environment }: Asking): string | undefined =>
  given(text("nats")) ?? given(environment[NATS_VARIABLE]);

/** What the named server's user may receive answers under, or undefined: the default. Errors: UsageError. */
export function inboxPrefixOf({ text, environment }: Asking): string | undefined {
  const prefix = given(text("inbox-prefix")) ?? given(environment[INBOX_VARIABLE]);
  if (prefix === undefined || isInboxPrefix(prefix)) return prefix;
  throw new UsageError(
    `An inbox prefix is one or more plain tokens joined by dots, found ${printable(prefix)}.`,
  );
}

/** The named server with its login, or undefined. Errors: UsageError; it never repeats a password. */
export function serverOf(asking: Asking): ServerAddress | undefined {
  const nats = natsOf(asking);
  if (nats === undefined) return undefined;
  const address = parseAddress(nats, inboxPrefixOf(asking));
  if (address !== null) return address;
  throw new UsageError(
    "The address of a NATS server is nats://host:port or tls://host:port, with user:password@ before the host where it wants them.",
  );
}

/**
 * Connects to where the daemon is now: after a restart it may be elsewhere. `answerWaitMs`: default the client's own.
 * Errors: UsageError (no such URL), ExternalServiceError (no daemon, no server), ForbiddenError.
 */
export async function linkToDaemon(
  invocation: Asking,
  options: Pick<ClientOptions, "answerWaitMs"> = {},
): Promise<ApiClient> {
  return connectClient({ ...addressOf(invocation), ...options });
}

function addressOf(invocation: Asking): ClientOptions {
  const server = serverOf(invocation);
  const namespace = given(invocation.text("namespace"));
  // A data folder that is named is meant; one that is merely the default gives way to a named server.
  if (server !== undefined && given(invocation.text("data")) === undefined) {
    return { ...server, namespace: namespace ?? NAMESPACE_DEFAULT };
  }
  const folder = dataFolder(dataDirOf(invocation));
  const found = findDaemon(folder);
  if (found.kind !== "found") throw noDaemon(folder, found.kind);
  const { record, isAlive } = found;
  if (!isAlive) throw goneDaemon(folder, record.process.pid);
  const login = record.isEmbedded
    ? loginOf(folder)
    : (server?.login ?? restrictedLogin(invocation));
  return {
    url: record.url,
    namespace: namespace ?? record.namespace,
    ...(login === undefined ? {} : { login }),
  };
}

/** Of a server that lets everybody in, and lets nobody read another's inbox. */
function restrictedLogin(asking: Asking): Login | undefined {
  const inboxPrefix = inboxPrefixOf(asking);
  return inboxPrefix === undefined ? undefined : { inboxPrefix };
}

/** N2. */
function loginOf(folder: DataFolder): Login {
  const server = serverFolder(folder.root);
  try {
    // Only looked at when it is there: making new passwords is the daemon's business.
    if (readIfThere(server.credentials) !== null) return ensureCredentials(server).roles.operator;
  } catch (error) {
    if (reasonOf(error) !== "EACCES") throw error;
    throw new ForbiddenError(
      `The daemon of ${folder.root} belongs to another user: ${server.credentials} cannot be read.`,
      { cause: error, details: { path: server.credentials } },
    );
  }
  throw new ExternalServiceError(
    `The passwords of the server in ${folder.root} are missing (${server.credentials}): stop the daemon and start it again.`,
    { details: { path: server.credentials } },
  );
}

function noDaemon({ root, record }: DataFolder, kind: "none" | "unreadable"): HoldfastError {
  const what =
    kind === "none"
      ? `No daemon runs on ${root}`
      : `What is in ${record} cannot be read, so no daemon is found`;
  return new ExternalServiceError(
    `${what}. Start one with: holdfast up --jobs FILE, or name another folder with --data.`,
    { details: { service: "holdfast", folder: root } },
  );
}

const goneDaemon = ({ root }: DataFolder, pid: number): HoldfastError =>
  new ExternalServiceError(
    `The daemon of ${root} (pid ${pid}) is gone without having stopped. Start it again with: holdfast up; what it had begun goes on.`,
    { details: { service: "holdfast", folder: root, pid } },
  );
