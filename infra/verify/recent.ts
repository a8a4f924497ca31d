/**
 * What was seen last, by key: a bounded memory.
 *
 * Owns: forgetting the oldest. Does not own: what is remembered.
 *
 * R1. At least the last `countMax` / 2 are known, and at most `countMax` are kept. Two generations, since a map that is emptied
 *     from its front walks over what it has dropped at every look (measured: 30 µs with 65,536 keys).
 */
export class Recent<Key, Value> {
  readonly #halfMax: number;
  #young = new Map<Key, Value>();
  #old = new Map<Key, Value>();
  #hasForgotten = false;

  constructor(countMax: number) {
    this.#halfMax = Math.floor(countMax / 2);
  }

  /** Whether anything that was set is not known any more. */
  get hasForgotten(): boolean {
    return this.#hasForgotten;
  }

  get(key: Key): Value | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  set(key: Key, value: Value): void {
    this.#young.set(key, value);
    if (this.#young.size < this.#halfMax) return;
    this.#hasForgotten ||= this.#old.size > 0;
    this.#old = this.#young;
    this.#young = new Map();
  }
}
