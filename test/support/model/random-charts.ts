/**
 * Charts at random, up to four levels deep: what nobody would write, but the table must still step as XState does.
 *
 * Owns: generating definitions inside the compilable subset. Every reducer and effect shows the order in which it ran.
 */

import * as fc from "fast-check";
import { z } from "zod";

import type { Chart } from "../../../machines/engine/chart.ts";
import { defineChart } from "../../../machines/engine/define-chart.ts";
import type { ActionDefinition, StateDefinition } from "../../../machines/engine/definition.ts";

const EVENT_TYPES = ["e.one", "e.two", "e.three"] as const;

const RandomEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("e.one"), n: z.number() }),
  z.object({ type: z.literal("e.two"), n: z.number() }),
  z.object({ type: z.literal("e.three"), n: z.number() }),
]);
type RandomEvent = z.infer<typeof RandomEvent>;

export const randomChartEvents: readonly RandomEvent[] = EVENT_TYPES.flatMap((type) =>
  [0, 1].map((n) => ({ type, n })),
);

interface RandomContext {
  readonly trace: number;
  readonly count: number;
}

type EffectType = "do.plain" | "do.fixed" | "tell.computed";
type Action = ActionDefinition<RandomContext, RandomEvent, "add" | "double", EffectType>;
type State = StateDefinition<
  RandomContext,
  RandomEvent,
  "add" | "double",
  "isEven" | "isOne",
  EffectType
>;

interface RandomTransition {
  readonly guard: "isEven" | "isOne" | null;
  /** Index of the target; the number of states for the root, more for none. */
  readonly target: number;
  readonly reenter: boolean;
  readonly actions: readonly Action[];
}

interface RandomNode {
  /** Modulo the number of the states before it: its parent; 0 is the root. */
  readonly parent: number;
  readonly isFinal: boolean;
  readonly entry: readonly Action[];
  readonly exit: readonly Action[];
  readonly handlers: readonly (readonly [
    (typeof EVENT_TYPES)[number],
    readonly RandomTransition[],
  ])[];
}

const actions: fc.Arbitrary<readonly Action[]> = fc.array(
  fc.constantFrom<Action>(
    "add",
    "double",
    "do.plain",
    { type: "do.fixed", params: { a: 1 } },
    { type: "tell.computed", params: ({ context }) => ({ trace: context.trace }) },
  ),
  { maxLength: 2 },
);

const transition: fc.Arbitrary<RandomTransition> = fc.record({
  guard: fc.constantFrom(null, "isEven", "isOne"),
  target: fc.nat(13),
  reenter: fc.boolean(),
  actions,
});

const node: fc.Arbitrary<RandomNode> = fc.record({
  parent: fc.nat(11),
  isFinal: fc.boolean(),
  entry: actions,
  exit: actions,
  handlers: fc.array(
    fc.tuple(fc.constantFrom(...EVENT_TYPES), fc.array(transition, { maxLength: 2 })),
    { maxLength: 3 },
  ),
});

export const randomChart: fc.Arbitrary<Chart<RandomContext, RandomEvent>> = fc
  .tuple(fc.array(node, { minLength: 2, maxLength: 10 }), node)
  .map(([nodes, root]) => buildChart(nodes, root));

interface Placed {
  readonly node: RandomNode;
  readonly key: string;
  readonly path: readonly string[];
  readonly children: Placed[];
}

const DEPTH_MAX = 4;

function buildChart(
  nodes: readonly RandomNode[],
  root: RandomNode,
): Chart<RandomContext, RandomEvent> {
  const top: Placed = { node: root, key: "", path: [], children: [] };
  const placed: Placed[] = [top];
  for (const [index, each] of nodes.entries()) {
    const wanted = placed[each.parent % placed.length] ?? top;
    const home = wanted.path.length < DEPTH_MAX ? wanted : top;
    const key = `s${index}`;
    const child = { node: each, key, path: [...home.path, key], children: [] };
    home.children.push(child);
    placed.push(child);
  }
  const targets = placed.slice(1).map(({ path }) => `#random.${path.join(".")}`);
  return defineChart({
    id: "random",
    version: 1,
    initial: top.children[0]?.key ?? "",
    context: (): RandomContext => ({ trace: 1, count: 0 }),
    events: RandomEvent,
    reducers: {
      add: ({ context, event }) => ({ trace: (context.trace * 3 + event.n) % 9973 }),
      double: ({ context }) => ({
        trace: (context.trace * 2) % 9973,
        count: (context.count + 1) % 3,
      }),
    },
    guards: {
      isEven: ({ context }) => context.count % 2 === 0,
      isOne: ({ event }) => event.n === 1,
    },
    effects: ["do.plain", "do.fixed", "tell.computed"],
    states: statesOf(top.children, targets, true),
    on: handlersOf(root, targets),
  });
}

function statesOf(
  children: readonly Placed[],
  targets: readonly string[],
  isInitial: boolean,
): Readonly<Record<string, State>> {
  return Object.fromEntries(
    children.map((child, index) => [child.key, stateOf(child, targets, isInitial && index === 0)]),
  );
}

/** The lint allows no entry actions where a chart starts. */
function stateOf(place: Placed, targets: readonly string[], isInitial: boolean): State {
  const { entry, exit, isFinal } = place.node;
  const moves = { exit, ...(isInitial ? {} : { entry }) };
  const first = place.children[0];
  if (first === undefined && isFinal && !isInitial) return { ...moves, type: "final" };
  const on = handlersOf(place.node, targets);
  if (first === undefined) return { ...moves, on };
  const states = statesOf(place.children, targets, isInitial);
  return { ...moves, on, initial: first.key, states };
}

function handlersOf(each: RandomNode, targets: readonly string[]): NonNullable<State["on"]> {
  return Object.fromEntries(
    each.handlers.map(([type, transitions]) => [
      type,
      transitions.map(({ guard, target, reenter, actions: list }) => ({
        ...(guard === null ? {} : { guard }),
        ...(target > targets.length ? {} : { target: targets[target] ?? "#random" }),
        reenter,
        actions: list,
      })),
    ]),
  );
}
