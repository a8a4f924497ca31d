/**
 * Programmer errors.
 *
 * Owns: the one way to say "this cannot be". A broken invariant is never handled: it fails the turn it stands in (T6) or
 * stops the process. Messages start with the invariant's number in its module's header.
 */

export class InvariantError extends Error {
  readonly facts: Readonly<Record<string, unknown>>;

  constructor(message: string, facts: Readonly<Record<string, unknown>>) {
    super(Object.keys(facts).length === 0 ? message : `${message} ${JSON.stringify(facts)}`);
    this.name = "InvariantError";
    this.facts = facts;
  }
}

export function invariant(
  condition: unknown,
  message: string,
  facts: Readonly<Record<string, unknown>> = {},
): asserts condition {
  if (!condition) throw new InvariantError(message, facts);
}

/** The default of an exhaustive switch. */
export function unreachable(value: never): never {
  throw new InvariantError("unreachable case", { value });
}
