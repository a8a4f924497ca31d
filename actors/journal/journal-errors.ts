/**
 * How a journal ends, or does not begin.
 *
 * Owns: the errors that the driver (journal.ts) throws, and what each says. Does not own: when; codes (actors/errors.ts).
 */
import { FencedError, JournalError, SystemError } from "../errors.ts";
import { decodeBody, type FenceBody } from "./codec.ts";
import type { Halt, ReadFence } from "./reader.ts";

/** Longest name of an owner in an error's text, in UTF-16 units. */
const OWNER_LENGTH_MAX = 200;

/** Of the fence of another owner. */
export interface Rival {
  readonly position: number;
  readonly writer: string;
  /** As it calls itself; null: its fence cannot be read. */
  readonly owner: string | null;
}

export const fencedError = ({ position, writer, owner }: Rival) =>
  new FencedError(
    `${owner ?? "Another owner"} took the partition at position ${position}; this one stops.`,
    { details: { position, writer, owner } },
  );

/** The error of a fence that was read. */
export const fencedBy = ({ position, writer, body }: ReadFence) =>
  fencedError({ position, writer, owner: nameIn(body) });

/** Who wrote that fence. */
export function ownerOfFence(bytes: Uint8Array): string | null {
  const decoded = decodeBody(bytes);
  return decoded.kind === "fence" ? nameIn(decoded.body) : null;
}

/** Looked at and cut: readers rely on no word in it, so nobody has looked before. */
function nameIn({ fence }: FenceBody): string | null {
  const owner: unknown = fence.owner;
  return typeof owner === "string" && owner !== "" ? owner.slice(0, OWNER_LENGTH_MAX) : null;
}

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
