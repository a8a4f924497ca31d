/**
 * Makes a chart from its definition.
 *
 * Owns: the one place where a definition becomes an XState machine, a linted chart and an engine. Does not own: the types of a
 * definition (definition.ts), charts made from a machine of one's own (chart-from-machine.ts).
 *
 *     export const doorChart = defineChart({
 *       id: "door",
 *       version: 1,
 *       initial: "closed",
 *       context: (): DoorContext => ({ openings: 0 }),
 *       events: z.discriminatedUnion("type", [DoorOpened, DoorClosed]),
 *       reducers: { count: ({ context }) => ({ openings: context.openings + 1 }) },
 *       effects: ["do.ring"],
 *       states: {
 *         closed: { on: { "door.opened": { target: "open", actions: ["count", "do.ring"] } } },
 *         open: { on: { "door.closed": "closed" } },
 *       },
 *     });
 */

import { type AnyStateMachine, assign, createMachine } from "xstate";
import type { z } from "zod";

import { assembleChart } from "./assemble-chart.ts";
import type { Chart, ChartEvent } from "./chart.ts";
import type { ChartDefinition, EffectName, EventSchema, StepArguments } from "./definition.ts";
import { eventTypesOf } from "./event-types.ts";
import { assertReplaySafe, MICROSTEP_COUNT_MAX } from "./lint/lint.ts";
import type { ActionKind } from "./lint/walk.ts";
import type { Upcasters } from "./upcast.ts";

export type { Chart } from "./chart.ts";

/** Throws ChartLintError with every fault of the chart, TypeError for a schema that is no discriminated union on `type`. */
export function defineChart<
  Context extends object,
  Events extends EventSchema,
  Reducer extends string = never,
  Guard extends string = never,
  const EffectTypes extends readonly EffectName[] = readonly [],
>(
  definition: ChartDefinition<Context, Events, Reducer, Guard, EffectTypes>,
): Chart<Context, z.infer<Events>> {
  // From here on names are data; the definition's types have done their work at the caller's.
  const source = definition as unknown as Source<Context, z.infer<Events>>;
  const { id, version, initial, states, on, description } = source;
  const reducers = source.reducers ?? {};
  const guards = source.guards ?? {};
  const effects = source.effects ?? [];
  const upcasters = source.upcasters ?? {};
  const eventTypes = eventTypesOf(source.events);
  const config = {
    id,
    version: String(version),
    initial,
    states,
    context: () => source.context(),
    options: { maxIterations: MICROSTEP_COUNT_MAX },
    ...(on === undefined ? {} : { on }),
    ...(description === undefined ? {} : { description }),
  };
  assertReplaySafe({
    id,
    config,
    actions: new Map<string, ActionKind>([
      ...Object.keys(reducers).map((name) => [name, "reducer"] as const),
      ...effects.map((name) => [name, "effect"] as const),
    ]),
    guards: new Map(Object.entries(guards)),
    eventTypes,
    version,
    upcasters,
  });

  const machine = createUntypedMachine(config, {
    actions: {
      ...Object.fromEntries(
        Object.entries(reducers).map(([name, reduce]) => [name, assign(reduce)]),
      ),
      // An effect has a name and no body: nothing here can run one.
      ...Object.fromEntries(effects.map((name) => [name, () => undefined])),
    },
    guards,
  });
  return assembleChart({
    machine,
    reducers,
    initialContext: () => source.context(),
    version,
    events: source.events,
    eventTypes,
    upcasters,
  });
}

// The definition was checked against its own types, and the lint has checked the rest; XState's generics would do it again.
const createUntypedMachine = createMachine as unknown as (
  config: object,
  implementations: object,
) => AnyStateMachine;

/** A definition whose names are plain strings. */
interface Source<Context, Event extends ChartEvent> {
  readonly id: string;
  readonly version: number;
  readonly description?: string;
  readonly initial: string;
  readonly context: () => Context;
  readonly events: z.ZodType<Event>;
  readonly reducers?: Readonly<
    Record<string, (args: StepArguments<Context, Event>) => Partial<Context>>
  >;
  readonly guards?: Readonly<Record<string, (args: StepArguments<Context, Event>) => boolean>>;
  readonly effects?: readonly string[];
  readonly states: object;
  readonly on?: object;
  readonly upcasters?: Upcasters;
}
