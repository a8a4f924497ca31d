/**
 * A clock that stands still until a test moves it.
 *
 * Owns: wall, monotonic and boot time moved together or apart, wake-ups in the order of their instants. Nothing here waits.
 */
import assert from "node:assert/strict";

import type { Clock } from "../../actors/ports/clock.ts";

/** The port's bound on one wake-up. */
const WAKE_MS_MAX = 2 ** 31 - 1;

interface Wake {
  readonly at: number;
  readonly order: number;
  readonly run: () => void;
}

export class ManualClock implements Clock {
  bootId = "boot-1";
  #wall = Date.UTC(2025, 0, 1);
  #monotonic = 1_000;
  #uptime = 100_000;
  #order = 0;
  readonly #wakes = new Set<Wake>();

  wallMs(): number {
    return this.#wall;
  }

  monotonicMs(): number {
    return this.#monotonic;
  }

  uptimeMs(): number {
    return this.#uptime;
  }

  wakeIn(delayMs: number, run: () => void): { cancel(): void } {
    assert.ok(delayMs >= 0 && delayMs <= WAKE_MS_MAX, `a wake-up in ${delayMs} ms`);
    const wake = { at: this.#monotonic + delayMs, order: this.#order, run };
    this.#order += 1;
    this.#wakes.add(wake);
    return { cancel: () => void this.#wakes.delete(wake) };
  }

  /** Wake-ups that are set. */
  get pendingCount(): number {
    return this.#wakes.size;
  }

  /** Lets time pass: every wake-up that comes due runs at its own instant, those it sets included. */
  advance(ms: number): void {
    const until = this.#monotonic + ms;
    for (let next = this.#next(until); next !== null; next = this.#next(until)) {
      this.#wakes.delete(next);
      this.#pass(next.at - this.#monotonic);
      next.run();
    }
    this.#pass(until - this.#monotonic);
  }

  /** Moves the wall clock alone, as an operator or a time server does. */
  stepWall(ms: number): void {
    this.#wall += ms;
  }

  /** Another boot of the machine: uptime starts anew, `awayMs` have passed on the wall. */
  reboot(awayMs: number): void {
    this.bootId = `${this.bootId}'`;
    this.#uptime = 5_000;
    this.#wall += awayMs;
    this.#wakes.clear();
  }

  #next(until: number): Wake | null {
    let first: Wake | null = null;
    for (const wake of this.#wakes) {
      if (wake.at > until) continue;
      const isEarlier =
        first === null || wake.at < first.at || (wake.at === first.at && wake.order < first.order);
      if (isEarlier) first = wake;
    }
    return first;
  }

  #pass(ms: number): void {
    this.#wall += ms;
    this.#monotonic += ms;
    this.#uptime += ms;
  }
}
