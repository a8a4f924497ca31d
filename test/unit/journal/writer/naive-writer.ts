/**
 * The writer once more, naively: a list of groups, and one of all messages of an epoch.
 *
 * Owns: what `actors/journal/writer.ts` must agree with. It keeps sets and lists instead of offsets, and
 * lets nothing go within an epoch.
 */
import { WINDOW_MAX } from "../../../../actors/journal/writer.ts";

interface NaiveGroup {
  readonly name: string;
  readonly parts: number;
  readonly bytes: number;
  readonly callbacks: (() => void)[];
}

export class NaiveWriter {
  /** Not yet called back; their messages are numbered from `#first` on. */
  readonly #groups: NaiveGroup[] = [];
  /** All messages of this epoch in order, each as `name part/parts`; the first has index 1. */
  #messages: string[] = [];
  #called: NaiveGroup | null = null;
  #fence = 0;
  #hasBegun = false;
  /** Index of the first message of the first group above. */
  #first = 1;
  /** Every message up to this index is acknowledged. */
  #acknowledged = 0;
  #published = 0;
  readonly #stored = new Set<number>();
  /** The first message that cannot count. */
  #bad = Number.POSITIVE_INFINITY;
  isPoisoned = false;

  begin(fence: number): void {
    this.#hasBegun = true;
    this.#fence = fence;
    this.#messages = this.#groups.flatMap(messagesOf);
    this.#first = 1;
    this.#acknowledged = 0;
    this.#published = 0;
    this.#stored.clear();
    this.#bad = Number.POSITIVE_INFINITY;
    this.isPoisoned = false;
  }

  stage(name: string, bytesOfParts: readonly number[], callback: () => void): void {
    const bytes = bytesOfParts.reduce((sum, part) => sum + part, 0);
    const group = { name, parts: bytesOfParts.length, bytes, callbacks: [callback] };
    this.#groups.push(group);
    this.#messages.push(...messagesOf(group));
  }

  barrier(callback: () => void): void {
    const last = this.#groups.at(-1) ?? this.#called;
    if (last === null) callback();
    else last.callbacks.push(callback);
  }

  /** `name part/parts` of the next message, with its index; null: none may be published. */
  next(): { readonly index: number; readonly message: string } | null {
    if (this.isPoisoned || !this.#hasBegun || this.inFlightCount >= WINDOW_MAX) return null;
    const index = this.#published + 1;
    const message = this.#messages[index - 1];
    if (message === undefined) return null;
    this.#published = index;
    return { index, message };
  }

  answer(index: number, isGood: boolean): void {
    if (index <= this.#acknowledged || index > this.#published || index >= this.#bad) return;
    if (!isGood) {
      this.#bad = index;
      this.isPoisoned = true;
      return;
    }
    this.#stored.add(index);
    while (this.#stored.has(this.#acknowledged + 1)) this.#acknowledge(this.#acknowledged + 1);
  }

  confirmBelow(index: number): void {
    while (this.#acknowledged + 1 < index) this.#acknowledge(this.#acknowledged + 1);
  }

  get acknowledgedPosition(): number {
    return this.#fence + this.#acknowledged;
  }

  get inFlightCount(): number {
    return Math.max(0, Math.min(this.#published, this.#bad - 1) - this.#acknowledged);
  }

  get publishedCount(): number {
    return this.#published;
  }

  get pendingCount(): number {
    return this.#messages.length - this.#acknowledged;
  }

  get pendingBytes(): number {
    return this.#groups.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  get firstIncomplete(): { readonly position: number; readonly index: number } {
    return { position: this.#fence + this.#first, index: this.#first };
  }

  /** Indexes at which a group that is published whole ends, plus one: what a resync may find. */
  get boundaries(): number[] {
    const ends: number[] = [this.#first];
    for (const { parts } of this.#groups) ends.push((ends.at(-1) ?? 1) + parts);
    return ends.filter((end) => end - 1 <= this.#published && end - 1 >= this.#acknowledged);
  }

  #acknowledge(index: number): void {
    this.#acknowledged = index;
    const [first] = this.#groups;
    if (first === undefined || index < this.#first + first.parts - 1) return;
    this.#groups.shift();
    this.#first += first.parts;
    this.#called = first;
    for (const callback of first.callbacks) callback();
    this.#called = null;
  }
}

const messagesOf = ({ name, parts }: NaiveGroup): string[] =>
  Array.from({ length: parts }, (_, at) => `${name} ${at + 1}/${parts}`);
