/**
 * Errors as answers.
 *
 * Owns: the refusal that a coded error becomes, and the number by which generic clients of NATS services tell refusals.
 * Does not own: the errors (actors/errors.ts).
 *
 * R1. Whatever was thrown becomes a refusal with a code; what has none is a defect, and is told without its stack.
 */
import {
  type ErrorCode,
  isHoldfastError,
  SystemError,
  toErrorRecord,
} from "../../actors/errors.ts";
import type { Refusal } from "./contract/answers.ts";
import { DETAILS_BYTES_MAX } from "./contract/limits.ts";

/** Whether an error is a refusal that somebody decided on, or a defect that belongs into the log. */
export const isDecided = (error: unknown): boolean =>
  isHoldfastError(error) && error.code !== "system";

export function refusalOf(error: unknown, decision = "refused"): Refusal {
  const known = isHoldfastError(error)
    ? error
    : new SystemError("The request failed on a defect; the daemon's log says which.", {
        details: { component: "api" },
      });
  const { code, message, retry, details } = toErrorRecord(known);
  return {
    ok: false,
    decision,
    reason: message,
    code,
    retry,
    ...(details === undefined || !fits(details) ? {} : { details }),
  };
}

function fits(details: object): boolean {
  try {
    return JSON.stringify(details).length <= DETAILS_BYTES_MAX;
  } catch {
    return false; // No JSON: the text says enough.
  }
}

const BAD_REQUEST = 400;
const INTERNAL = 500;
const UNAVAILABLE = 503;

const STATUS: Readonly<Partial<Record<ErrorCode, number>>> = {
  invalid_argument: BAD_REQUEST,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  retry_refused: 409,
  illegal_state: 409,
  uncorrectable: 422,
  fenced: UNAVAILABLE,
  journal: UNAVAILABLE,
};

/** As in HTTP, for the header `Nats-Service-Error-Code`. */
export const statusOf = ({ code, retry }: Refusal): number =>
  code === "illegal_state" && retry !== "never" ? UNAVAILABLE : (STATUS[code] ?? INTERNAL);
