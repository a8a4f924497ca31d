/**
 * The weather of a run: which faults may happen in it, and how often.
 *
 * Owns: drawing a climate from the seed. Each run leaves out about half of all kinds of faults, because runs in which
 * everything happens at once are all alike and hide what only a few faults together show (A. Groce et al., "Swarm Testing",
 * ISSTA 2012).
 */
import type { OutgoingMessage } from "../../../actors/journal/log.ts";
import { type FaultRates, NO_FAULTS } from "../../../infra/simulated/fates.ts";
import type { Random } from "../../../infra/simulated/random.ts";
import { junk, message, writerNamed } from "../../unit/journal/rig/records.ts";

/** What a run does next, by weight. */
const ACTIONS = {
  stage: 60,
  pass: 60,
  barrier: 10,
  wait: 8,
  waitLong: 3,
  // From here on: what a climate may leave out.
  kill: 2,
  freeze: 3,
  take: 3,
  close: 1,
  foreign: 4,
  breakConnections: 4,
  restart: 3,
  cutPower: 2,
  fill: 2,
  hush: 2,
  stepWall: 3,
  suspend: 2,
  reboot: 1,
} as const;

export type Action = keyof typeof ACTIONS;
const ALWAYS: readonly Action[] = ["stage", "pass", "barrier", "wait", "waitLong"];

export interface Climate {
  readonly actions: Readonly<Record<Action, number>>;
  readonly rates: FaultRates;
  /** Records in a group, at most. */
  readonly partsMax: number;
  /** Whether a power cut may take what was acknowledged (`process` durability). */
  readonly isLossy: boolean;
  /** Most messages that the store takes as one. */
  readonly batchMax: number;
  /** How late followers see what is stored, ms. */
  readonly followLagMs: number;
}

export function drawClimate(random: Random): Climate {
  const actions = { ...ACTIONS } as Record<Action, number>;
  for (const action of Object.keys(ACTIONS) as Action[])
    if (!ALWAYS.includes(action) && random.chance(0.5)) actions[action] = 0;
  const rates: Record<keyof FaultRates, number> = { ...NO_FAULTS };
  for (const fate of Object.keys(NO_FAULTS) as (keyof FaultRates)[])
    if (random.chance(0.4)) rates[fate] = random.pick([0.002, 0.01, 0.03]);
  return {
    actions,
    rates,
    partsMax: random.pick([1, 3, 3, 5, 40]),
    isLossy: random.chance(0.3),
    batchMax: random.pick([0, 0, 2, 9, 1_000]),
    followLagMs: random.pick([0, 0, 50, 10_000]),
  };
}

/** What somebody else puts into the stream: no frame at all, or one of a writer that is not the owner. */
export function drawForeign(random: Random): OutgoingMessage {
  const id = `foreign.${random.next()}`;
  const stray = message({ writer: writerNamed("stranger"), index: random.integer(1, 9) });
  return random.chance(0.5) ? junk(id) : { ...stray, id };
}
