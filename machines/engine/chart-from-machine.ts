/**
 * Makes a chart from an XState machine of one's own, written with `setup({…}).createMachine({…})`.
 *
 * Owns: holding such a machine to the same rules as a definition, and finding its reducers, so that it steps on the table
 * where it compiles to one. Does not own: definitions (define-chart.ts).
 *
 * Its named assigns are the reducers. Every other named action is an effect: its body is never run, its name must start with
 * `do.` or `tell.`.
 */

import type { AnyStateMachine, ContextFrom, EventFromLogic } from "xstate";
import type { z } from "zod";

import { assembleChart } from "./assemble-chart.ts";
import type { Chart, ChartEvent } from "./chart.ts";
import type { StepArguments } from "./definition.ts";
import { eventTypesOf } from "./event-types.ts";
import { assertReplaySafe } from "./lint/lint.ts";
import type { ActionKind } from "./lint/walk.ts";
import type { Upcasters } from "./upcast.ts";

export interface MachineChartOptions<Events> {
  /** Version of `events`, from 1. */
  readonly version: number;
  /** A zod discriminated union on `type`, of the machine's own events. */
  readonly events: Events;
  /** For the machine's context factory. Default: undefined. */
  readonly input?: unknown;
  readonly upcasters?: Upcasters;
}

/** Throws ChartLintError with every fault of the machine, TypeError for a schema that is no discriminated union on `type`. */
export function chartFromMachine<
  Machine extends AnyStateMachine,
  Events extends z.ZodType<ChartEvent & EventFromLogic<Machine>>,
>(
  machine: Machine,
  options: MachineChartOptions<Events>,
): Chart<ContextFrom<Machine>, z.infer<Events>> {
  const { version, events, input } = options;
  const upcasters = options.upcasters ?? {};
  const actions: Readonly<Record<string, unknown>> = machine.implementations.actions;
  const eventTypes = eventTypesOf(events);
  assertReplaySafe({
    id: machine.id,
    config: machine.config,
    actions: new Map(Object.entries(actions).map(([name, action]) => [name, kindOf(action)])),
    guards: new Map(Object.entries(machine.implementations.guards)),
    eventTypes,
    version,
    upcasters,
  });
  return assembleChart<ContextFrom<Machine>, z.infer<Events>>({
    machine,
    reducers: reducersOf(actions),
    input,
    version,
    events,
    eventTypes,
    upcasters,
  });
}

/** XState's own actions are functions that carry their type. */
function kindOf(action: unknown): ActionKind {
  if (typeof action !== "function" || !("type" in action)) return "effect";
  if (action.type === "xstate.assign") return "reducer";
  const type = String(action.type);
  return type.startsWith("xstate.") ? `xstate.${type.slice("xstate.".length)}` : "effect";
}

type Reduce<Context, Event extends ChartEvent> = (
  args: StepArguments<Context, Event>,
) => Partial<Context>;

/**
 * The functions inside named assigns. XState keeps them in `assignment`, which its types do not show; an assign of another
 * make is left out, and a machine that uses it steps on XState itself.
 */
function reducersOf<Context, Event extends ChartEvent>(
  actions: Readonly<Record<string, unknown>>,
): Readonly<Record<string, Reduce<Context, Event>>> {
  const reducers: Record<string, Reduce<Context, Event>> = {};
  for (const [name, action] of Object.entries(actions)) {
    const isAssign = kindOf(action) === "reducer";
    if (!isAssign || typeof action !== "function" || !("assignment" in action)) continue;
    const { assignment } = action;
    if (typeof assignment === "function") {
      reducers[name] = (args) => assignment(args);
    } else if (typeof assignment === "object" && assignment !== null) {
      reducers[name] = (args) => assignFields(assignment, args);
    }
  }
  return reducers;
}

/** `assign({ field: value or function })`. */
function assignFields<Context, Event extends ChartEvent>(
  assignment: object,
  args: StepArguments<Context, Event>,
): Partial<Context> {
  const fields = Object.entries(assignment).map(([field, part]) => [
    field,
    typeof part === "function" ? part(args) : part,
  ]);
  // The assigners were typed against the machine's context where they were written.
  return Object.fromEntries(fields) as Partial<Context>;
}
