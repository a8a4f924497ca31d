/**
 * Asking a server whether it is there and has JetStream.
 *
 * Owns: one bounded look, what the answers mean. Does not own: waiting until it is ready (`launch.ts`), whose it is.
 */
import { connect, ErrorCode, type NatsConnection, NatsError } from "nats";
import { parseVersion, type ServerVersion } from "./binary/version.ts";
import { connectionOptions, type Login } from "./credentials.ts";

export type ServerAnswer =
  | { readonly kind: "ready"; readonly version: ServerVersion }
  /** Nobody listens, or whoever does says nothing in time. */
  | { readonly kind: "unreachable"; readonly cause: unknown }
  | { readonly kind: "refused"; readonly cause: unknown }
  | { readonly kind: "no_jetstream"; readonly version: ServerVersion; readonly cause: unknown }
  /** Something listens that speaks another protocol or names no version. */
  | { readonly kind: "foreign"; readonly cause: unknown };

const REFUSALS: ReadonlySet<string> = new Set([
  ErrorCode.AuthorizationViolation,
  ErrorCode.AuthenticationExpired,
  ErrorCode.AuthenticationTimeout,
  ErrorCode.PermissionsViolation,
  ErrorCode.BadAuthentication,
]);

/** Connects, asks JetStream for its account, goes. Takes at most about twice `timeoutMs`. Never throws. */
export async function askServer(options: {
  readonly url: string;
  readonly login: Login;
  readonly timeoutMs: number;
}): Promise<ServerAnswer> {
  let connection: NatsConnection;
  try {
    connection = await connect({
      ...connectionOptions(options.url, options.login),
      name: "holdfast-launcher",
      reconnect: false,
      waitOnFirstConnect: false,
      timeout: options.timeoutMs,
    });
  } catch (error) {
    return { kind: isRefusal(error) ? "refused" : "unreachable", cause: error };
  }
  try {
    const version = parseVersion(connection.info?.version ?? "");
    if (version === null) {
      return { kind: "foreign", cause: new Error(`version ${connection.info?.version}`) };
    }
    try {
      await connection.jetstreamManager({ timeout: options.timeoutMs });
      return { kind: "ready", version };
    } catch (error) {
      return isRefusal(error)
        ? { kind: "refused", cause: error }
        : { kind: "no_jetstream", version, cause: error };
    }
  } finally {
    await connection.close();
  }
}

const isRefusal = (error: unknown): boolean =>
  error instanceof NatsError && REFUSALS.has(error.code);
