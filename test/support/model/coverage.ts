/**
 * How much of a chart a set of walks has seen.
 *
 * Owns: counting transitions (each alternative of a guard is one of its own) and states.
 */

import type { ActorState, Chart, ChartEvent } from "../../../machines/engine/chart.ts";
import { probeTransitions, type TransitionProbe } from "./transition-probe.ts";

export interface Coverage {
  /** Transitions of the chart. */
  readonly total: number;
  /** Of `total`, 0 to 100. */
  readonly percent: number;
  /** Names of the transitions that no walk took. */
  readonly missing: readonly string[];
  /** Paths of the leaf states that no walk was in. */
  readonly missingStates: readonly string[];
}

/** What of a step coverage needs: a refused one counts its state and nothing else. */
export interface CoveredStep<Context> {
  readonly before: ActorState<Context>;
  readonly event: ChartEvent;
  readonly after?: ActorState<Context>;
}

export function coverage<Context, Event extends ChartEvent>(
  chart: Chart<Context, Event>,
  runs: readonly (readonly CoveredStep<Context>[])[],
): Coverage {
  const tally = new CoverageTally(chart);
  for (const step of runs.flat()) tally.add(step);
  return tally.result();
}

/** Counts step by step, for walks too many to keep. */
export class CoverageTally<Context, Event extends ChartEvent> {
  readonly #probe: TransitionProbe<Context>;
  readonly #missing: Set<string>;
  readonly #missingStates: Set<string>;

  constructor(chart: Chart<Context, Event>) {
    this.#probe = probeTransitions(chart);
    this.#missing = new Set(this.#probe.transitions);
    this.#missingStates = new Set(this.#probe.leaves);
  }

  add({ before, event, after }: CoveredStep<Context>): void {
    // Probing costs a hundred steps; once everything was seen there is nothing left to find.
    if (this.#missing.size > 0) {
      for (const name of this.#probe.taken(before, event)) this.#missing.delete(name);
    }
    if (this.#missingStates.size > 0) {
      for (const leaf of this.#probe.activeLeaves(before)) this.#missingStates.delete(leaf);
      if (after === undefined) return;
      for (const leaf of this.#probe.activeLeaves(after)) this.#missingStates.delete(leaf);
    }
  }

  result(): Coverage {
    const total = this.#probe.transitions.length;
    const covered = total - this.#missing.size;
    return {
      total,
      percent: total === 0 ? 100 : (100 * covered) / total,
      missing: [...this.#missing],
      missingStates: [...this.#missingStates],
    };
  }
}
