/**
 * A few paths through a chart that together take every transition.
 *
 * Owns: finding them over @xstate/graph's adjacency map, and refusing to return less than everything.
 * Does not own: playing them against anything (the test does).
 *
 * E1. Every transition is taken by at least one path, every alternative of a guard included, and every state is entered.
 * E2. A path is what the chart's own engine does, from its first state on: no step of it is only assumed.
 * E3. What makes that impossible is thrown with its name: an event without a case, a transition nothing reaches, a state key
 *     that forgets what a guard asks for, a context that grows without end.
 */

import { getAdjacencyMap } from "@xstate/graph";
import type { AnyMachineSnapshot } from "xstate";

import type { ActorState, Chart, ChartEvent } from "../../../machines/engine/chart.ts";
import { formatValue, parseValue } from "../../../machines/engine/value.ts";
import { coverage } from "./coverage.ts";
import { assertComplete, casesAt, type EventCases } from "./event-source.ts";
import type { ModelPath, ModelStep } from "./model-path.ts";
import { probeTransitions, type TransitionProbe } from "./transition-probe.ts";

/** Steps tried while looking for states. A chart that needs more has a context that grows: give a smaller `contextKey`. */
export const TRAVERSAL_STEP_COUNT_MAX = 20_000;

export interface EdgeCoverOptions<Context, Event extends ChartEvent> {
  readonly events: EventCases<Context, Event>;
  /**
   * What tells two states of the same value apart. It must keep every field that a guard asks for, here or later; fields
   * that only grow (times, lists, counters) belong out of it. Default: the whole context as JSON.
   */
  readonly serializeState?: (state: ActorState<Context>) => string;
  /** Transitions that are known to be out of reach, by name, each with the reason. One that is reached after all is thrown. */
  readonly unreachable?: Readonly<Record<string, string>>;
}

export function edgeCover<Context, Event extends ChartEvent>(
  chart: Chart<Context, Event>,
  options: EdgeCoverOptions<Context, Event>,
): readonly ModelPath<Context, Event>[] {
  const probe = probeTransitions(chart);
  const graph = exploreGraph(chart, options);
  const plans = planPaths(graph, probe);
  const paths: ModelPath<Context, Event>[] = [];
  const covered = new Set<string>();
  for (const { transition, events } of plans) {
    if (covered.has(transition)) continue;
    const path = replay(chart, events);
    for (const { before, event } of path ?? []) {
      for (const name of probe.taken(before, event)) covered.add(name);
    }
    if (path === null || !covered.has(transition)) {
      throw new Error(
        `chart ${chart.id}: the path to ${transition} does not take it: serializeState forgets what a guard asks for`,
      );
    }
    paths.push(path);
  }
  assertEverythingCovered(chart, paths, options.unreachable ?? {});
  return paths;
}

// ── exploring ────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Vertex<Context, Event extends ChartEvent> {
  readonly state: ActorState<Context>;
  readonly edges: readonly { readonly event: Event; readonly to: string }[];
}

interface Graph<Context, Event extends ChartEvent> {
  readonly start: string;
  readonly vertices: ReadonlyMap<string, Vertex<Context, Event>>;
}

function exploreGraph<Context, Event extends ChartEvent>(
  chart: Chart<Context, Event>,
  options: EdgeCoverOptions<Context, Event>,
): Graph<Context, Event> {
  const serialize = options.serializeState ?? ((state) => JSON.stringify(state.context));
  // The value always belongs to the key, whatever the caller keeps of the context.
  const keyOf = (state: ActorState<Context>) => `${state.value} ${serialize(state)}`;
  const tried = new Map<string, ChartEvent>();
  const enabledIn = (snapshot: AnyMachineSnapshot): readonly Event[] => {
    const state = stateOf<Context>(snapshot);
    const events = casesAt(chart, options.events, state);
    for (const event of events) tried.set(event.type, event);
    return events.filter((event) => chart.engine.can(state, event));
  };

  const initial = chart.engine.initial();
  const adjacency = traverse(chart, () =>
    getAdjacencyMap(chart.machine, {
      fromState: chart.machine.resolveState({
        value: parseValue(initial.value),
        context: initial.context,
      }),
      events: enabledIn,
      serializeState: (snapshot: AnyMachineSnapshot) => keyOf(stateOf(snapshot)),
      limit: TRAVERSAL_STEP_COUNT_MAX,
    }),
  );
  assertComplete(chart, tried.values());

  const vertices = new Map<string, Vertex<Context, Event>>();
  for (const [key, { state, transitions }] of Object.entries(adjacency)) {
    const edges = Object.values<{ event: Event; state: AnyMachineSnapshot }>(transitions);
    vertices.set(key, {
      state: stateOf(state),
      edges: edges.map((edge) => ({ event: edge.event, to: keyOf(stateOf(edge.state)) })),
    });
  }
  return { start: keyOf(initial), vertices };
}

function traverse<Adjacency, Context, Event extends ChartEvent>(
  chart: Chart<Context, Event>,
  explore: () => Adjacency,
): Adjacency {
  try {
    return explore();
  } catch (error) {
    if (!(error instanceof Error) || error.message !== "Traversal limit exceeded") throw error;
    throw new Error(
      `chart ${chart.id}: more than ${TRAVERSAL_STEP_COUNT_MAX} steps: its context grows; give a serializeState that keeps only what guards ask for`,
      { cause: error },
    );
  }
}

function stateOf<Context>(snapshot: AnyMachineSnapshot): ActorState<Context> {
  return { value: formatValue(snapshot.value), context: snapshot.context };
}

// ── planning ─────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Plan<Event extends ChartEvent> {
  readonly transition: string;
  /** From the first state up to and with the event that takes the transition. */
  readonly events: readonly Event[];
}

/** The shortest way to each transition, the longest of them first: those take most of the others on their way. */
function planPaths<Context, Event extends ChartEvent>(
  graph: Graph<Context, Event>,
  probe: TransitionProbe<Context>,
): readonly Plan<Event>[] {
  const plans = new Map<string, readonly Event[]>();
  for (const [key, way] of shortestWays(graph)) {
    const vertex = graph.vertices.get(key);
    if (vertex === undefined) continue;
    for (const { event } of vertex.edges) {
      for (const name of probe.taken(vertex.state, event)) {
        if (!plans.has(name)) plans.set(name, [...way, event]);
      }
    }
  }
  return [...plans]
    .map(([transition, events]) => ({ transition, events }))
    .sort((a, b) => b.events.length - a.events.length);
}

/** From the first state to every other one, the nearest first. */
function shortestWays<Context, Event extends ChartEvent>(
  graph: Graph<Context, Event>,
): ReadonlyMap<string, readonly Event[]> {
  const ways = new Map<string, readonly Event[]>([[graph.start, []]]);
  // A Map is walked in the order of insertion, and takes new entries while it is walked: breadth first.
  for (const [key, way] of ways) {
    for (const { event, to } of graph.vertices.get(key)?.edges ?? []) {
      if (!ways.has(to)) ways.set(to, [...way, event]);
    }
  }
  return ways;
}

/** Null: the engine refuses one of the events. */
function replay<Context, Event extends ChartEvent>(
  chart: Chart<Context, Event>,
  events: readonly Event[],
): ModelPath<Context, Event> | null {
  const path: ModelStep<Context, Event>[] = [];
  let before = chart.engine.initial();
  for (const event of events) {
    const step = chart.engine.step(before, event);
    if (step === null) return null;
    path.push({ before, event, after: step.state, effects: step.effects });
    before = step.state;
  }
  return path;
}

function assertEverythingCovered<Context, Event extends ChartEvent>(
  chart: Chart<Context, Event>,
  paths: readonly ModelPath<Context, Event>[],
  unreachable: Readonly<Record<string, string>>,
): void {
  const { missing, missingStates } = coverage(chart, paths);
  const faults = [
    ...missing
      .filter((name) => !Object.hasOwn(unreachable, name))
      .map((name) => `unreachable: ${name}`),
    ...Object.keys(unreachable)
      .filter((name) => !missing.includes(name))
      .map((name) => `said to be unreachable, but is not, or is no transition: ${name}`),
    // A state that only an excused transition leads to is excused with it.
    ...missingStates
      .filter((leaf) => !Object.keys(unreachable).some((name) => name.endsWith(`--> ${leaf}`)))
      .map((leaf) => `never entered: ${leaf}`),
  ];
  if (faults.length === 0) return;
  throw new Error(
    `chart ${chart.id} is not covered; is a case missing, or does serializeState forget what a guard asks for?\n  ${faults.join("\n  ")}`,
  );
}
