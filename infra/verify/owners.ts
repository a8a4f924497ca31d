/**
 * The owners of a log: who fenced it, and what each says of those before it.
 *
 * Owns: the epochs as the fences show them, held against `closed` in `dispatcher.taken` and `dispatcher.resynced`, which is all
 * that readers of single subjects have. Does not own: the dispatcher's own moves (log-check.ts).
 *
 * O1. What is told of an epoch is where it really began and up to where it is really valid. Telling it again is no fault.
 * O2. An epoch with a record in it is told by the first such event behind its end, by its owner or a later one.
 * O3. Who takes a log says so before anything else. The event names a fence of that owner: the one it was decided under,
 *     which a resync may have followed before it was stored.
 */
import { cutText } from "../../projections/bounded-value.ts";
import { Recent } from "./recent.ts";
import type { ValidFence } from "./validity.ts";

/** Epochs, and fences of one owner, that are kept; what is said of older ones is not looked at. */
const KEPT_MAX = 16_384;

export interface OwnersEvent {
  readonly type: "dispatcher.taken" | "dispatcher.resynced";
  readonly fence: number;
  readonly closed: readonly { readonly fence: number; readonly validThrough: number }[];
}

export class Owners {
  /** validThrough by fence, of the epochs that have ended. */
  readonly #ended = new Recent<number, number>(KEPT_MAX);
  /** Fences of those that hold a record and were not told of. */
  readonly #untold = new Set<number>();
  /** Fences of the present owner: its take and the resyncs behind it. */
  #own = new Set<number>();
  #hasSaidSo = true;

  fence({ position, body, closes }: ValidFence): void {
    if (closes !== null) this.#close(closes.fence, closes.validThrough);
    if (body.fence.kind === "take") {
      this.#own = new Set();
      this.#hasSaidSo = false;
    }
    this.#own.add(position);
    dropOldest(this.#own);
  }

  #close(fence: number, validThrough: number): void {
    this.#ended.set(fence, validThrough);
    if (validThrough > fence) this.#untold.add(fence);
    dropOldest(this.#untold);
  }

  /** Whether the present owner has still to say that it has taken the log (O3). */
  get isSilent(): boolean {
    return !this.#hasSaidSo;
  }

  /** It has said so, or was found not to have: once is enough. */
  hasSpoken(): void {
    this.#hasSaidSo = true;
  }

  /** What is wrong with what an owner says; empty when nothing is. */
  faultsOf({ type, fence, closed }: OwnersEvent): readonly string[] {
    const faults: string[] = [];
    if (!this.#own.has(fence)) {
      faults.push(`${type} names the fence at ${fence}; the owner's are ${listed(this.#own)}`);
    }
    const told = new Set(closed.map((epoch) => epoch.fence));
    for (const epoch of closed) {
      const fault = this.#faultOf(epoch);
      if (fault !== null) faults.push(`${type} tells of an epoch from ${epoch.fence}, ${fault}`);
    }
    for (const untold of this.#untold) {
      if (told.has(untold)) this.#untold.delete(untold);
      else if (untold < fence) {
        this.#untold.delete(untold); // Once is enough.
        const validThrough = this.#ended.get(untold);
        faults.push(
          `${type} does not tell of the epoch from ${untold}, which is valid through ${validThrough}`,
        );
      }
    }
    return faults;
  }

  /** O1. */
  #faultOf(epoch: { readonly fence: number; readonly validThrough: number }): string | null {
    const validThrough = this.#ended.get(epoch.fence);
    if (validThrough === undefined && this.#ended.hasForgotten) return null; // It may be one of those.
    if (validThrough === undefined) return "and none that has ended began there";
    return validThrough === epoch.validThrough
      ? null
      : `valid through ${epoch.validThrough}; it is valid through ${validThrough}`;
  }
}

function dropOldest(set: Set<number>): void {
  const [oldest] = set;
  if (set.size > KEPT_MAX && oldest !== undefined) set.delete(oldest);
}

const listed = (positions: ReadonlySet<number>): string =>
  positions.size === 0 ? "none" : cutText([...positions].slice(-8).join(", "), 120);
