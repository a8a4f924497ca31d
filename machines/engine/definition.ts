/**
 * How a chart is written.
 *
 * Owns: the types of a chart's source text, precise enough that a misspelt event, reducer, guard or effect is a type error at
 * the place where it stands. Does not own: what of it is allowed at run time (lint/), building the chart (define-chart.ts).
 *
 * A reducer or guard that is named like an event, `"job.failed"` or `"job.failed/retry"`, sees that event alone and may be
 * used only where that event is handled. Any other name sees every event of the chart and may be used anywhere.
 *
 * A target is XState's: `b` (a sibling), `.b` (a child of the state that handles the event), `#chart.a.b` (from the root).
 */

import type { z } from "zod";

import type { ChartEvent } from "./chart.ts";
import type { Upcasters } from "./upcast.ts";

/** What every reducer, guard and params function is called with. */
export interface StepArguments<Context, Event extends ChartEvent> {
  /** As it is at this point of the action list: reducers before this one have been applied. */
  readonly context: Context;
  readonly event: Event;
}

/** `do.*` goes to the world after the acknowledgement, `tell.*` to another chart in the same turn. */
export type EffectName = `do.${string}` | `tell.${string}`;

/** A zod discriminated union on `type`. */
export type EventSchema = z.ZodType<ChartEvent>;

/** The names that are tied to the event type. */
type NamedAfter<Type extends string> = Type | `${Type}/${string}`;

type EventsNaming<Event extends ChartEvent, Name> = Event extends ChartEvent
  ? Name extends NamedAfter<Event["type"]>
    ? Event
    : never
  : never;

/** What a reducer or guard of this name sees. */
export type EventFor<Event extends ChartEvent, Name> = [EventsNaming<Event, Name>] extends [never]
  ? Event
  : EventsNaming<Event, Name>;

/** The names that may be used where `Type` is handled. */
type UsableAt<Name extends string, Event extends ChartEvent, Type extends string> = Exclude<
  Name,
  NamedAfter<Exclude<Event["type"], Type>>
>;

/** The names that may be used where any event may have led: entry, exit, always. */
type UsableAnywhere<Name extends string, Event extends ChartEvent> = Exclude<
  Name,
  NamedAfter<Event["type"]>
>;

declare const unreturnable: unique symbol;

/**
 * No function can return this; it only stands beside what a reducer returns. TypeScript, while it still infers `Context`,
 * widens `{ kind: "completed" }` to `{ kind: string }` unless something in sight says that a literal may be wanted there.
 */
interface LiteralsWanted {
  readonly [unreturnable]: never;
  readonly [field: string]: LiteralWanted;
}
type LiteralWanted = "" | LiteralsWanted | readonly LiteralWanted[];

/** Pure functions from (context, event) to the fields that change. */
export type Reducers<Context, Event extends ChartEvent, Name extends string> = {
  readonly [N in Name]: (
    args: StepArguments<Context, EventFor<Event, N>>,
  ) => Partial<Context> | LiteralsWanted;
};

/** Pure questions to (context, event). */
export type Guards<Context, Event extends ChartEvent, Name extends string> = {
  readonly [N in Name]: (args: StepArguments<Context, EventFor<Event, N>>) => boolean;
};

type OneOrMany<T> = T | readonly T[];

/** A reducer's name, an effect's name, or an effect with params: an object, or a function that makes one. */
export type ActionDefinition<
  Context,
  Event extends ChartEvent,
  Reducer extends string,
  EffectType extends string,
> =
  | Reducer
  | EffectType
  | {
      readonly type: EffectType;
      readonly params:
        | Readonly<Record<string, unknown>>
        | ((args: StepArguments<Context, Event>) => object);
    };

export interface TransitionDefinition<
  Context,
  Event extends ChartEvent,
  Reducer extends string,
  Guard extends string,
  EffectType extends string,
> {
  /** Absent: the state stays, the actions run, nothing is exited or entered. */
  readonly target?: string;
  /** Exits and enters the source too when the target is the source or inside it. Default false. */
  readonly reenter?: boolean;
  /** The first transition of a list whose guard holds is taken; one without a guard always holds. */
  readonly guard?: Guard;
  /** Run after the exits and before the entries. */
  readonly actions?: OneOrMany<ActionDefinition<Context, Event, Reducer, EffectType>>;
  readonly description?: string;
}

export interface StateDefinition<
  Context,
  Event extends ChartEvent,
  Reducer extends string,
  Guard extends string,
  EffectType extends string,
> {
  /** Default: compound with `states`, else a leaf. `parallel` makes the chart step on XState itself, some 25 times slower. */
  readonly type?: "final" | "parallel";
  readonly description?: string;
  readonly tags?: OneOrMany<string>;
  /** The child that is entered with this state. */
  readonly initial?: string;
  readonly states?: StateDefinitions<Context, Event, Reducer, Guard, EffectType>;
  readonly entry?: OneOrMany<
    ActionDefinition<Context, Event, UsableAnywhere<Reducer, Event>, EffectType>
  >;
  readonly exit?: OneOrMany<
    ActionDefinition<Context, Event, UsableAnywhere<Reducer, Event>, EffectType>
  >;
  readonly on?: Handlers<Context, Event, Reducer, Guard, EffectType>;
  /** Taken as soon as its guard holds. Makes the chart step on XState itself, some 25 times slower. */
  readonly always?: OneOrMany<
    TransitionDefinition<
      Context,
      Event,
      UsableAnywhere<Reducer, Event>,
      UsableAnywhere<Guard, Event>,
      EffectType
    >
  >;
}

export interface StateDefinitions<
  Context,
  Event extends ChartEvent,
  Reducer extends string,
  Guard extends string,
  EffectType extends string,
> {
  readonly [key: string]: StateDefinition<Context, Event, Reducer, Guard, EffectType>;
}

/** event type → where it leads: a target, a transition, or several of which the first allowed one is taken. */
export type Handlers<
  Context,
  Event extends ChartEvent,
  Reducer extends string,
  Guard extends string,
  EffectType extends string,
> = {
  readonly [Type in Event["type"]]?:
    | string
    | OneOrMany<
        TransitionDefinition<
          Context,
          Extract<Event, { readonly type: Type }>,
          UsableAt<Reducer, Event, Type>,
          UsableAt<Guard, Event, Type>,
          EffectType
        >
      >;
};

export interface ChartDefinition<
  Context extends object,
  Events extends EventSchema,
  Reducer extends string,
  Guard extends string,
  EffectTypes extends readonly EffectName[],
> {
  /** Letters, digits, `_`, `-`, starting with a letter: it stands in subjects and in `#id` targets. */
  readonly id: string;
  /** Version of `events`, from 1. Raise it with every change that an old record does not fit, and add upcasters. */
  readonly version: number;
  readonly description?: string;
  readonly initial: string;
  /** Context before the first event. Pure: ids, times and random values come with events. */
  readonly context: () => Context;
  readonly events: Events;
  readonly reducers?: Reducers<Context, z.infer<Events>, Reducer>;
  readonly guards?: Guards<Context, z.infer<Events>, Guard>;
  readonly effects?: EffectTypes;
  readonly states: StateDefinitions<
    Context,
    z.infer<Events>,
    NoInfer<Reducer>,
    NoInfer<Guard>,
    NoInfer<EffectTypes[number]>
  >;
  /** Handled in every state whose own handlers (and its ancestors') do not take the event. */
  readonly on?: Handlers<
    Context,
    z.infer<Events>,
    NoInfer<Reducer>,
    NoInfer<Guard>,
    NoInfer<EffectTypes[number]>
  >;
  /** From version 1 up to `version` - 1. */
  readonly upcasters?: Upcasters;
}
