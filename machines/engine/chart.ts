/**
 * What a chart is: a replay-safe statechart with its events, as every actor of Holdfast runs it.
 *
 * Owns: the shapes. Does not own: how one is written (definition.ts), stepping (table/, scope.ts), what is allowed in one
 * (lint/), old versions of its events (upcast.ts).
 *
 * C1. A step is a function of (state, event) alone: no clock, no randomness, no configuration.
 * C2. Effects are data. An engine never runs one.
 * C3. Between steps an actor is `{ value, context }`, nothing else.
 * C4. Nothing handed out is changed later: a step makes new objects and never touches the state or event it was given.
 */

import type { AnyStateMachine } from "xstate";

import type { UnreadableEvent } from "./upcast.ts";

/** An actor between two turns. `value` is the path of the active state, `parent.child`; parallel regions as `parent.(a|b)`. */
export interface ActorState<Context> {
  readonly value: string;
  readonly context: Context;
}

/** A named effect: `tell.*` goes to another chart in the same turn, `do.*` to the world after the acknowledgement. */
export interface Effect {
  readonly type: string;
  readonly params: Readonly<Record<string, unknown>>;
}

export interface Step<Context> {
  readonly state: ActorState<Context>;
  readonly effects: readonly Effect[];
}

export interface ChartEvent {
  readonly type: string;
}

/** Steps one chart. Two engines exist, equal on value, context, effects and refusals (property-tested). */
export interface Engine<Context, Event extends ChartEvent> {
  readonly kind: "table" | "scope";
  /** State before the first event. */
  initial(): ActorState<Context>;
  /**
   * Null: refused (no handler, every guard false, final state, reserved `xstate.` event). A throw of a guard or reducer
   * passes through. Throws RangeError for a value the chart does not have.
   */
  step(state: ActorState<Context>, event: Event): Step<Context> | null;
  /** Whether `step` would not refuse. */
  can(state: ActorState<Context>, event: Event): boolean;
  /** Whether nothing leaves this value. Throws RangeError for a value the chart does not have. */
  isFinal(value: string): boolean;
  /** Whether the chart has this state value. */
  has(value: string): boolean;
}

/** A chart that passed the lint, with everything the runtime, the readers and the pictures need of it. */
export interface Chart<Context, Event extends ChartEvent> {
  /** Name of the chart; also the `#id` that transition targets may start from. */
  readonly id: string;
  /** Version of the event schema, from 1. Written into every record; older records are upcast to it. */
  readonly version: number;
  /** The same chart as XState knows it: for pictures and for tests. The runtime steps `engine` only. */
  readonly machine: AnyStateMachine;
  readonly engine: Engine<Context, Event>;
  /** Every state value, in document order. */
  readonly stateValues: readonly string[];
  /** Every event type of the schema, in its order. */
  readonly eventTypes: readonly Event["type"][];
  /** The state values nothing leaves. */
  readonly finals: readonly string[];
  /** Throws z.ZodError for what is not an event of the current version. */
  parseEvent(input: unknown): Event;
  /**
   * Brings an event written under `fromVersion` to the current version, unparsed. Never throws: what cannot be brought there
   * comes back as an UnreadableEvent, which `parseEvent` refuses.
   */
  upcast(event: unknown, fromVersion: number): unknown;
  /** Upcasts and parses. Never throws: what a reader of a log does with the rest is the reader's to say (ES-6). */
  readEvent(event: unknown, fromVersion: number): ReadEvent<Event>;
}

export type ReadEvent<Event extends ChartEvent> =
  | { readonly kind: "event"; readonly event: Event }
  | UnreadableEvent
  /** The type is known, the rest does not fit the schema. `cause` is the z.ZodError. */
  | {
      readonly kind: "invalid";
      readonly eventType: string;
      readonly fromVersion: number;
      readonly cause: Error;
    };

/** A chart of whatever kind, for registries and tools that only look. */
export type AnyChart = Chart<unknown, ChartEvent>;
