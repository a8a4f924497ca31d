/**
 * The weather of a run of whole runtimes: what may befall it, and how often.
 *
 * Owns: drawing a climate from the seed, a good half of all kinds of faults left out of each (swarm testing; see
 * test/simulation/journal/weather.ts, which says why). Does not own: carrying it out.
 */
import { type FaultRates, NO_FAULTS } from "../../../infra/simulated/fates.ts";
import type { Random } from "../../../infra/simulated/random.ts";

/** What a run does next, by weight. */
const ACTIONS = {
  submit: 20,
  resubmit: 4,
  command: 12,
  pass: 36,
  step: 10,
  wait: 12,
  waitLong: 2,
  // From here on: what a climate may leave out.
  kill: 6,
  killSoon: 6,
  freeze: 2,
  take: 4,
  detach: 3,
  shutdown: 2,
  foreign: 3,
  breakConnections: 3,
  restart: 3,
  cutPower: 2,
  fill: 1,
  hush: 1,
  stepWall: 3,
  suspend: 2,
  reboot: 1,
} as const;

export type Action = keyof typeof ACTIONS;

const ALWAYS: readonly Action[] = [
  "submit",
  "resubmit",
  "command",
  "pass",
  "step",
  "wait",
  "waitLong",
];

export interface Climate {
  readonly actions: Readonly<Record<Action, number>>;
  readonly rates: FaultRates;
  /** Whether a power cut may take what was acknowledged (`process` durability). */
  readonly isLossy: boolean;
  readonly durability: "fsync" | "process";
  /** Most messages that the store takes as one. */
  readonly batchMax: number;
  /** How late followers see what is stored, ms. */
  readonly followLagMs: number;
}

export function drawClimate(random: Random): Climate {
  const actions = { ...ACTIONS } as Record<Action, number>; // The weights are changed below.
  for (const action of Object.keys(ACTIONS) as Action[]) // Its own keys.
    if (!ALWAYS.includes(action) && random.chance(0.5)) actions[action] = 0;
  const rates: Record<keyof FaultRates, number> = { ...NO_FAULTS };
  for (const fate of Object.keys(NO_FAULTS) as (keyof FaultRates)[]) // Its own keys.
    if (random.chance(0.3)) rates[fate] = random.pick([0.002, 0.01, 0.03]);
  const isLossy = random.chance(0.2);
  return {
    actions,
    rates,
    isLossy,
    durability: isLossy || random.chance(0.5) ? "process" : "fsync",
    batchMax: random.pick([0, 0, 2, 9, 1_000]),
    followLagMs: random.pick([0, 0, 50, 10_000]),
  };
}
