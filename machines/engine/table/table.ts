/**
 * The compiled engine: a chart as a table, stepped in about 0.2 µs.
 *
 * Owns: turning XState's tree into one row a leaf and event type, and stepping it. Does not own: charts with regions,
 * eventless transitions or XState's own composite guards and actions; those step on XState itself (scope.ts).
 *
 * K1. Equal to XState on value, context, effects and refusals; the property in test/support/model holds it for every chart.
 * K2. Handlers of inner states come before those of outer ones; the first transition whose guard holds is taken; one that
 *     says nothing (no target, no actions) forbids the event.
 * K3. Operations run in XState's order: exits, transition, entries, and exits again where the chart ends. Each sees the
 *     context as the operations before it left it; guards see it as it was.
 * K4. A step that assigns nothing keeps the context object; effects that need nothing computed are shared, frozen arrays.
 */

import type { AnyStateMachine, AnyTransitionDefinition } from "xstate";

import type { ActorState, ChartEvent, Effect, Engine, Step } from "../chart.ts";
import type { StepArguments } from "../definition.ts";
import { NO_EFFECTS, paramsOf } from "../effects.ts";
import { fieldsOf, listOf } from "../lint/outline.ts";
import { isEffectName } from "../lint/walk.ts";
import { isFinalConfiguration } from "../state-values.ts";
import { ReplaySafeArguments } from "./replay-safe-arguments.ts";
import {
  chainOf,
  initialLeafOf,
  isEnd,
  planTransition,
  type StateNode,
} from "./transition-plan.ts";

type Reduce<Context, Event extends ChartEvent> = (
  args: StepArguments<Context, Event>,
) => Partial<Context>;

type Check<Context, Event extends ChartEvent> = (args: StepArguments<Context, Event>) => unknown;

type Compute<Context, Event extends ChartEvent> = (args: StepArguments<Context, Event>) => unknown;

export interface TableSource<Context, Event extends ChartEvent> {
  readonly machine: AnyStateMachine;
  /** The same functions that the machine's assign actions call. */
  readonly reducers: Readonly<Record<string, Reduce<Context, Event>>>;
  initialContext(): Context;
}

export type Compilation<Context, Event extends ChartEvent> =
  | { readonly kind: "compiled"; readonly engine: Engine<Context, Event> }
  /** `reason` says what stands in the way, with the state's path. */
  | { readonly kind: "not_compilable"; readonly reason: string };

type Operation<Context, Event extends ChartEvent> =
  | { readonly kind: "reduce"; readonly reduce: Reduce<Context, Event> }
  | { readonly kind: "effect"; readonly effect: Effect }
  | { readonly kind: "compute"; readonly type: string; readonly params: Compute<Context, Event> };

/** One way an event can go from one leaf. */
interface Candidate<Context, Event extends ChartEvent> {
  readonly guard: Check<Context, Event> | null;
  readonly isForbidden: boolean;
  readonly operations: readonly Operation<Context, Event>[];
  /** All effects of the step when none depends on the event; `operations` then holds reducers alone. */
  readonly fixedEffects: readonly Effect[] | null;
  readonly to: string;
}

interface Leaf<Context, Event extends ChartEvent> {
  readonly value: string;
  readonly isFinal: boolean;
  readonly candidates: ReadonlyMap<string, readonly Candidate<Context, Event>[]>;
}

export function compileTable<Context, Event extends ChartEvent>(
  source: TableSource<Context, Event>,
): Compilation<Context, Event> {
  const { root } = source.machine;
  const leaves = new Map<string, Leaf<Context, Event>>();
  try {
    for (const node of leafNodesOf(root)) {
      const leaf = compileLeaf(source, node);
      leaves.set(leaf.value, leaf);
    }
  } catch (error) {
    if (error instanceof NotCompilable) return { kind: "not_compilable", reason: error.message };
    throw error;
  }
  const engine = new TableEngine(valueOf(initialLeafOf(root)), source, leaves);
  return { kind: "compiled", engine };
}

class TableEngine<Context, Event extends ChartEvent> implements Engine<Context, Event> {
  readonly kind = "table";
  readonly #initialValue: string;
  readonly #source: TableSource<Context, Event>;
  readonly #leaves: ReadonlyMap<string, Leaf<Context, Event>>;

  constructor(
    initialValue: string,
    source: TableSource<Context, Event>,
    leaves: ReadonlyMap<string, Leaf<Context, Event>>,
  ) {
    this.#initialValue = initialValue;
    this.#source = source;
    this.#leaves = leaves;
  }

  initial(): ActorState<Context> {
    return { value: this.#initialValue, context: this.#source.initialContext() };
  }

  step(state: ActorState<Context>, event: Event): Step<Context> | null {
    const candidates = this.#leaf(state.value).candidates.get(event.type);
    if (candidates === undefined) return null;
    const args = new ReplaySafeArguments(state.context, event);
    const candidate = choose(candidates, args);
    return candidate === null ? null : run(candidate, args);
  }

  can(state: ActorState<Context>, event: Event): boolean {
    const candidates = this.#leaf(state.value).candidates.get(event.type);
    if (candidates === undefined) return false;
    return choose(candidates, new ReplaySafeArguments(state.context, event)) !== null;
  }

  isFinal(value: string): boolean {
    return this.#leaf(value).isFinal;
  }

  has(value: string): boolean {
    return this.#leaves.has(value);
  }

  #leaf(value: string): Leaf<Context, Event> {
    const leaf = this.#leaves.get(value);
    if (leaf !== undefined) return leaf;
    const id = this.#source.machine.id;
    throw new RangeError(`chart ${id} has no state value ${JSON.stringify(value)}`);
  }
}

function choose<Context, Event extends ChartEvent>(
  candidates: readonly Candidate<Context, Event>[],
  args: ReplaySafeArguments<Context, Event>,
): Candidate<Context, Event> | null {
  for (const candidate of candidates) {
    if (candidate.guard !== null && !candidate.guard(args)) continue;
    return candidate.isForbidden ? null : candidate;
  }
  return null;
}

function run<Context, Event extends ChartEvent>(
  candidate: Candidate<Context, Event>,
  args: ReplaySafeArguments<Context, Event>,
): Step<Context> {
  const computed: Effect[] | null = candidate.fixedEffects === null ? [] : null;
  for (const operation of candidate.operations) {
    if (operation.kind === "reduce") {
      args.context = { ...args.context, ...operation.reduce(args) };
    } else if (operation.kind === "effect") {
      computed?.push(operation.effect);
    } else {
      computed?.push({ type: operation.type, params: paramsOf(operation.params(args)) });
    }
  }
  return {
    state: { value: candidate.to, context: args.context },
    effects: candidate.fixedEffects ?? computed ?? NO_EFFECTS,
  };
}

// ── compiling ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Thrown while compiling, caught by `compileTable`, never seen outside. */
class NotCompilable extends Error {
  constructor(node: StateNode, what: string) {
    super(`${valueOf(node) || "(root)"}: ${what}`);
  }
}

function valueOf(node: StateNode): string {
  return node.path.join(".");
}

function* leafNodesOf(node: StateNode): Generator<StateNode> {
  if (node.type === "parallel") throw new NotCompilable(node, "parallel");
  if (node.always !== undefined) throw new NotCompilable(node, "always");
  if (node.type === "compound" && node.initial.actions.length > 0) {
    throw new NotCompilable(node, "actions of the initial transition");
  }
  if (node.type !== "compound") yield node;
  for (const child of Object.values(node.states)) yield* leafNodesOf(child);
}

function compileLeaf<Context, Event extends ChartEvent>(
  source: TableSource<Context, Event>,
  leaf: StateNode,
): Leaf<Context, Event> {
  const candidates = new Map<string, Candidate<Context, Event>[]>();
  // A chart that has ended takes nothing, whatever the root would handle.
  const handling = isEnd(leaf) ? [] : chainOf(leaf).flatMap((node) => [...node.transitions]);
  for (const [type, transitions] of handling) {
    if (type.startsWith("xstate.")) throw new NotCompilable(leaf, "onDone of a state above");
    const list = candidates.get(type) ?? [];
    candidates.set(type, list);
    for (const transition of transitions) {
      // Behind a transition without a guard nothing is ever asked.
      if (list.at(-1)?.guard === null) break;
      list.push(compileCandidate(source, leaf, transition));
    }
  }
  return { value: valueOf(leaf), isFinal: isFinalConfiguration([leaf]), candidates };
}

function compileCandidate<Context, Event extends ChartEvent>(
  source: TableSource<Context, Event>,
  leaf: StateNode,
  transition: AnyTransitionDefinition,
): Candidate<Context, Event> {
  if (transition.target !== undefined && transition.target.length !== 1) {
    throw new NotCompilable(transition.source, "a transition with several targets");
  }
  const plan = planTransition(transition, leaf);
  const operations = [
    ...plan.exits.flatMap((node) => compileActions(source, node, node.exit)),
    ...compileActions(source, transition.source, transition.actions),
    ...plan.enters.flatMap((node) => compileActions(source, node, node.entry)),
    ...plan.closes.flatMap((node) => compileActions(source, node, node.exit)),
  ];
  const isFixed = operations.every((operation) => operation.kind !== "compute");
  return {
    guard: compileGuard(source, transition),
    isForbidden: transition.target === undefined && listOf(transition.actions).length === 0,
    operations: isFixed ? operations.filter(({ kind }) => kind === "reduce") : operations,
    fixedEffects: isFixed ? fixedEffectsOf(operations) : null,
    to: valueOf(plan.leaf),
  };
}

function fixedEffectsOf<Context, Event extends ChartEvent>(
  operations: readonly Operation<Context, Event>[],
): readonly Effect[] {
  const effects = operations.flatMap((operation) =>
    operation.kind === "effect" ? [operation.effect] : [],
  );
  return effects.length === 0 ? NO_EFFECTS : Object.freeze(effects);
}

function compileGuard<Context, Event extends ChartEvent>(
  source: TableSource<Context, Event>,
  transition: AnyTransitionDefinition,
): Check<Context, Event> | null {
  const guard: unknown = transition.guard;
  if (guard === undefined) return null;
  const implementations: Readonly<Record<string, unknown>> = source.machine.implementations.guards;
  const implementation = typeof guard === "string" ? implementations[guard] : undefined;
  if (typeof implementation !== "function" || "check" in implementation) {
    throw new NotCompilable(transition.source, "a composite guard, or one with params");
  }
  return (args) => implementation(args);
}

function compileActions<Context, Event extends ChartEvent>(
  source: TableSource<Context, Event>,
  node: StateNode,
  actions: unknown,
): readonly Operation<Context, Event>[] {
  return listOf(actions).map((action) => {
    const fields = fieldsOf(action);
    const name = fields?.["type"] ?? action;
    if (typeof name !== "string") throw new NotCompilable(node, "an inline action");
    const params = fields?.["params"];
    if (isEffectName(name)) return compileEffect(name, params);
    const reduce = source.reducers[name];
    if (reduce === undefined || params !== undefined) {
      throw new NotCompilable(node, `action ${JSON.stringify(name)} is no plain reducer`);
    }
    return { kind: "reduce", reduce };
  });
}

function compileEffect<Context, Event extends ChartEvent>(
  type: string,
  params: unknown,
): Operation<Context, Event> {
  if (typeof params === "function")
    return { kind: "compute", type, params: (args) => params(args) };
  return { kind: "effect", effect: Object.freeze({ type, params: paramsOf(params) }) };
}
