/**
 * Timers: effects that come back as events.
 *
 * Owns: one heap of due instants in journal time, and the one wake-up that is set for the earliest. Does not own: what a due
 * timer means (the runtime asks the job's chart).
 *
 * M1. A timer is (actor, name); arming it again replaces it. Disarming one that is not armed does nothing.
 * M2. Never fires before its instant. Waits longer than a wake-up can be are cut and looked at again.
 */
import { type Clock, WAKE_MS_MAX } from "../ports/clock.ts";

interface Timer {
  readonly actor: string;
  readonly name: string;
  readonly dueAt: number;
  isArmed: boolean;
}

export class Timers {
  readonly #clock: Clock;
  readonly #now: () => number;
  readonly #due: (actor: string, name: string) => void;
  /** Binary heap by `dueAt`; disarmed ones stay until they surface or are half of it. */
  #heap: Timer[] = [];
  /** By actor; an actor has one or two. */
  readonly #armed = new Map<string, readonly Timer[]>();
  #armedCount = 0;
  #isStopped = false;
  #wake: { readonly at: number; readonly handle: { cancel(): void } } | null = null;

  /** `now` is journal time, ms; `due` is called once per timer, in order of its instant. */
  constructor(clock: Clock, now: () => number, due: (actor: string, name: string) => void) {
    this.#clock = clock;
    this.#now = now;
    this.#due = due;
  }

  get size(): number {
    return this.#armedCount;
  }

  arm(actor: string, name: string, dueAt: number): void {
    if (this.#isStopped) return;
    this.disarm(actor, name);
    const timer = { actor, name, dueAt, isArmed: true };
    this.#armed.set(actor, [...(this.#armed.get(actor) ?? []), timer]);
    this.#armedCount += 1;
    this.#push(timer);
    this.#setWake();
  }

  disarm(actor: string, name: string): void {
    this.#drop(actor, (timer) => timer.name === name);
  }

  /** The actor has ended. */
  disarmAll(actor: string): void {
    this.#drop(actor, () => true);
  }

  #drop(actor: string, which: (timer: Timer) => boolean): void {
    const armed = this.#armed.get(actor);
    if (armed === undefined) return;
    const kept: Timer[] = [];
    for (const timer of armed) {
      if (which(timer)) {
        timer.isArmed = false;
        this.#armedCount -= 1;
      } else kept.push(timer);
    }
    if (kept.length === 0) this.#armed.delete(actor);
    else this.#armed.set(actor, kept);
    if (this.#heap.length > 64 && this.#heap.length > 2 * this.#armedCount) this.#rebuild();
  }

  /** For good: nothing is armed any more. */
  stop(): void {
    this.#isStopped = true;
    this.#wake?.handle.cancel();
    this.#wake = null;
    this.#heap = [];
    this.#armed.clear();
    this.#armedCount = 0;
  }

  #fire(): void {
    this.#wake = null;
    const now = this.#now();
    try {
      for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
        if (first.isArmed && first.dueAt > now) break;
        this.#pop();
        if (!first.isArmed) continue;
        this.disarm(first.actor, first.name);
        this.#due(first.actor, first.name);
      }
    } finally {
      this.#setWake(); // Also when one of them threw: the others are due all the same.
    }
  }

  #setWake(): void {
    const first = this.#heap[0];
    if (first === undefined || (this.#wake !== null && this.#wake.at <= first.dueAt)) return;
    this.#wake?.handle.cancel();
    const delayMs = Math.min(Math.max(0, Math.ceil(first.dueAt - this.#now())), WAKE_MS_MAX);
    this.#wake = { at: first.dueAt, handle: this.#clock.wakeIn(delayMs, () => this.#fire()) };
  }

  #rebuild(): void {
    const armed = this.#heap.filter(({ isArmed }) => isArmed);
    this.#heap = [];
    for (const timer of armed) this.#push(timer);
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(timer);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || above.dueAt <= timer.dueAt) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = timer;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      const right = heap[child + 1];
      const left = heap[child];
      if (left === undefined) break;
      const smaller = right !== undefined && right.dueAt < left.dueAt ? right : left;
      if (smaller.dueAt >= last.dueAt) break;
      heap[at] = smaller;
      at = smaller === left ? child : child + 1;
    }
    heap[at] = last;
  }
}
