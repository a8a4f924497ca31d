/**
 * Random walks through a chart, for fast-check.
 *
 * Owns: making them, so that a failing one shrinks to few steps. Does not own: playing them.
 */

import * as fc from "fast-check";

import type { ActorState, Chart, ChartEvent, Effect } from "../../../machines/engine/chart.ts";
import { candidatesOf, type EventSource } from "./event-source.ts";
import {
  choiceArbitrary,
  chooseEvent,
  chooseRogue,
  TERMINAL_PERCENT,
  WALK_LENGTH_MAX,
} from "./steering.ts";

export type WalkStep<Context, Event extends ChartEvent> =
  | {
      readonly kind: "taken";
      readonly before: ActorState<Context>;
      readonly event: Event;
      readonly after: ActorState<Context>;
      readonly effects: readonly Effect[];
    }
  /** What is tested must refuse the event, and stay as it was. Its type may be none of the chart's. */
  | { readonly kind: "refused"; readonly before: ActorState<Context>; readonly event: ChartEvent };

export interface WalkOptions<Context, Event extends ChartEvent> {
  readonly events: EventSource<Context, Event>;
  /** Moves; refused events come on top. Default WALK_LENGTH_MAX. */
  readonly lengthMax?: number;
  /** Default TERMINAL_PERCENT. */
  readonly terminalPercent?: number;
}

export function steeredWalk<Context, Event extends ChartEvent>(
  chart: Chart<Context, Event>,
  options: WalkOptions<Context, Event>,
): fc.Arbitrary<readonly WalkStep<Context, Event>[]> {
  const { engine } = chart;
  const candidates = candidatesOf(chart, options.events);
  const terminalPercent = options.terminalPercent ?? TERMINAL_PERCENT;
  const choices = fc.array(fc.tuple(choiceArbitrary, candidates.drawn), {
    minLength: 1,
    maxLength: options.lengthMax ?? WALK_LENGTH_MAX,
    size: "max",
  });
  return choices.map((chosen) => {
    const steps: WalkStep<Context, Event>[] = [];
    let before = engine.initial();
    for (const [choice, drawn] of chosen) {
      const events = candidates.at(before, drawn);
      const rogue = chooseRogue(engine, before, { candidates: events, choice });
      if (rogue !== null) steps.push({ kind: "refused", before, event: rogue });
      const event = chooseEvent(engine, before, { candidates: events, choice, terminalPercent });
      const step = event === null ? null : engine.step(before, event);
      if (event === null || step === null) break;
      steps.push({ kind: "taken", before, event, after: step.state, effects: step.effects });
      before = step.state;
    }
    return steps;
  });
}
