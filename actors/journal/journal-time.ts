/**
 * Journal time: the `t` of every record.
 *
 * Owns: its arithmetic. Within a run it follows the monotonic clock; over a reload it goes on by the time that passed.
 *
 * J1. Never decreasing, whatever the wall clock does.
 * J2. Between two owners on one boot of the machine the time passed is exact (uptime); over a reboot it is the wall clock's
 *     difference, taken as at least zero and at least the time since this boot.
 */
import type { Clock } from "../ports/clock.ts";

/** What the log says about its last moment. */
export interface LastMoment {
  /** Journal time and wall clock of the last valid record. */
  readonly t: number;
  readonly at: number;
  /** Journal time, boot and uptime at which its owner had taken the partition. */
  readonly takenT: number;
  readonly bootId: string;
  readonly uptimeMs: number;
}

export class JournalTime {
  readonly #clock: Clock;
  readonly #offsetMs: number;

  constructor(clock: Clock, last: LastMoment | null) {
    this.#clock = clock;
    this.#offsetMs = (last === null ? 0 : last.t + elapsedSince(last, clock)) - clock.monotonicMs();
  }

  now(): number {
    return Math.round(this.#clock.monotonicMs() + this.#offsetMs);
  }
}

function elapsedSince(last: LastMoment, clock: Clock): number {
  if (last.bootId === clock.bootId) {
    const lastUptimeMs = last.uptimeMs + (last.t - last.takenT);
    return Math.max(0, clock.uptimeMs() - lastUptimeMs);
  }
  return Math.max(0, clock.wallMs() - last.at, clock.uptimeMs());
}
