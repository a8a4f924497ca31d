/**
 * Redaction of registered secrets.
 *
 * Owns: the set of values that must not be stored, and their replacement in anything that goes into a turn. It happens
 * before the chart steps, so that what memory holds is what the journal holds (ES-2).
 *
 * P1. A registered value stands in no event, reason or evidence that a turn stages, not as part of a longer string either.
 * P2. Short values would redact ordinary text: fewer than SECRET_LENGTH_MIN characters are refused.
 */
import { InvalidArgumentError } from "../errors.ts";

export const SECRET_LENGTH_MIN = 8;
export const REDACTED = "[redacted]";

export class Redactor {
  readonly #values = new Set<string>();
  #pattern: RegExp | null = null;

  /** Registers one value. Errors: InvalidArgumentError when it is too short to be told from ordinary text. */
  register(secret: string): void {
    if (secret.length < SECRET_LENGTH_MIN) {
      throw new InvalidArgumentError(
        `A secret to redact has at least ${SECRET_LENGTH_MIN} characters, found ${secret.length}.`,
      );
    }
    this.#values.add(secret);
    // The longest first: a secret that contains another one is redacted whole.
    const alternatives = [...this.#values].sort((a, b) => b.length - a.length).map(escape);
    this.#pattern = new RegExp(alternatives.join("|"), "g");
  }

  /** The value with every registered secret replaced, keys included; the very same value when there is none. */
  redact<Value>(value: Value): Value {
    const pattern = this.#pattern;
    if (pattern === null || !holds(value, pattern)) return value;
    return redactIn(value, pattern) as Value; // Strings become strings: the shape stays.
  }
}

const escape = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/** Looked at before anything is copied: nearly every event holds none. */
function holds(value: unknown, pattern: RegExp): boolean {
  if (typeof value === "string") {
    pattern.lastIndex = 0; // A global pattern goes on from where it last found something.
    return value.length >= SECRET_LENGTH_MIN && pattern.test(value);
  }
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some((item) => holds(item, pattern));
  return Object.entries(value).some(([key, item]) => holds(key, pattern) || holds(item, pattern));
}

function redactIn(value: unknown, pattern: RegExp): unknown {
  if (typeof value === "string") return value.replace(pattern, REDACTED);
  if (Array.isArray(value)) return value.map((item) => redactIn(item, pattern));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key.replace(pattern, REDACTED),
      redactIn(item, pattern),
    ]),
  );
}
