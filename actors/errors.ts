/**
 * Every error that leaves Holdfast, by code.
 *
 * Owns: the codes, whether trying again helps, the text a language model may read, the wire form.
 * Does not own: expected outcomes (those are values with a `kind`) and broken invariants (`machines/invariant.ts`).
 *
 * X1. Recognise an error by `code`, never by message, and never by `instanceof` across packages.
 * X2. An error says what was tried, with which ids and limits, what came instead, and whether a retry helps; `cause` is kept.
 * X3. What a model reads (`toModel`) is the message and the retry advice: no stack, no details, no cause.
 */

/** Whether doing the same again can help: not at all, at once, or after a pause. */
export type Retry = "never" | "now" | "backoff";

/** code → the class's name and its default retry advice. The table of contract/errors.md. */
const CODES = {
  job_failed: { name: "JobFailedError", retry: "never" },
  job_cancelled: { name: "JobCancelledError", retry: "never" },
  job_timeout: { name: "JobTimeoutError", retry: "never" },
  job_deadlock: { name: "JobDeadlockError", retry: "never" },
  wait_timeout: { name: "WaitTimeoutError", retry: "now" },
  dependency_failed: { name: "DependencyFailedError", retry: "never" },
  guardrail_refused: { name: "GuardrailRefusal", retry: "never" },
  uncorrectable: { name: "UncorrectableError", retry: "never" },
  system: { name: "SystemError", retry: "never" },
  invalid_argument: { name: "InvalidArgumentError", retry: "never" },
  illegal_state: { name: "IllegalStateError", retry: "never" },
  conflict: { name: "ConflictError", retry: "never" },
  not_found: { name: "NotFoundError", retry: "never" },
  forbidden: { name: "ForbiddenError", retry: "never" },
  retry_refused: { name: "RetryRefusedError", retry: "never" },
  inconclusive: { name: "InconclusiveError", retry: "backoff" },
  external_service: { name: "ExternalServiceError", retry: "backoff" },
  fenced: { name: "FencedError", retry: "never" },
  journal: { name: "JournalError", retry: "backoff" },
  config: { name: "ConfigError", retry: "never" },
  ownership: { name: "OwnershipError", retry: "never" },
} as const satisfies Record<string, { name: string; retry: Retry }>;

export type ErrorCode = keyof typeof CODES;

export type ErrorDetails = Readonly<Record<string, unknown>>;

export interface ErrorOptions {
  /** Ids, limits and what was found; JSON values only, never a secret. */
  readonly details?: ErrorDetails;
  readonly cause?: unknown;
  /** Default: the code's own advice. */
  readonly retry?: Retry;
}

/** The wire form: what crosses NATS, stands in a journaled event, and is turned back into an error on the other side. */
export interface ErrorRecord {
  readonly code: ErrorCode;
  readonly message: string;
  readonly retry: Retry;
  readonly details?: ErrorDetails;
  readonly cause?: ErrorRecord;
}

export class HoldfastError extends Error {
  readonly code: ErrorCode;
  readonly retry: Retry;
  readonly details: ErrorDetails;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = CODES[code].name;
    this.code = code;
    this.retry = options.retry ?? CODES[code].retry;
    this.details = options.details ?? {};
  }

  /** The text a language model may read (X3). */
  toModel(): string {
    const advice = {
      never: "Trying again will not help.",
      now: "You may try again.",
      backoff: "You may try again later.",
    };
    return `${this.message} ${advice[this.retry]}`;
  }
}

const errorClass = (code: ErrorCode) =>
  class extends HoldfastError {
    constructor(message: string, options: ErrorOptions = {}) {
      super(code, message, options);
    }
  };

/** What `handle.result()` rejects with, whatever the failure; `cause` is the failure itself. */
export class JobFailedError extends errorClass("job_failed") {}
export class JobCancelledError extends errorClass("job_cancelled") {}
export class JobTimeoutError extends errorClass("job_timeout") {}
export class JobDeadlockError extends errorClass("job_deadlock") {}
export class WaitTimeoutError extends errorClass("wait_timeout") {}
export class DependencyFailedError extends errorClass("dependency_failed") {}
export class GuardrailRefusal extends errorClass("guardrail_refused") {}
export class UncorrectableError extends errorClass("uncorrectable") {}
/** A defect in code: `details.component` says whose. */
export class SystemError extends errorClass("system") {}
/** `details.faults` lists every fault with its path. */
export class InvalidArgumentError extends errorClass("invalid_argument") {}
export class IllegalStateError extends errorClass("illegal_state") {}
export class ConflictError extends errorClass("conflict") {}
export class NotFoundError extends errorClass("not_found") {}
export class ForbiddenError extends errorClass("forbidden") {}
export class RetryRefusedError extends errorClass("retry_refused") {}
export class InconclusiveError extends errorClass("inconclusive") {}
export class ExternalServiceError extends errorClass("external_service") {}
/** Another daemon owns the partition; this one stops. */
export class FencedError extends errorClass("fenced") {}
/** `details.outcome` is "refused" (nothing was stored) or "unknown" (only the log can tell). */
export class JournalError extends errorClass("journal") {}
export class ConfigError extends errorClass("config") {}
export class OwnershipError extends errorClass("ownership") {}

const CLASSES: Record<ErrorCode, new (message: string, options?: ErrorOptions) => HoldfastError> = {
  job_failed: JobFailedError,
  job_cancelled: JobCancelledError,
  job_timeout: JobTimeoutError,
  job_deadlock: JobDeadlockError,
  wait_timeout: WaitTimeoutError,
  dependency_failed: DependencyFailedError,
  guardrail_refused: GuardrailRefusal,
  uncorrectable: UncorrectableError,
  system: SystemError,
  invalid_argument: InvalidArgumentError,
  illegal_state: IllegalStateError,
  conflict: ConflictError,
  not_found: NotFoundError,
  forbidden: ForbiddenError,
  retry_refused: RetryRefusedError,
  inconclusive: InconclusiveError,
  external_service: ExternalServiceError,
  fenced: FencedError,
  journal: JournalError,
  config: ConfigError,
  ownership: OwnershipError,
};

export const ERROR_CODES = Object.keys(CODES) as readonly ErrorCode[]; // Object.keys forgets the literal type

/** An error of another library may have a `code` that is one of ours; ours have advice and details too. */
export const isHoldfastError = (error: unknown): error is HoldfastError =>
  error instanceof Error &&
  "code" in error &&
  typeof error.code === "string" &&
  Object.hasOwn(CODES, error.code) &&
  "retry" in error &&
  (error.retry === "never" || error.retry === "now" || error.retry === "backoff") &&
  "details" in error &&
  typeof error.details === "object" &&
  !Array.isArray(error.details);

/** Longest message kept on an event, in UTF-16 units; the rest is cut and said so. */
export const ERROR_MESSAGE_LENGTH_MAX = 2_000;
/** Deepest chain of causes kept on an event. */
const CAUSE_DEPTH_MAX = 5;

const bounded = (text: string): string =>
  text.length <= ERROR_MESSAGE_LENGTH_MAX
    ? text
    : `${text.slice(0, ERROR_MESSAGE_LENGTH_MAX)}… (${text.length - ERROR_MESSAGE_LENGTH_MAX} more)`;

/**
 * Any thrown value as a bounded record of JSON values. A foreign error becomes `system`: a defect in the code that threw it
 * (RR-5). Never throws, though what it is given may do so when it is looked at.
 */
export function toErrorRecord(error: unknown): ErrorRecord {
  try {
    // A record is what a log gives back: a Date is a string, and what is undefined or named `__proto__` is not there.
    return JSON.parse(JSON.stringify(recordOf(error, 0)), withoutProto);
  } catch {
    // A getter that throws, a proxy, an object that is no text, details that are no JSON.
    const message = "What was thrown cannot be recorded: looking at it throws, or it is not JSON.";
    return { code: "system", message, retry: "never" };
  }
}

const withoutProto = (key: string, value: unknown): unknown =>
  key === "__proto__" ? undefined : value;

function recordOf(error: unknown, depth: number): ErrorRecord {
  const own = isHoldfastError(error);
  const message = error instanceof Error ? error.message || error.name : `thrown: ${String(error)}`;
  const cause = error instanceof Error ? error.cause : undefined;
  return {
    code: own ? error.code : "system",
    message: bounded(own || !(error instanceof Error) ? message : `${error.name}: ${message}`),
    retry: own ? error.retry : "never",
    ...(own && Object.keys(error.details).length > 0 ? { details: error.details } : {}),
    ...(cause === undefined || depth >= CAUSE_DEPTH_MAX
      ? {}
      : { cause: recordOf(cause, depth + 1) }),
  };
}

/** The error of a record, of the class its code names; of a code that a newer version wrote, a SystemError. */
export function fromErrorRecord(record: ErrorRecord): HoldfastError {
  const ErrorClass = Object.hasOwn(CLASSES, record.code) ? CLASSES[record.code] : SystemError;
  return new ErrorClass(record.message, {
    retry: record.retry,
    ...(record.details === undefined ? {} : { details: record.details }),
    ...(record.cause === undefined ? {} : { cause: fromErrorRecord(record.cause) }),
  });
}
