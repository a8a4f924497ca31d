/**
 * Redaction of registered secrets.
 *
 * Owns: the set of values that must not be stored, and their replacement in anything that goes into a turn. It happens
 * before the chart steps, so that what memory holds is what the journal holds (ES-2).
 *
 * P1. A registered value stands in no event, reason or evidence that a turn stages, not as part of a longer string either.
 *     Nor do its digits as a number, where callers and code say what stands there: in inputs, results, answers, metadata and
 *     details. Anywhere else a number is the runtime's own (an attempt, a time), and has its value by chance.
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
    if (pattern === null || !holds(value, pattern, false)) return value;
    return redactIn(value, pattern, false) as Value; // The runtime's own members keep their types.
  }
}

const escape = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");

/** Members of events and answers below which everything is what a caller or a job's code gave. */
const GIVEN: ReadonlySet<string> = new Set(["input", "result", "value", "metadata", "details"]);

/** Looked at before anything is copied: nearly every event holds none. */
function holds(value: unknown, pattern: RegExp, isGiven: boolean): boolean {
  if (typeof value === "string") {
    pattern.lastIndex = 0; // A global pattern goes on from where it last found something.
    return value.length >= SECRET_LENGTH_MIN && pattern.test(value);
  }
  if (typeof value === "number") return isGiven && holds(String(value), pattern, isGiven);
  if (typeof value !== "object" || value === null) return false;
  if (Array.isArray(value)) return value.some((item) => holds(item, pattern, isGiven));
  return Object.entries(value).some(
    ([key, item]) =>
      holds(key, pattern, isGiven) || holds(item, pattern, isGiven || GIVEN.has(key)),
  );
}

/** A number that holds one becomes the text that stands for it. */
function redactIn(value: unknown, pattern: RegExp, isGiven: boolean): unknown {
  if (typeof value === "string") return value.replace(pattern, REDACTED);
  if (typeof value === "number")
    return holds(value, pattern, isGiven) ? String(value).replace(pattern, REDACTED) : value;
  if (Array.isArray(value)) return value.map((item) => redactIn(item, pattern, isGiven));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key.replace(pattern, REDACTED),
      redactIn(item, pattern, isGiven || GIVEN.has(key)),
    ]),
  );
}
