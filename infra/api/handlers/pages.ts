/**
 * Pages: a long list in answers that the server lets through.
 *
 * Owns: where a page ends. Does not own: what is on it (queries.ts), the cursor's text (contract/requests.ts).
 *
 * P1. A page has at least one entry, if any are left, and ends before it passes its bytes or its entries.
 * P2. All pages of one reading are of one moment: their cursor carries the journal position that the first one saw.
 */
import { PAGE_BYTES_MAX, PAGE_ENTRIES_MAX } from "../contract/limits.ts";
import { type Cursor, formatCursor } from "../contract/requests.ts";

export interface Page<Entry> {
  readonly entries: readonly Entry[];
  /** Null: it was the last. */
  readonly next: string | null;
}

export function pageOf<Entry>(
  all: readonly Entry[],
  from: Cursor,
  limit: number = PAGE_ENTRIES_MAX,
): Page<Entry> {
  const { offset, position } = from;
  const entriesMax = Math.min(limit, PAGE_ENTRIES_MAX);
  let end = offset;
  let bytes = 0;
  while (end < all.length && end - offset < entriesMax) {
    bytes += Buffer.byteLength(JSON.stringify(all[end])) + 1;
    if (bytes > PAGE_BYTES_MAX && end > offset) break;
    end += 1;
  }
  return {
    entries: all.slice(offset, end),
    next: end < all.length ? formatCursor({ position, offset: end }) : null,
  };
}
