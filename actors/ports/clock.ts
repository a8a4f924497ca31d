/**
 * The Clock port.
 *
 * Owns: how the inside reads time and asks to be woken. Does not own: journal time (`actors/journal/journal-time.ts`) and the
 * heap of timers (`actors/turn/timers.ts`), which need one wake-up at a time.
 */

export interface Clock {
  /** Wall clock, ms since the epoch. May step in either direction. */
  wallMs(): number;
  /** Never steps back within a process; its zero means nothing. */
  monotonicMs(): number;
  /** Ms since the machine's boot, suspend included; with `bootId` it measures across a restart of the process. */
  uptimeMs(): number;
  /** Names this boot of the machine; another boot has another id. */
  readonly bootId: string;
  /** Calls `wake` once, no earlier than `delayMs` (0 … 2^31 − 1) from now; `cancel` before that prevents it. */
  wakeIn(delayMs: number, wake: () => void): { cancel(): void };
}

/** Longest single wake-up the platform's timer takes, ms; a longer one would come at once. */
export const WAKE_MS_MAX = 2 ** 31 - 1;

/** `wakeIn` for a wait of any length: what is longer than a wake-up can be is cut, and waited for piece by piece. */
export function wakeAfter(clock: Clock, delayMs: number, wake: () => void): { cancel(): void } {
  const dueAt = clock.monotonicMs() + delayMs;
  let piece = { cancel: (): void => undefined };
  const wait = (): void => {
    const leftMs = Math.max(0, dueAt - clock.monotonicMs());
    piece = clock.wakeIn(Math.min(leftMs, WAKE_MS_MAX), leftMs <= WAKE_MS_MAX ? wake : wait);
  };
  wait();
  return { cancel: () => piece.cancel() };
}
