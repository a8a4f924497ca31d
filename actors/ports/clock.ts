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
