/**
 * Puts a linted machine, its engine and its event schema together as a chart.
 *
 * Owns: choosing the engine (the table where the chart compiles to one, XState itself otherwise), reading events.
 * Does not own: how the machine came about (define-chart.ts, chart-from-machine.ts).
 */

import type { z } from "zod";

import { invariant } from "../invariant.ts";
import type { Chart, ChartEvent, ReadEvent } from "./chart.ts";
import { createScopeEngine } from "./scope.ts";
import { stateValuesOf } from "./state-values.ts";
import { compileTable, type TableSource } from "./table/table.ts";
import { type Upcasters, upcastEvent } from "./upcast.ts";

export interface ChartParts<Context, Event extends ChartEvent>
  extends Omit<TableSource<Context, Event>, "initialContext"> {
  /** Handed to the machine's context factory. */
  readonly input?: unknown;
  readonly version: number;
  readonly events: EventParser<Event>;
  readonly eventTypes: readonly Event["type"][];
  readonly upcasters: Upcasters;
  /** Default: what XState makes of the machine's context. */
  initialContext?(): Context;
}

/** The part of a zod schema that reads. */
interface EventParser<Event> {
  parse(input: unknown): Event;
  safeParse(input: unknown): z.ZodSafeParseResult<Event>;
}

export function assembleChart<Context, Event extends ChartEvent>(
  parts: ChartParts<Context, Event>,
): Chart<Context, Event> {
  const { machine, reducers, version, events, eventTypes, upcasters, input } = parts;
  const scope = createScopeEngine<Context, Event>({ machine, input });
  const initialContext = parts.initialContext ?? (() => scope.initial().context);
  const compilation = compileTable({ machine, reducers, initialContext });
  const engine = compilation.kind === "compiled" ? compilation.engine : scope;

  const stateValues = stateValuesOf(machine);
  // A chart that cannot start is told when it is made, not when the first actor of its kind is.
  const { value } = scope.initial();
  invariant(stateValues.includes(value), "the initial value is none of the chart's", { value });

  const upcastOptions = { version, upcasters, eventTypes: new Set<string>(eventTypes) };
  return {
    id: machine.id,
    version,
    machine,
    engine,
    stateValues,
    eventTypes,
    finals: stateValues.filter((stateValue) => engine.isFinal(stateValue)),
    parseEvent: (event) => events.parse(event),
    upcast(event, fromVersion) {
      const upcast = upcastEvent(event, fromVersion, upcastOptions);
      return upcast.kind === "event" ? upcast.event : upcast;
    },
    readEvent(event, fromVersion): ReadEvent<Event> {
      const upcast = upcastEvent(event, fromVersion, upcastOptions);
      if (upcast.kind !== "event") return upcast;
      const parsed = events.safeParse(upcast.event);
      if (parsed.success) return { kind: "event", event: parsed.data };
      const eventType = upcast.event.type;
      return { kind: "invalid", eventType, fromVersion, cause: parsed.error };
    },
  };
}
