/**
 * Readings of workflows that are handed out page by page.
 *
 * Owns: keeping one until its last page is asked for, within a bound. Does not own: reading (queries.ts), pages (pages.ts).
 *
 * R1. A reading is of one moment for ever: a later page is the same whether it is kept or read again. It is kept so that a
 *     workflow of many pages is read once, and not once a page.
 * R2. Kept are the newest, READINGS_MAX at most, of READING_ENTRIES_MAX entries in all, each until nobody has gone on with it
 *     for KEPT_MS. One that is larger is read each time.
 */
import { TREE_JOBS_MAX } from "../../../projections/job-tree.ts";

const READINGS_MAX = 8;
/** The largest tree fits, and nothing beside it. */
const READING_ENTRIES_MAX = TREE_JOBS_MAX;
export const KEPT_MS = 30_000;

interface Sized {
  readonly all: readonly object[];
}

export class Readings<Reading extends Sized> {
  /** The least lately used first. */
  readonly #kept = new Map<
    string,
    { readonly reading: Reading; readonly expiry: NodeJS.Timeout }
  >();
  readonly #entriesMax: number;
  #entries = 0;

  constructor(entriesMax = READING_ENTRIES_MAX) {
    this.#entriesMax = entriesMax;
  }

  /** Undefined: read it (again). */
  find(job: string, position: number): Reading | undefined {
    return this.#kept.get(keyOf(job, position))?.reading;
  }

  /** After a page: more of it will be asked for, or not. */
  keep(job: string, position: number, reading: Reading, hasMore: boolean): void {
    const key = keyOf(job, position);
    this.#drop(key);
    if (!hasMore || reading.all.length > this.#entriesMax) return;
    const expiry = setTimeout(() => this.#drop(key), KEPT_MS).unref();
    this.#kept.set(key, { reading, expiry });
    this.#entries += reading.all.length;
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= READINGS_MAX && this.#entries <= this.#entriesMax) break;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    const kept = this.#kept.get(key);
    if (kept === undefined) return;
    clearTimeout(kept.expiry);
    this.#entries -= kept.reading.all.length;
    this.#kept.delete(key);
  }
}

const keyOf = (job: string, position: number): string => `${position} ${job}`;
