/**
 * Where a test's events come from.
 *
 * Owns: the two ways to give them (cases, or generators), and refusing a set that leaves an event type out: a type without a
 * case would never be tried, and nobody would notice.
 */

import * as fc from "fast-check";

import type { ActorState, Chart, ChartEvent } from "../../../machines/engine/chart.ts";

/** Representative events, each alternative of a guard with one of its own; or those that fit a state. */
export type EventCases<Context, Event extends ChartEvent> =
  | readonly Event[]
  | ((state: ActorState<Context>) => readonly Event[]);

/** One generator for every event type. */
export type EventArbitraries<Event extends ChartEvent> = {
  readonly [Type in Event["type"]]: fc.Arbitrary<Extract<Event, { readonly type: Type }>>;
};

export type EventSource<Context, Event extends ChartEvent> =
  | EventCases<Context, Event>
  | EventArbitraries<Event>;

export interface Candidates<Context, Event extends ChartEvent> {
  /** Drawn anew for each step of a walk. */
  readonly drawn: fc.Arbitrary<readonly Event[]>;
  /** What may be tried in this state. */
  at(state: ActorState<Context>, drawn: readonly Event[]): readonly Event[];
}

export function candidatesOf<Context, Event extends ChartEvent>(
  chart: Chart<Context, Event>,
  source: EventSource<Context, Event>,
): Candidates<Context, Event> {
  if (isCases(source)) {
    if (typeof source !== "function") assertComplete(chart, source);
    return { drawn: fc.constant([]), at: (state) => casesAt(chart, source, state) };
  }
  const arbitraries: readonly (readonly [string, fc.Arbitrary<Event>])[] = Object.entries(source);
  const types = new Set(arbitraries.map(([type]) => type));
  assertTypes(chart, types);
  const drawn = fc.tuple(...arbitraries.map(([, arbitrary]) => arbitrary));
  return { drawn, at: (_state, events) => events };
}

export function casesAt<Context, Event extends ChartEvent>(
  chart: Chart<Context, Event>,
  cases: EventCases<Context, Event>,
  state: ActorState<Context>,
): readonly Event[] {
  const events = typeof cases === "function" ? cases(state) : cases;
  // A case that the schema refuses could never reach the chart.
  for (const event of events) {
    const read = chart.readEvent(event, chart.version);
    if (read.kind === "event") continue;
    const cause = "cause" in read ? { cause: read.cause } : {};
    const found = `${read.kind}: ${JSON.stringify(event)}`;
    throw new Error(`events of chart ${chart.id}: a case is no event of it, ${found}`, cause);
  }
  return events;
}

/** Throws when an event type of the chart has no case, or a case has a type that is none. */
export function assertComplete<Context, Event extends ChartEvent>(
  chart: Chart<Context, Event>,
  events: Iterable<ChartEvent>,
): void {
  assertTypes(chart, new Set([...events].map(({ type }) => type)));
}

function assertTypes<Context, Event extends ChartEvent>(
  chart: Chart<Context, Event>,
  types: ReadonlySet<string>,
): void {
  const known = new Set<string>(chart.eventTypes);
  const faults = [
    ...[...known].filter((type) => !types.has(type)).map((type) => `no case for ${type}`),
    ...[...types].filter((type) => !known.has(type)).map((type) => `${type} is no event of it`),
  ];
  if (faults.length > 0) throw new Error(`events of chart ${chart.id}: ${faults.join("; ")}`);
}

function isCases<Context, Event extends ChartEvent>(
  source: EventSource<Context, Event>,
): source is EventCases<Context, Event> {
  return typeof source === "function" || Array.isArray(source);
}
