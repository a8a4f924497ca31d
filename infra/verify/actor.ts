/**
 * One actor of a log, folded again.
 *
 * Owns: whether a recorded move follows from the moves before it by the chart. Does not own: which actors there are
 * (tasks.ts, owners.ts), which records are valid (validity.ts).
 *
 * A1. A move is the next by its number, begins where the last one ended, is taken by the chart, ends where the chart leads,
 *     and names the `do.*` effects that the chart names.
 * A2. A move that does not follow leaves the actor as it was; only wrong effects leave its state right.
 */
import type { Transition } from "../../actors/journal/codec.ts";
import { type ActorKind, type AnyChart, actorName, chartOf } from "../../actors/turn/charts.ts";
import type { ActorState, ChartEvent, ReadEvent, Step } from "../../machines/engine/chart.ts";
import { cutText } from "../../projections/bounded-value.ts";
import type { FindingKind } from "./finding.ts";

export interface Fault {
  readonly kind: FindingKind;
  readonly text: string;
}

/** Longest name from a log that stands in a text, in bytes. */
const NAME_BYTES_MAX = 120;

/** A name from a log, in a text. */
export const named = (name: unknown): string => cutText(String(name), NAME_BYTES_MAX);

export class Actor {
  readonly name: string;
  readonly #chart: AnyChart;
  #state: ActorState<unknown>;
  /** Of its last move; 0 before the first. */
  #sequence = 0;

  constructor(kind: ActorKind, id: string) {
    this.name = actorName(kind, id);
    this.#chart = chartOf(kind);
    this.#state = this.#chart.engine.initial();
  }

  get sequence(): number {
    return this.#sequence;
  }

  get state(): ActorState<unknown> {
    return this.#state;
  }

  get isFinal(): boolean {
    return this.#chart.finals.includes(this.#state.value);
  }

  isFinalValue(value: string): boolean {
    return this.#chart.finals.includes(value);
  }

  /** Null: it follows (A1). */
  move(transition: Transition): Fault | null {
    const misplaced = this.#misplaced(transition);
    if (misplaced !== null) return misplaced;
    const { event, to, sequence, v } = transition;
    const type = named(event.type);
    const read = this.#read(event, v ?? 1);
    if (read.kind !== "event") {
      return this.#fault("event", `has an event ${type} that cannot be read: ${whyOf(read.kind)}`);
    }
    const step = this.#step(read.event);
    if (step === null) {
      return this.#fault("refused", `is ${this.#state.value}, where its chart refuses ${type}`);
    }
    if (step.state.value !== to) {
      const led = `leads to ${step.state.value}, recorded is ${named(to)}`;
      return this.#fault("to", `goes from ${this.#state.value} by ${type}, which ${led}`);
    }
    this.#state = step.state;
    this.#sequence = sequence;
    return this.#effectsFault(transition, step);
  }

  /** Takes the move as true, whatever came before: for one that begins an actor's life anew. */
  resume(transition: Transition): Fault | null {
    const { engine } = this.#chart;
    const value = engine.has(transition.from) ? transition.from : engine.initial().value;
    this.#state = { value, context: engine.initial().context };
    this.#sequence = transition.sequence - 1;
    return this.move(transition);
  }

  #misplaced({ sequence, from }: Transition): Fault | null {
    const isNew = this.#sequence === 0;
    if (this.isFinal || (isNew && sequence !== 1 && this.isFinalValue(from))) {
      const value = isNew ? from : this.#state.value;
      return this.#fault("after_final", `moves out of its final state ${value}`);
    }
    if (sequence !== this.#sequence + 1) {
      return this.#fault(
        "sequence",
        `moves as number ${sequence}, where ${this.#sequence + 1} follows`,
      );
    }
    if (from !== this.#state.value) {
      return this.#fault("from", `moves from ${named(from)}, and stands in ${this.#state.value}`);
    }
    return null;
  }

  #read(event: unknown, version: number): ReadEvent<ChartEvent> | { readonly kind: "failed" } {
    try {
      return this.#chart.readEvent(event, version);
    } catch {
      return { kind: "failed" }; // Nested more deeply than a schema can walk.
    }
  }

  #step(event: ChartEvent): Step<unknown> | null {
    try {
      return this.#chart.engine.step(this.#state, event);
    } catch {
      return null; // A chart that throws at a recorded event takes it as little as one that refuses it.
    }
  }

  #effectsFault({ effects, event }: Transition, step: Step<unknown>): Fault | null {
    const leaving = step.effects.map(({ type }) => type).filter((type) => type.startsWith("do."));
    const given: unknown = effects ?? NOTHING; // The codec does not look at them.
    const recorded: readonly unknown[] = Array.isArray(given) ? given : [given];
    const isAlike =
      recorded.length === leaving.length && leaving.every((type, at) => type === recorded[at]);
    if (isAlike) return null;
    const text = `by ${named(event.type)} names ${listed(leaving)}, recorded is ${listed(recorded)}`;
    return this.#fault("effects", text);
  }

  #fault(kind: FindingKind, text: string): Fault {
    return { kind, text: `${named(this.name)} ${text}` };
  }
}

const NOTHING: readonly string[] = [];

const listed = (effects: readonly unknown[]): string => {
  const types = effects.map((type) => (typeof type === "string" ? type : `(${typeof type})`));
  return types.length === 0 ? "no effect" : named(types.join(", "));
};

function whyOf(
  kind: "unknown_type" | "unknown_version" | "malformed" | "failed" | "invalid",
): string {
  switch (kind) {
    case "unknown_type":
      return "this version has no such event";
    case "unknown_version":
      return "it is of a version that this one does not know";
    case "malformed":
      return "it is no event";
    case "failed":
      return "it cannot be brought to the present version";
    case "invalid":
      return "its fields do not fit";
  }
}
