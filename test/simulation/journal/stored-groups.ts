/**
 * Which groups stand whole in the store, under one writer: the truth that a callback is held against, by bodies alone.
 */
import type { SimulatedStore } from "../../../infra/simulated/store.ts";
import { markOf } from "../../unit/journal/rig/records.ts";

export class StoredGroups {
  readonly store: SimulatedStore;
  /** Parts found, by group and writer. */
  readonly #parts = new Map<string, Set<number>>();
  readonly #whole = new Set<string>();
  #lookedAt = 0;

  constructor(store: SimulatedStore) {
    this.store = store;
  }

  hasWhole(group: string): boolean {
    this.#look();
    return this.#whole.has(group);
  }

  /** The log has lost its end: everything is looked at anew. */
  forget(): void {
    this.#parts.clear();
    this.#whole.clear();
    this.#lookedAt = 0;
  }

  #look(): void {
    const { messages } = this.store;
    for (; this.#lookedAt < messages.length; this.#lookedAt += 1) {
      const message = messages[this.#lookedAt];
      const mark = message === undefined ? null : markOf(message.body);
      if (message === undefined || mark === null) continue;
      const key = `${mark.group} ${message.id.split(".")[0]}`;
      const parts = this.#parts.get(key) ?? new Set();
      this.#parts.set(key, parts.add(mark.part));
      if (parts.size === mark.parts) this.#whole.add(mark.group);
    }
  }
}
