/**
 * Epochs: who owned the log from which position to which, as a reader of single subjects needs it.
 *
 * Owns: the table writer → [fence, validThrough]. Does not own: the reader rule (reader.ts), which is where the table's
 * content comes from.
 *
 * E1. A record of an epoch is valid exactly when it lies behind the epoch's fence and not behind its `validThrough`.
 * E3. An epoch is told at least once, and the newest RETOLD_MAX by every owner: one damaged record does not leave them untold.
 * E2. The open epoch is valid as far as the caller says: what the owner knows acknowledged.
 */

export interface ClosedEpoch {
  readonly fence: number;
  readonly validThrough: number;
}

/** Epochs that are told again by each owner: about 3 KB of its first record. */
export const RETOLD_MAX = 64;

interface Epoch {
  readonly fence: number;
  /** Null while open. */
  validThrough: number | null;
}

export class Epochs {
  readonly #byWriter = new Map<string, Epoch>();
  #open: Epoch | null = null;
  /** Those that hold a record and were not told of: validThrough by fence. */
  readonly #untold = new Map<number, number>();
  readonly #recent: ClosedEpoch[] = [];

  /** A new owner: the epoch before it ends at `validThrough` (its last whole group, or its own fence). */
  begin(writer: string, fence: number, validThrough: number): void {
    if (this.#open !== null) {
      this.#open.validThrough = validThrough;
      if (validThrough > this.#open.fence) this.#close(this.#open.fence, validThrough);
    }
    this.#open = { fence, validThrough: null };
    this.#byWriter.set(writer, this.#open);
  }

  #close(fence: number, validThrough: number): void {
    this.#untold.set(fence, validThrough);
    this.#recent.push({ fence, validThrough });
    if (this.#recent.length > RETOLD_MAX) this.#recent.shift();
  }

  /** A `taken` or `resynced` event was folded or staged: the epochs in it were told. */
  told(closed: readonly ClosedEpoch[]): void {
    for (const { fence } of closed) this.#untold.delete(fence);
  }

  /** What the next such event tells: what nobody told yet, and the newest once more (E3). */
  get toTell(): readonly ClosedEpoch[] {
    const all = new Map(this.#untold);
    for (const { fence, validThrough } of this.#recent) all.set(fence, validThrough);
    return [...all]
      .map(([fence, validThrough]) => ({ fence, validThrough }))
      .sort((one, other) => one.fence - other.fence);
  }

  /** Whether a record of `writer` at `position` counts; `acknowledged` bounds the open epoch. */
  isValid(writer: string, position: number, acknowledged: number): boolean {
    const epoch = this.#byWriter.get(writer);
    return (
      epoch !== undefined &&
      position > epoch.fence &&
      position <= (epoch.validThrough ?? acknowledged)
    );
  }
}
