/**
 * Secrets in names: ids, keys and names address what is journaled, so they cannot be redacted; one that holds a registered
 * secret is refused (REC-7).
 *
 * Does not own: redaction of everything else (actors/journal/redaction.ts).
 */
import { InvalidArgumentError } from "../errors.ts";
import type { World } from "../runtime/world.ts";

/** Errors: InvalidArgumentError, which does not repeat the name. */
export function assertNoSecret({ redactor }: Pick<World, "redactor">, name: string): void {
  if (redactor.redact(name) === name) return;
  throw new InvalidArgumentError(
    "An id, key or name holds a registered secret: choose another one.",
  );
}
