/**
 * The engine that is XState itself, for charts the table does not cover (regions, eventless transitions, composite guards).
 *
 * Owns: stepping a machine without an actor and without effects, by one inert scope that is used again for every step (5 µs;
 * XState's own `transition()` builds a whole actor for each and takes 23 µs); and the run-time half of the lint: what hides
 * inside a function cannot be seen when a chart is made, so it is refused when it happens.
 * Does not own: the half that can be seen (lint/).
 *
 * S1. Exact XState semantics: the step is XState's own; only actions are collected instead of run.
 * S2. Whatever is not a `do.*` or `tell.*` fails the step at once: raise, emit, sendTo, a spawned child, an unnamed action.
 *     The state it was given is untouched.
 * S3. Not re-entrant: a chart's function that steps a chart of the same engine is a programmer error.
 */

import {
  type AnyActorScope,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  createEmptyActor,
  type ExecutableActionObject,
} from "xstate";

import { invariant } from "../invariant.ts";
import type { ActorState, ChartEvent, Effect, Engine, Step } from "./chart.ts";
import { NO_EFFECTS, paramsOf } from "./effects.ts";
import { isEffectName } from "./lint/walk.ts";
import { isFinalConfiguration, leavesOf } from "./state-values.ts";
import { formatValue, parseValue } from "./value.ts";

export interface ScopeSource {
  readonly machine: AnyStateMachine;
  /** Handed to the machine's context factory. Default: undefined. */
  readonly input?: unknown;
}

export function createScopeEngine<Context, Event extends ChartEvent>(
  source: ScopeSource,
): Engine<Context, Event> {
  return new ScopeEngine<Context, Event>(source);
}

class ScopeEngine<Context, Event extends ChartEvent> implements Engine<Context, Event> {
  readonly kind = "scope";
  readonly #machine: AnyStateMachine;
  readonly #input: unknown;
  readonly #scope: AnyActorScope;
  /** One snapshot a state value, whose context is replaced for each step: at most as many as the chart has values. */
  readonly #snapshots = new Map<string, AnyMachineSnapshot>();
  /** Effects of the step that runs; null between steps. */
  #collected: Effect[] | null = null;

  constructor(source: ScopeSource) {
    this.#machine = source.machine;
    this.#input = source.input;
    this.#scope = this.#createScope();
  }

  initial(): ActorState<Context> {
    const { next, effects } = this.#collect(() =>
      this.#machine.getInitialSnapshot(this.#scope, this.#input),
    );
    // XState swallows what a context factory throws.
    if (next.status === "error") throw next.error;
    invariant(effects.length === 0, "N3: an effect before the first event", { effects });
    return stateOf(next);
  }

  step(state: ActorState<Context>, event: Event): Step<Context> | null {
    const snapshot = this.#snapshot(state);
    if (!isAccepted(snapshot, event)) return null;
    const { next, effects } = this.#collect(() =>
      this.#machine.transition(snapshot, event, this.#scope),
    );
    return { state: stateOf(next), effects };
  }

  can(state: ActorState<Context>, event: Event): boolean {
    return isAccepted(this.#snapshot(state), event);
  }

  isFinal(value: string): boolean {
    this.#template(value);
    return isFinalConfiguration(leavesOf(this.#machine, value));
  }

  has(value: string): boolean {
    return this.#findTemplate(value) !== null;
  }

  #snapshot(state: ActorState<Context>): AnyMachineSnapshot {
    // A snapshot is a plain object, so the parts that depend on the value alone need not be worked out again (1.3 µs).
    return { ...this.#template(state.value), context: state.context };
  }

  #template(value: string): AnyMachineSnapshot {
    const template = this.#findTemplate(value);
    if (template !== null) return template;
    throw new RangeError(`chart ${this.#machine.id} has no state value ${JSON.stringify(value)}`);
  }

  #findTemplate(value: string): AnyMachineSnapshot | null {
    const known = this.#snapshots.get(value);
    if (known !== undefined) return known;
    const snapshot = resolve(this.#machine, value);
    if (snapshot !== null) this.#snapshots.set(value, snapshot);
    return snapshot;
  }

  #collect(move: () => AnyMachineSnapshot): {
    readonly next: AnyMachineSnapshot;
    readonly effects: readonly Effect[];
  } {
    invariant(this.#collected === null, "S3: a chart's function stepped its own chart", {
      chart: this.#machine.id,
    });
    const collected: Effect[] = [];
    this.#collected = collected;
    try {
      const next = move();
      return { next, effects: collected.length === 0 ? NO_EFFECTS : collected };
    } finally {
      this.#collected = null;
    }
  }

  #createScope(): AnyActorScope {
    const { id } = this.#machine;
    // Everything an XState actor could do to the world goes through here.
    const self = createEmptyActor();
    const refuse = (what: string) => () => {
      invariant(false, `S2: not replay-safe: ${what}`, { chart: id });
    };
    return {
      self,
      id,
      sessionId: id,
      system: self.system,
      logger: refuse("log"),
      // Reached by `spawn` inside an assign, before anything of it starts.
      defer: refuse("a spawned child or a deferred action"),
      emit: refuse("emit"),
      stopChild: refuse("stopChild"),
      actionExecutor: (action) => this.#take(action),
    };
  }

  #take(action: ExecutableActionObject): void {
    invariant(isEffectName(action.type), `S2: not replay-safe: ${action.type}`, {
      chart: this.#machine.id,
    });
    this.#collected?.push({ type: action.type, params: paramsOf(action.params) });
  }
}

/** XState's `can`, behind what it does not look at: an ended chart still takes events, reserved ones act on any chart. */
function isAccepted(snapshot: AnyMachineSnapshot, event: ChartEvent): boolean {
  return snapshot.status === "active" && !event.type.startsWith("xstate.") && snapshot.can(event);
}

function stateOf<Context>(snapshot: AnyMachineSnapshot): ActorState<Context> {
  return { value: formatValue(snapshot.value), context: snapshot.context };
}

/** Null: the chart has no such value. A value that XState would complete (a compound state without its child) is none. */
function resolve(machine: AnyStateMachine, value: string): AnyMachineSnapshot | null {
  try {
    const snapshot: AnyMachineSnapshot = machine.resolveState({
      value: parseValue(value),
      context: {},
    });
    return formatValue(snapshot.value) === value ? snapshot : null;
  } catch {
    // Not a path at all (RangeError), or a path to a state that is not there (XState's Error): the same answer.
    return null;
  }
}
