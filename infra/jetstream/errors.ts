/**
 * Foreign errors, translated in this one place into coded ones.
 *
 * Owns: the numeric codes of the server's answers, the string codes of the client, whether trying again helps.
 * Does not own: refusals of a publish, which are values (appender.ts).
 *
 * E1. By code, never by message. An unknown code stays unknown: it is named, and not advised to be tried again blindly.
 * E2. `details.outcome` is "unknown" only where something that changes the store may have been done: a read that failed changed
 *     nothing, so it is "refused".
 */
import { type ErrorDetails, JournalError, type Retry } from "../../actors/errors.ts";

/** Numeric codes that somebody here decides by. */
export const STREAM_NOT_FOUND = 10059;
export const STREAM_NAME_IN_USE = 10058;
/** Another stream has the subjects; or, on 2.9, this very one, which somebody creates at the same moment (measured). */
export const SUBJECTS_OVERLAP = 10065;
/** A conditional publish met another sequence; the second code: one on the same subject is still being stored. */
export const WRONG_LAST_SEQUENCE = 10071;
export const SUBJECT_IN_PROCESS = 10164;
export const MESSAGE_NOT_FOUND = 10037;
/** A message that is to be deleted is not there. */
export const MESSAGE_DELETE_FAILED = 10057;

/** The client's name for a request that was not answered in time. */
export const TIMEOUT = "TIMEOUT";

export const isRefusedWith = (error: unknown, ...codes: readonly number[]): boolean =>
  error instanceof JournalError && codes.some((code) => error.details.apiCode === code);

/** What was tried, for the text and the details of the error. */
export interface Attempt {
  /** A verb phrase: "read the log". */
  readonly action: string;
  readonly details: ErrorDetails;
  /** Whether it changes the store, so that silence leaves the outcome unknown. Default false. */
  readonly isChange?: boolean;
}

/** An error the JetStream API answered with. */
export interface ApiError {
  /** The class, as in HTTP. */
  readonly code: number;
  readonly err_code: number;
  readonly description: string;
}

/** Codes whose class does not say whether trying again helps. */
const RETRY_BY_API_CODE: Readonly<Record<number, Retry>> = {
  10008: "backoff", // JetStream is recovering or has no leader.
  10023: "backoff", // Insufficient resources: space can be made.
  10028: "backoff", // The account's memory limit.
  10047: "backoff", // Insufficient storage: space can be made.
  10039: "never", // JetStream is not enabled for this account: configuration.
};

const SERVER_FAULT_CLASS = 500;

/** How the client names what went wrong, and whether trying again helps. */
const CLIENT_CODES: Readonly<Record<string, { readonly what: string; readonly retry: Retry }>> = {
  "503": { what: "nothing there answers (no such stream, or JetStream is down)", retry: "backoff" },
  [TIMEOUT]: { what: "no answer came in time", retry: "backoff" },
  CONNECTION_REFUSED: { what: "nothing listens there", retry: "backoff" },
  CONNECTION_TIMEOUT: { what: "the connection was not made in time", retry: "backoff" },
  CONNECTION_CLOSED: { what: "the connection is closed", retry: "backoff" },
  CONNECTION_DRAINING: { what: "the connection is closing", retry: "backoff" },
  DISCONNECT: { what: "the connection was lost", retry: "backoff" },
  STALE_CONNECTION: { what: "the connection stopped answering", retry: "backoff" },
  AUTHENTICATION_TIMEOUT: { what: "authentication took too long", retry: "backoff" },
  AUTHORIZATION_VIOLATION: { what: "user or password were not accepted", retry: "never" },
  AUTHENTICATION_EXPIRED: { what: "the credentials have expired", retry: "never" },
  PERMISSIONS_VIOLATION: { what: "this user may not do that", retry: "never" },
  // What the operating system says of a socket.
  ECONNRESET: { what: "the connection was reset", retry: "backoff" },
  ECONNREFUSED: { what: "nothing listens there", retry: "backoff" },
  EPIPE: { what: "the connection was reset", retry: "backoff" },
  ETIMEDOUT: { what: "the connection was not made in time", retry: "backoff" },
  EHOSTUNREACH: { what: "the host cannot be reached", retry: "backoff" },
  ENETUNREACH: { what: "the network cannot be reached", retry: "backoff" },
  ENOTFOUND: { what: "the host name is not known", retry: "backoff" },
  EAI_AGAIN: { what: "the host name cannot be looked up now", retry: "backoff" },
};

/** After one of these a request may have been carried out all the same. */
const LEAVES_UNKNOWN = new Set([TIMEOUT, "DISCONNECT", "CONNECTION_CLOSED", "STALE_CONNECTION"]);

export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : "";

/** A thrown error of the client, or of a socket below it. One that is a JournalError already is given back as it is. */
export function translateError(error: unknown, attempt: Attempt): JournalError {
  if (error instanceof JournalError) return error;
  const code = codeOf(error);
  const known = CLIENT_CODES[code];
  const text = error instanceof Error ? error.message : String(error);
  const what = known?.what ?? `unknown error ${code === "" ? text : `${code}: ${text}`}`;
  const isUnknown = attempt.isChange === true && (known === undefined || LEAVES_UNKNOWN.has(code));
  return new JournalError(`Could not ${attempt.action}: ${what}.`, {
    retry: known?.retry ?? "never",
    details: { ...attempt.details, outcome: isUnknown ? "unknown" : "refused", clientCode: code },
    cause: error,
  });
}

/** An error in an answer of the JetStream API: it was heard and refused. */
export function apiRefusal(error: ApiError, attempt: Attempt): JournalError {
  const { code, err_code, description } = error;
  const byClass = code >= SERVER_FAULT_CLASS ? "backoff" : "never";
  return new JournalError(`Could not ${attempt.action}: ${err_code} ${description}.`, {
    retry: RETRY_BY_API_CODE[err_code] ?? byClass,
    details: { ...attempt.details, outcome: "refused", apiCode: err_code, description },
  });
}

/** An answer that does not have the documented shape. */
export const unreadableAnswer = (attempt: Attempt, cause: unknown): JournalError =>
  new JournalError(`Could not ${attempt.action}: the server's answer cannot be read.`, {
    retry: "never",
    details: { ...attempt.details, outcome: attempt.isChange === true ? "unknown" : "refused" },
    cause,
  });
