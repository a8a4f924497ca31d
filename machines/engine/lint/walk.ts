/**
 * What the lint looks at and what it says.
 *
 * Owns: the shapes its two halves (lint.ts, transitions.ts) share, and what an effect may be called.
 */

import type { Outline, OutlineNode } from "./outline.ts";

export interface LintFault {
  /** Path of the state, `(root)` for the chart itself. */
  readonly path: string;
  readonly message: string;
}

/** What stands behind an action's name: `reducer`, `effect`, or the name of one of XState's own actions. */
export type ActionKind = "reducer" | "effect" | `xstate.${string}`;

export interface LintSubject {
  readonly id: string;
  /** The chart as written: XState's configuration object. */
  readonly config: unknown;
  readonly actions: ReadonlyMap<string, ActionKind>;
  /** Name → implementation. */
  readonly guards: ReadonlyMap<string, unknown>;
  readonly eventTypes: readonly string[];
  readonly version: unknown;
  readonly upcasters: unknown;
}

export interface LintWalk {
  readonly subject: LintSubject;
  readonly outline: Outline;
  readonly eventTypes: ReadonlySet<string>;
  report(node: OutlineNode, message: string): void;
}

export function isEffectName(name: string): boolean {
  return name.startsWith("do.") || name.startsWith("tell.");
}
