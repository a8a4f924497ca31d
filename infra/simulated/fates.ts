/**
 * Fates: what becomes of one publish in a simulated store: of a message, or of a batch as a whole.
 *
 * Owns: the faults that strike a single message, drawing them from a seed, scripting them. Does not own: carrying them out
 * (store.ts, appender.ts), faults that strike a whole server (store.ts) or a process (clock.ts).
 */
import type { OutgoingMessage } from "../../actors/journal/log.ts";
import type { Random } from "./random.ts";

export type Fate =
  /** Stored if its expectations hold, and answered. */
  | { readonly kind: "deliver" }
  /** Never arrives. */
  | { readonly kind: "lose" }
  /** Arrives later by this much, and with it everything behind it on the connection, even when that is closed meanwhile. */
  | { readonly kind: "delay"; readonly ms: number }
  /** Judged and perhaps stored, never answered. */
  | { readonly kind: "loseAnswer" }
  /** Answered later by this much, and with it everything behind it on the connection. */
  | { readonly kind: "delayAnswer"; readonly ms: number }
  | { readonly kind: "answerTwice" }
  /** Arrives twice: judged twice, answered twice. */
  | { readonly kind: "arriveTwice" }
  /** Not stored, and answered as if it were there already: at the place where it would stand. */
  | { readonly kind: "claimDuplicate" }
  | { readonly kind: "refuse"; readonly code: number; readonly description: string }
  | { readonly kind: "unavailable" }
  /** A foreign message is stored just before it arrives. */
  | { readonly kind: "displace"; readonly by: OutgoingMessage }
  /** Its connection breaks as it arrives; `isStored`: after it was judged and perhaps stored. */
  | { readonly kind: "breakConnection"; readonly isStored: boolean };

export type FateOf = (message: OutgoingMessage) => Fate;

export const DELIVER: Fate = { kind: "deliver" };
const FULL = 10023;

/** Everything is delivered. */
export const deliverAll: FateOf = () => DELIVER;

/** Probabilities of one message, 0 … 1 each; what is left of 1 is delivered. */
export type FaultRates = Readonly<Record<Exclude<Fate["kind"], "deliver">, number>>;

export const NO_FAULTS: FaultRates = {
  lose: 0,
  delay: 0,
  loseAnswer: 0,
  delayAnswer: 0,
  answerTwice: 0,
  arriveTwice: 0,
  claimDuplicate: 0,
  refuse: 0,
  unavailable: 0,
  displace: 0,
  breakConnection: 0,
};

const DELAY_MS_MAX = 8_000;

/** Draws each message's fate. `foreign` makes what displaces. */
export function drawnFates(
  random: Random,
  rates: FaultRates,
  foreign: () => OutgoingMessage,
): FateOf {
  const faults = Object.values(rates).reduce((sum, rate) => sum + rate, 0);
  return () => {
    // One draw for the many messages that nothing happens to.
    if (!random.chance(faults)) return DELIVER;
    const kind = random.weighted(rates);
    switch (kind) {
      case "delay":
      case "delayAnswer":
        return { kind, ms: random.integer(1, DELAY_MS_MAX) };
      case "refuse":
        return { kind, code: FULL, description: "insufficient resources" };
      case "displace":
        return { kind, by: foreign() };
      case "breakConnection":
        return { kind, isStored: random.chance(0.5) };
      default:
        return { kind };
    }
  };
}

/** Gives the listed fates to the first messages that `concerns` picks, one each; everything else is delivered. */
export function scriptedFates(
  fates: readonly Fate[],
  concerns: (message: OutgoingMessage) => boolean = () => true,
): FateOf {
  const left = [...fates];
  return (message) => (concerns(message) ? (left.shift() ?? DELIVER) : DELIVER);
}
