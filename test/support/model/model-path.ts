/**
 * What a model-based test runs: a walk through a chart, step by step.
 *
 * Owns: the shapes. A test plays each `event` against the real thing and compares with `after`, and may crash it between any
 * two steps.
 */

import type { ActorState, ChartEvent, Effect } from "../../../machines/engine/chart.ts";

export interface ModelStep<Context, Event extends ChartEvent> {
  readonly before: ActorState<Context>;
  readonly event: Event;
  readonly after: ActorState<Context>;
  readonly effects: readonly Effect[];
}

export type ModelPath<Context, Event extends ChartEvent> = readonly ModelStep<Context, Event>[];
