/**
 * Which states one transition leaves and enters, worked out once.
 *
 * Owns: XState's (SCXML's) rules for the domain of a transition, for charts without regions, where exactly one leaf is active.
 * Does not own: actions (table.ts), charts with regions (../scope.ts).
 *
 * P1. Exits run from the leaf up to the domain, entries from below the domain down to the new leaf.
 * P2. The domain is the source when the target is the source or inside it and the transition does not re-enter; else the
 *     least common proper ancestor of both; for a re-entering transition of the root there is none, and the root itself is left.
 * P3. Entering a final child of the root ends the chart: everything still active is exited, the leaf first.
 */

import type { AnyStateMachine, AnyTransitionDefinition } from "xstate";

export type StateNode = AnyStateMachine["root"];

export interface TransitionPlan {
  readonly exits: readonly StateNode[];
  readonly enters: readonly StateNode[];
  /** Exited after the entries, because the chart ends here (P3). */
  readonly closes: readonly StateNode[];
  readonly leaf: StateNode;
}

/** A transition without target moves nothing. */
export function planTransition(
  transition: AnyTransitionDefinition,
  leaf: StateNode,
): TransitionPlan {
  const target = transition.target?.[0];
  if (target === undefined) return { exits: [], enters: [], closes: [], leaf };

  const domain = domainOf(transition, target);
  const exits = chainOf(leaf).filter((node) => isInside(node, domain));

  // XState would run the entry actions of the root as well where the root is the target; the lint allows none there.
  const nextLeaf = initialLeafOf(target);
  const enters = chainOf(nextLeaf)
    .reverse()
    .filter((node) => isInside(node, domain));

  const closes = isEnd(nextLeaf) ? chainOf(nextLeaf) : [];
  return { exits, enters, closes, leaf: nextLeaf };
}

/** P2. Undefined: the root itself is left and entered again. */
function domainOf(transition: AnyTransitionDefinition, target: StateNode): StateNode | undefined {
  const { source, reenter } = transition;
  if (!reenter && (target === source || isInside(target, source))) return source;
  const common = chainOf(target).find((node) => node !== target && isInside(source, node));
  return common ?? (reenter ? undefined : source.machine.root);
}

/** Whether the node is a proper descendant. Everything is inside no domain at all, the root included. */
function isInside(node: StateNode, ancestor: StateNode | undefined): boolean {
  if (ancestor === undefined) return true;
  for (let parent = node.parent; parent !== undefined; parent = parent.parent) {
    if (parent === ancestor) return true;
  }
  return false;
}

/** From the node up to the root, both included. */
export function chainOf(node: StateNode): StateNode[] {
  const chain: StateNode[] = [];
  for (let at: StateNode | undefined = node; at !== undefined; at = at.parent) chain.push(at);
  return chain;
}

export function initialLeafOf(node: StateNode): StateNode {
  const child: StateNode | undefined =
    node.type === "compound" ? node.initial.target[0] : undefined;
  return child === undefined ? node : initialLeafOf(child);
}

/** Whether reaching this leaf ends the chart. */
export function isEnd(leaf: StateNode): boolean {
  return leaf.type === "final" && leaf.parent === leaf.machine.root;
}
