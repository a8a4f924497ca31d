/**
 * Tells which transitions of a chart a step takes.
 *
 * Owns: naming every transition (`live.running --job.failed[1]--> queued`), eventless ones included, and observing XState
 * while it takes them. Does not own: stepping (the engines know no names).
 *
 * A forbidden event (`on: { x: {} }`) is no transition: it is refused.
 */

import {
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyTransitionDefinition,
  createEmptyActor,
} from "xstate";

import type { ActorState, Chart, ChartEvent } from "../../../machines/engine/chart.ts";
import { parseValue } from "../../../machines/engine/value.ts";

type StateNode = AnyStateMachine["root"];

export interface TransitionProbe<Context> {
  /** All transitions, by name, in document order. */
  readonly transitions: readonly string[];
  /** All states without states of their own, by path. */
  readonly leaves: readonly string[];
  /** Names of what the event makes the chart take from this state; none when it is refused. */
  taken(state: ActorState<Context>, event: ChartEvent): readonly string[];
  /** Paths of the active leaves. */
  activeLeaves(state: ActorState<Context>): readonly string[];
}

export function probeTransitions<Context, Event extends ChartEvent>(
  chart: Chart<Context, Event>,
): TransitionProbe<Context> {
  const { machine, engine } = chart;
  const names = new Map<unknown, string>();
  const leaves: string[] = [];
  for (const node of nodesOf(machine.root)) {
    if (Object.keys(node.states).length === 0) leaves.push(pathOf(node));
    for (const [transition, name] of namedTransitionsOf(node)) names.set(transition, name);
  }

  const observed: AnyTransitionDefinition[] = [];
  const scope = observedScope(machine, observed);
  const snapshotOf = (state: ActorState<Context>): AnyMachineSnapshot =>
    machine.resolveState({ value: parseValue(state.value), context: state.context });

  return {
    transitions: [...names.values()],
    leaves,
    taken(state, event) {
      const loose: { can(state: ActorState<Context>, event: ChartEvent): boolean } = engine;
      if (!loose.can(state, event)) return [];
      observed.length = 0;
      machine.transition(snapshotOf(state), event, scope);
      return observed.flatMap((transition) => names.get(transition) ?? []);
    },
    activeLeaves(state) {
      const active: readonly StateNode[] = snapshotOf(state)._nodes;
      return active.filter((node) => Object.keys(node.states).length === 0).map(pathOf);
    },
  };
}

/** An inert scope whose system reports the transitions of every microstep. */
function observedScope(
  machine: AnyStateMachine,
  observed: AnyTransitionDefinition[],
): AnyActorScope {
  const self = createEmptyActor();
  self.system.inspect((inspected) => {
    if (inspected.type === "@xstate.microstep") observed.push(...inspected._transitions);
  });
  const nothing = () => undefined;
  return {
    self,
    id: machine.id,
    sessionId: machine.id,
    system: self.system,
    logger: nothing,
    defer: nothing,
    emit: nothing,
    stopChild: nothing,
    actionExecutor: nothing,
  };
}

function* nodesOf(node: StateNode): Generator<StateNode> {
  yield node;
  for (const child of Object.values(node.states)) yield* nodesOf(child);
}

function* namedTransitionsOf(
  node: StateNode,
): Generator<readonly [AnyTransitionDefinition, string]> {
  const lists: (readonly [string, readonly AnyTransitionDefinition[]])[] = [
    ...node.transitions,
    ["always", node.always ?? []],
  ];
  for (const [event, transitions] of lists) {
    for (const [index, transition] of transitions.entries()) {
      const isForbidden = transition.target === undefined && transition.actions.length === 0;
      if (isForbidden) continue;
      const target = transition.target?.map(pathOf).join(", ") ?? "(stays)";
      yield [transition, `${pathOf(node)} --${event}[${index}]--> ${target}`];
    }
  }
}

function pathOf(node: StateNode): string {
  return node.path.join(".") || "(root)";
}
