/**
 * The rules for handlers, transitions, actions and guards; invariants N1 and N2 of lint.ts.
 *
 * Owns: judging each of them where it stands. Does not own: the walk over the states (lint.ts).
 */

import { fieldsOf, listOf, type OutlineNode, resolveTarget } from "./outline.ts";
import type { LintWalk } from "./walk.ts";

export function lintHandlers(walk: LintWalk, node: OutlineNode): void {
  for (const [type, handlers] of Object.entries(fieldsOf(node.fields["on"]) ?? {})) {
    const report = (message: string) => walk.report(node, message);
    if (type.includes("*"))
      report(`wildcard ${JSON.stringify(type)} would take what it does not name`);
    else if (type === "" || type.startsWith("xstate."))
      report(`event ${JSON.stringify(type)} is reserved`);
    else if (!walk.eventTypes.has(type)) report(`event ${JSON.stringify(type)} is not declared`);
    listOf(handlers).forEach((transition, index) => {
      lintTransition(walk, node, { place: `on ${JSON.stringify(type)} [${index}]`, transition });
    });
  }
}

const TRANSITION_FIELDS = new Set(["target", "guard", "actions", "reenter", "description", "meta"]);

export function lintTransition(
  walk: LintWalk,
  node: OutlineNode,
  subject: { readonly place: string; readonly transition: unknown },
): void {
  const { place, transition } = subject;
  const report = (message: string) => walk.report(node, `${place}: ${message}`);
  if (typeof transition === "string") {
    lintTarget(walk, node, { place, target: transition });
    return;
  }
  const fields = fieldsOf(transition);
  if (fields === undefined) {
    report(`neither a target nor a transition: ${describe(transition)}`);
    return;
  }
  for (const [field, value] of Object.entries(fields)) {
    if (value !== undefined && !TRANSITION_FIELDS.has(field))
      report(`unknown field ${JSON.stringify(field)}`);
  }
  for (const target of listOf(fields["target"])) lintTarget(walk, node, { place, target });
  lintGuard(walk, node, { place, guard: fields["guard"] });
  lintActions(walk, node, { place, actions: fields["actions"] });
}

function lintTarget(
  walk: LintWalk,
  node: OutlineNode,
  subject: { readonly place: string; readonly target: unknown },
): void {
  const { place, target } = subject;
  if (typeof target !== "string" || resolveTarget(walk.outline, node, target) === null) {
    walk.report(node, `${place}: unknown target ${describe(target)}`);
  }
}

export function lintActions(
  walk: LintWalk,
  node: OutlineNode,
  subject: { readonly place: string; readonly actions: unknown },
): void {
  for (const action of listOf(subject.actions)) {
    const fault = faultOfAction(walk, action);
    if (fault !== null) walk.report(node, `${subject.place}: ${fault}`);
  }
}

function faultOfAction(walk: LintWalk, action: unknown): string | null {
  if (typeof action === "function") {
    const builtin = builtinTypeOf(action);
    return builtin === null
      ? "inline action; name it, as a reducer or as an effect"
      : `builtin ${builtin}${REASONS[builtin] ?? ""}`;
  }
  const name = typeof action === "string" ? action : fieldsOf(action)?.["type"];
  if (typeof name !== "string") return `not an action: ${describe(action)}`;
  if (name.startsWith("xstate.")) return `builtin ${name}${REASONS[name] ?? ""}`;

  const kind = walk.subject.actions.get(name);
  if (kind === undefined) {
    return `action ${JSON.stringify(name)} is not provided: no reducer has this name, and no effect do.* or tell.* is declared with it`;
  }
  // enqueueActions is a reducer in disguise; what it enqueues is judged when it runs (scope.ts).
  if (kind === "reducer" || kind === "xstate.enqueueActions") return null;
  if (kind !== "effect") {
    return `action ${JSON.stringify(name)} is builtin ${kind}${REASONS[kind] ?? ""}`;
  }
  const params = fieldsOf(action)?.["params"];
  const isReadable =
    params === undefined || typeof params === "function" || fieldsOf(params) !== undefined;
  return isReadable ? null : `params of ${JSON.stringify(name)} must be an object or a function`;
}

const NO_LOG = ", which sends what no log holds";
const REASONS: Readonly<Record<string, string>> = {
  "xstate.assign": "; inline, name it as a reducer",
  "xstate.raise": ", an event that no log holds; put its actions on this transition",
  "xstate.sendTo": NO_LOG,
  "xstate.emit": NO_LOG,
  "xstate.cancel": ", a timer that no log holds",
  "xstate.spawnChild": ", a child that no log holds",
  "xstate.stopChild": ", a child that no log holds",
};

/** XState's own actions are functions that carry `resolve` and their type. */
function builtinTypeOf(action: object): string | null {
  return "resolve" in action && "type" in action && typeof action.type === "string"
    ? action.type
    : null;
}

function lintGuard(
  walk: LintWalk,
  node: OutlineNode,
  subject: { readonly place: string; readonly guard: unknown },
): void {
  const { place, guard } = subject;
  if (guard === undefined) return;
  const report = (message: string) => walk.report(node, `${place}: ${message}`);
  if (typeof guard === "function") {
    // and(), or(), not() and stateIn() are functions with `check`; the first three carry the guards they combine.
    if (!("check" in guard)) report("inline guard; name it");
    const inner = "guards" in guard ? guard.guards : undefined;
    for (const part of listOf(inner)) lintGuard(walk, node, { place, guard: part });
    return;
  }
  const name = typeof guard === "string" ? guard : fieldsOf(guard)?.["type"];
  if (typeof name !== "string") report(`not a guard: ${describe(guard)}`);
  else if (!walk.subject.guards.has(name)) report(`guard ${JSON.stringify(name)} is not provided`);
}

function describe(value: unknown): string {
  return typeof value === "function" ? "a function" : (JSON.stringify(value) ?? String(value));
}
