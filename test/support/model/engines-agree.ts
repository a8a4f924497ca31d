/**
 * The property that every engine is XState.
 *
 * Owns: walking a chart at random with its own engine, with XState under the reused scope, and with XState's own pure
 * `transition()`, and failing at the first difference in value, context, effects or refusals. Run for every chart.
 */

import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";

import * as fc from "fast-check";
import { type AnyMachineSnapshot, transition } from "xstate";

import type {
  ActorState,
  Chart,
  ChartEvent,
  Effect,
  Engine,
} from "../../../machines/engine/chart.ts";
import { createScopeEngine } from "../../../machines/engine/scope.ts";
import { formatValue, parseValue } from "../../../machines/engine/value.ts";
import { type Coverage, CoverageTally } from "./coverage.ts";
import { candidatesOf, type EventSource } from "./event-source.ts";
import { choiceArbitrary, chooseEvent, ROGUE_EVENTS, TERMINAL_PERCENT } from "./steering.ts";

export interface AgreementOptions {
  /** Walks. Default 100. */
  readonly runs?: number;
  /** Moves a walk. Default 60. */
  readonly lengthMax?: number;
  /** Fails when less of the chart's transitions was compared: agreement on the rest says nothing. Default 100. */
  readonly coveragePercentMin?: number;
  /** For the machine's context factory, where the chart was made with one. */
  readonly input?: unknown;
  /** Default: drawn anew; a failure prints it. */
  readonly seed?: number;
}

export interface Agreement {
  /** Events on which all were compared. */
  readonly comparisons: number;
  readonly refusals: number;
  readonly coverage: Coverage;
}

export function assertEnginesAgree<Context, Event extends ChartEvent>(
  chart: Chart<Context, Event>,
  events: EventSource<Context, Event>,
  options: AgreementOptions = {},
): Agreement {
  const candidates = candidatesOf(chart, events);
  const scope = createScopeEngine<Context, Event>({
    machine: chart.machine,
    input: options.input,
  });
  const subjects = [chart.engine, scope].map((engine) => answererOf(engine));
  const reference = referenceOf(chart);
  assertSameValues(chart, scope);

  const tally = new CoverageTally(chart);
  let comparisons = 0;
  let refusals = 0;
  const compare = (state: ActorState<Context>, event: ChartEvent): void => {
    const expected = reference(state, event);
    for (const subject of subjects) assertSame(subject(state, event), expected, { state, event });
    comparisons += 1;
    if (expected.kind === "refused") refusals += 1;
    else tally.add({ before: state, event, after: expected.state });
  };

  const steps = fc.array(fc.tuple(choiceArbitrary, candidates.drawn), {
    minLength: 1,
    maxLength: options.lengthMax ?? 60,
    size: "max",
  });
  const property = fc.property(steps, (chosen) => {
    let state = chart.engine.initial();
    for (const [choice, drawn] of chosen) {
      const here = candidates.at(state, drawn);
      for (const event of [...here, ...ROGUE_EVENTS]) compare(state, event);
      const walk = { candidates: here, choice, terminalPercent: TERMINAL_PERCENT };
      const event = chooseEvent(chart.engine, state, walk);
      const step = event === null ? null : chart.engine.step(deepFreeze(state), event);
      if (event === null || step === null) break;
      state = step.state;
    }
  });
  // The property is synchronous: this throws, it promises nothing.
  void fc.assert(property, {
    numRuns: options.runs ?? 100,
    ...(options.seed === undefined ? {} : { seed: options.seed }),
  });

  const covered = tally.result();
  const percentMin = options.coveragePercentMin ?? 100;
  assert.ok(
    covered.percent >= percentMin,
    `chart ${chart.id}: the walks tried ${covered.percent.toFixed(1)} % of its transitions, not ${percentMin} %; never tried:\n  ${covered.missing.join("\n  ")}`,
  );
  return { comparisons, refusals, coverage: covered };
}

type Answer<Context> =
  | { readonly kind: "refused" }
  | {
      readonly kind: "stepped";
      readonly state: ActorState<Context>;
      readonly effects: readonly Effect[];
    };

type Answerer<Context> = (state: ActorState<Context>, event: ChartEvent) => Answer<Context>;

function answererOf<Context, Event extends ChartEvent>(
  engine: Engine<Context, Event>,
): Answerer<Context> {
  // Rogue events are none of the chart's own.
  const loose: Pick<Engine<Context, ChartEvent>, "step" | "can"> = engine;
  return (state, event) => {
    const step = loose.step(deepFreeze(state), deepFreeze(event));
    assert.equal(loose.can(state, event), step !== null, `${engine.kind}: can and step differ`);
    if (step === null) return { kind: "refused" };
    return { kind: "stepped", state: step.state, effects: step.effects };
  };
}

/** XState's own pure transition, behind the refusals that are Holdfast's. */
function referenceOf<Context, Event extends ChartEvent>(
  chart: Chart<Context, Event>,
): Answerer<Context> {
  const { machine } = chart;
  return (state, event) => {
    const value = parseValue(state.value);
    const snapshot: AnyMachineSnapshot = machine.resolveState({ value, context: state.context });
    const isRefused =
      snapshot.status !== "active" || event.type.startsWith("xstate.") || !snapshot.can(event);
    if (isRefused) return { kind: "refused" };
    const [next, actions] = transition(machine, snapshot, event);
    return {
      kind: "stepped",
      state: { value: formatValue(next.value), context: next.context },
      effects: actions.map(({ type, params }) => ({ type, params: { ...params } })),
    };
  };
}

function assertSame<Context>(
  actual: Answer<Context>,
  expected: Answer<Context>,
  at: { readonly state: ActorState<Context>; readonly event: ChartEvent },
): void {
  if (isDeepStrictEqual(actual, expected)) return;
  assert.deepStrictEqual({ ...at, answer: actual }, { ...at, answer: expected });
}

function assertSameValues<Context, Event extends ChartEvent>(
  chart: Chart<Context, Event>,
  scope: Engine<Context, Event>,
): void {
  const { engine } = chart;
  assert.deepStrictEqual(scope.initial(), engine.initial());
  for (const value of [...chart.stateValues, "noSuchState", "", "(a|b)"]) {
    assert.equal(engine.has(value), scope.has(value), `has ${value}`);
    if (engine.has(value))
      assert.equal(engine.isFinal(value), scope.isFinal(value), `isFinal ${value}`);
    else for (const each of [engine, scope]) assert.throws(() => each.isFinal(value), RangeError);
  }
}

/** A chart's function that changes what it was given throws then, instead of making the engines differ later. */
function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  if (!ArrayBuffer.isView(value)) Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
  return value;
}
