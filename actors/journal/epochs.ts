/**
 * Epochs: who owned the log from which position to which, as a reader of single subjects needs it.
 *
 * Owns: the table writer → [fence, validThrough]. Does not own: the reader rule (reader.ts), which is where the table's
 * content comes from.
 *
 * E1. A record of an epoch is valid exactly when it lies behind the epoch's fence and not behind its `validThrough`.
 * E2. The open epoch is valid as far as the caller says: what the owner knows acknowledged.
 */

export interface ClosedEpoch {
  readonly fence: number;
  readonly validThrough: number;
}

interface Epoch {
  readonly fence: number;
  /** Null while open. */
  validThrough: number | null;
}

export class Epochs {
  readonly #byWriter = new Map<string, Epoch>();
  #open: Epoch | null = null;
  #untold: ClosedEpoch[] = [];

  /** A new owner: the epoch before it ends at `validThrough` (its last whole group, or its own fence). */
  begin(writer: string, fence: number, validThrough: number): void {
    if (this.#open !== null) {
      this.#open.validThrough = validThrough;
      this.#untold.push({ fence: this.#open.fence, validThrough });
    }
    this.#open = { fence, validThrough: null };
    this.#byWriter.set(writer, this.#open);
  }

  /** A `taken` or `resynced` event was folded: the epochs in it need not be told again. */
  told(closed: readonly ClosedEpoch[]): void {
    const fences = new Set(closed.map(({ fence }) => fence));
    this.#untold = this.#untold.filter(({ fence }) => !fences.has(fence));
  }

  get untold(): readonly ClosedEpoch[] {
    return this.#untold;
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
