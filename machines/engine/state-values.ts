/**
 * The state values of a chart, and which of them are final.
 *
 * Owns: listing them from XState's tree, and what "final" means. Does not own: their text form (value.ts).
 *
 * V3. A value is final when nothing can leave it: the chart has ended, or every active leaf is a final state and no state
 *     above handles anything.
 */

import type { AnyStateMachine, StateValue } from "xstate";

import { chainOf, type StateNode } from "./table/transition-plan.ts";
import { formatValue, parseValue } from "./value.ts";

/** In document order. The lint has bounded how many there are. */
export function stateValuesOf(machine: AnyStateMachine): readonly string[] {
  return insideValuesOf(machine.root).map(formatValue);
}

function insideValuesOf(node: StateNode): readonly StateValue[] {
  const children: readonly StateNode[] = Object.values(node.states);
  if (node.type !== "parallel") {
    return children.flatMap((child): readonly StateValue[] =>
      isLeaf(child)
        ? [child.key]
        : insideValuesOf(child).map((inside) => ({ [child.key]: inside })),
    );
  }
  let combinations: readonly Readonly<Record<string, StateValue>>[] = [{}];
  for (const region of children) {
    const values: readonly StateValue[] = isLeaf(region) ? [{}] : insideValuesOf(region);
    combinations = combinations.flatMap((combination) =>
      values.map((value) => ({ ...combination, [region.key]: value })),
    );
  }
  return combinations;
}

function isLeaf(node: StateNode): boolean {
  return Object.keys(node.states).length === 0;
}

/** The active leaves of a value that the chart has. */
export function leavesOf(machine: AnyStateMachine, value: string): readonly StateNode[] {
  return leavesInside(machine.root, parseValue(value));
}

function leavesInside(node: StateNode, value: StateValue | undefined): readonly StateNode[] {
  if (value === undefined) return [node];
  if (typeof value === "string") {
    const child = node.states[value];
    return child === undefined ? [] : [child];
  }
  const keys = Object.keys(value);
  if (keys.length === 0) return [node];
  return keys.flatMap((key) => {
    const child = node.states[key];
    return child === undefined ? [] : leavesInside(child, value[key]);
  });
}

/** V3, for the active leaves. */
export function isFinalConfiguration(leaves: readonly StateNode[]): boolean {
  const root = leaves[0]?.machine.root;
  if (root !== undefined && isComplete(root, new Set(leaves.flatMap(chainOf)))) return true;
  return leaves.every(
    (leaf) =>
      leaf.type === "final" &&
      chainOf(leaf).every((node) => node.transitions.size === 0 && node.always === undefined),
  );
}

/** XState's own rule for the end of a chart: a final child of the root, or of every region of a parallel root. */
function isComplete(node: StateNode, active: ReadonlySet<StateNode>): boolean {
  const children: readonly StateNode[] = Object.values(node.states);
  if (node.type === "compound") {
    return children.some((child) => child.type === "final" && active.has(child));
  }
  if (node.type === "parallel") return children.every((child) => isComplete(child, active));
  return node.type === "final";
}
