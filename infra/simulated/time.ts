/**
 * Simulated time: one queue of events for a whole world.
 *
 * Owns: what time it is, what happens when, in which order. Does not own: what a process sees of it (clock.ts).
 *
 * T1. Time passes only in `step`, `advance`, `runUntil` and `runUntilIdle`; no timer of the platform is set.
 * T2. Events run in the order of their instants, and those of one instant in the order in which they were set.
 * T3. Between two events every promise that can settle has settled: what an event starts has come as far as it can before the
 *     next one happens. One caller steps at a time.
 */
import { invariant } from "../../machines/invariant.ts";

interface TimedEvent {
  readonly atMs: number;
  readonly run: () => void;
  isCancelled: boolean;
}

export class SimulatedTime {
  /** The next one last, so that taking it is cheap. */
  readonly #events: TimedEvent[] = [];
  #nowMs = 0;
  #ranCount = 0;

  /** Ms since the world began. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Events that ran so far. */
  get ranCount(): number {
    return this.#ranCount;
  }

  /** Runs `run` when `delayMs` ≥ 0 have passed. What it throws comes out of whoever steps. */
  in(delayMs: number, run: () => void): { cancel(): void } {
    invariant(delayMs >= 0, "T2: nothing happens in the past", { delayMs });
    const event: TimedEvent = { atMs: this.#nowMs + delayMs, run, isCancelled: false };
    this.#insert(event);
    return {
      cancel: () => {
        event.isCancelled = true;
      },
    };
  }

  /** Lets promises settle, without letting time pass (T3). */
  settle(): Promise<void> {
    // Runs when the queue of settled promises is empty, however long their chains are; a count of awaits would be a guess.
    return new Promise((resolve) => setImmediate(resolve));
  }

  /** Runs the next event. False: there is none. */
  async step(): Promise<boolean> {
    return this.#runNext(Number.POSITIVE_INFINITY);
  }

  /** Lets `ms` pass. */
  async advance(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    await this.settle();
    while (await this.#runNext(untilMs));
    this.#nowMs = untilMs;
  }

  /** Steps until `isMet`. Throws when it is not met within `withinMs`. */
  async runUntil(isMet: () => boolean, withinMs: number): Promise<void> {
    const untilMs = this.#nowMs + withinMs;
    await this.settle();
    while (!isMet()) {
      const hasRun = await this.#runNext(untilMs);
      invariant(hasRun, "what is waited for comes within its bound", {
        withinMs,
        condition: String(isMet),
      });
    }
  }

  /** Steps until nothing is set. Throws when something still is after `withinMs`: whoever polls for ever never idles. */
  async runUntilIdle(withinMs = 86_400_000): Promise<void> {
    const untilMs = this.#nowMs + withinMs;
    await this.settle();
    while (await this.#runNext(untilMs));
    invariant(this.#nextEvent() === undefined, "the world idles within its bound", { withinMs });
  }

  async #runNext(untilMs: number): Promise<boolean> {
    const next = this.#nextEvent();
    if (next === undefined || next.atMs > untilMs) return false;
    this.#events.pop();
    this.#nowMs = next.atMs;
    this.#ranCount += 1;
    next.run();
    await this.settle();
    return true;
  }

  #nextEvent(): TimedEvent | undefined {
    while (this.#events.at(-1)?.isCancelled === true) this.#events.pop();
    return this.#events.at(-1);
  }

  #insert(event: TimedEvent): void {
    let from = 0;
    let to = this.#events.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      // Behind all that is later; of the same instant, the older one stays nearer to the end.
      if ((this.#events[middle]?.atMs ?? 0) > event.atMs) from = middle + 1;
      else to = middle;
    }
    this.#events.splice(from, 0, event);
  }
}
