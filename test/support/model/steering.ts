/**
 * Chooses the next event of a random walk.
 *
 * Owns: the steering. A walk that picks evenly among what is enabled ends after two steps on average, because most charts can
 * end from everywhere; faults that need a long life are never met. So an event that ends the chart is taken rarely.
 */

import * as fc from "fast-check";

import type { ActorState, ChartEvent, Engine } from "../../../machines/engine/chart.ts";

/** Percent of steps in which an event that ends the chart may be taken while another one could be. */
export const TERMINAL_PERCENT = 6;

export const WALK_LENGTH_MAX = 80;

export interface Choice {
  readonly pick: number;
  readonly rogue: number;
  readonly end: number;
}

export const choiceArbitrary: fc.Arbitrary<Choice> = fc.record({
  pick: fc.nat(9_999),
  rogue: fc.nat(9_999),
  end: fc.nat(99),
});

/** Events that no chart takes: an unknown type, and those that XState itself would act on. */
export const ROGUE_EVENTS: readonly ChartEvent[] = [
  { type: "no.such.event" },
  { type: "xstate.init" },
  { type: "xstate.stop" },
  { type: "xstate.error.actor.somebody" },
  { type: "xstate.done.state.somewhere" },
];

/** Null: nothing is enabled here. */
export function chooseEvent<Context, Event extends ChartEvent>(
  engine: Engine<Context, Event>,
  state: ActorState<Context>,
  walk: {
    readonly candidates: readonly Event[];
    readonly choice: Choice;
    readonly terminalPercent: number;
  },
): Event | null {
  const { candidates, choice, terminalPercent } = walk;
  const enabled: Event[] = [];
  const going: Event[] = [];
  for (const event of candidates) {
    const step = engine.step(state, event);
    if (step === null) continue;
    enabled.push(event);
    if (!engine.isFinal(step.state.value)) going.push(event);
  }
  const pool = going.length > 0 && choice.end >= terminalPercent ? going : enabled;
  return pool[choice.pick % pool.length] ?? null;
}

/** An event that the chart must refuse here; null when the choice fell on one that it takes. */
export function chooseRogue<Context, Event extends ChartEvent>(
  engine: Engine<Context, Event>,
  state: ActorState<Context>,
  walk: { readonly candidates: readonly Event[]; readonly choice: Choice },
): ChartEvent | null {
  const pool: readonly ChartEvent[] = [...walk.candidates, ...ROGUE_EVENTS];
  const event = pool[walk.choice.rogue % pool.length];
  const loose: { can(state: ActorState<Context>, event: ChartEvent): boolean } = engine;
  return event === undefined || loose.can(state, event) ? null : event;
}
