/**
 * How a journal ends, or does not begin.
 *
 * Owns: the errors that the driver (journal.ts) throws, and what each says. Does not own: when; codes (actors/errors.ts).
 */
import { FencedError, JournalError, SystemError } from "../errors.ts";
import type { Halt } from "./reader.ts";

export const fencedError = ({ position, writer }: { position: number; writer: string }) =>
  new FencedError(`Another owner took the partition at position ${position}; this one stops.`, {
    details: { position, writer },
  });

export const unfencedError = (
  { kind, reason }: { kind: "refused" | "unknown"; reason: string },
  subject: string,
) =>
  new JournalError(
    kind === "refused"
      ? `The fence was refused: ${reason}.`
      : `The fence was not acknowledged (${reason}); the log alone can tell whether it is stored.`,
    { details: { outcome: kind, subject } },
  );

/** `found`: up to where the log may still hold what was acknowledged. */
export const rolledBackError = (found: number, acknowledged: number) =>
  new JournalError(
    `The log holds at most position ${found} of what it acknowledged, which is position ${acknowledged}: the store lost acknowledged records.`,
    { retry: "never", details: { outcome: "refused", found, acknowledged } },
  );

export const haltError = (halt: Halt) =>
  new JournalError(`The log cannot be read past position ${halt.position}: ${halt.reason}.`, {
    retry: "never",
    details: { outcome: "refused", position: halt.position },
  });

export const brokenError = (cause: unknown) =>
  new SystemError("The journal failed by a defect while it was resyncing.", {
    cause,
    details: { component: "journal" },
  });
