/**
 * The charts that the runtime runs, by the kind that an actor's name begins with.
 */

import {
  type DispatcherContext,
  type DispatcherEvent,
  dispatcherChart,
} from "../../machines/dispatcher/chart.ts";
import type { ActorState, ChartEvent } from "../../machines/engine/chart.ts";
import type { Chart } from "../../machines/engine/define-chart.ts";
import { type JobContext, jobChart } from "../../machines/job/chart.ts";
import type { JobEvent } from "../../machines/job/events.ts";
import { type LivenessContext, livenessChart } from "../../machines/liveness/chart.ts";
import type { LivenessEvent } from "../../machines/liveness/events.ts";

export const CHARTS = {
  job: jobChart,
  liveness: livenessChart,
  dispatcher: dispatcherChart,
} as const;

export type ActorKind = keyof typeof CHARTS;

export interface EventOf {
  readonly job: JobEvent;
  readonly liveness: LivenessEvent;
  readonly dispatcher: DispatcherEvent;
}

export interface ContextOf {
  readonly job: JobContext;
  readonly liveness: LivenessContext;
  readonly dispatcher: DispatcherContext;
}

export const actorName = (kind: ActorKind, id: string): string => `${kind}:${id}`;

/** Null: a kind that this version does not know. */
export function parseActorName(
  name: string,
): { readonly kind: ActorKind; readonly id: string } | null {
  const colon = name.indexOf(":");
  const kind = colon < 0 ? name : name.slice(0, colon);
  return isActorKind(kind) ? { kind, id: name.slice(colon + 1) } : null;
}

const isActorKind = (kind: string): kind is ActorKind => Object.hasOwn(CHARTS, kind);

/** A chart with its types forgotten: the turn and the fold step all kinds alike; what they step was typed when it came in. */
export type AnyChart = Chart<unknown, ChartEvent>;

// The erasure is sound where events reach a chart only through `Turn.apply` (typed) or the journal (parsed).
export const chartOf = (kind: ActorKind): AnyChart => CHARTS[kind] as unknown as AnyChart;

export type StateOf<Kind extends ActorKind> = ActorState<ContextOf[Kind]>;
