/**
 * Refuses, when a chart is made, everything that a fold could not repeat.
 *
 * Owns: the rules for states, and telling all faults at once, each with its place. Does not own: the rules for transitions,
 * actions and guards (transitions.ts), what hides inside a function (scope.ts refuses that when it happens).
 *
 * N1. Nothing runs by itself: no timer, child, delayed or self-sent event. What shall happen is a named effect.
 * N2. Nothing is anonymous: an action is a reducer, a `do.*` or a `tell.*`, a guard has a name.
 * N3. An actor starts before its first event, so no action stands where there is no event: not on the initial states.
 * N4. What an actor is, is its value and context; whatever XState would keep beside them (history, output) is refused.
 */

import { STATE_KEY } from "../value.ts";
import {
  countValues,
  fieldsOf,
  initialChildOf,
  initialNodesOf,
  listOf,
  nodesOf,
  type OutlineNode,
  outlineOf,
} from "./outline.ts";
import { lintActions, lintHandlers, lintTransition } from "./transitions.ts";
import { isEffectName, type LintFault, type LintSubject, type LintWalk } from "./walk.ts";

/** A chart with more is refused: every value is listed at construction, and regions multiply. */
export const STATE_VALUE_COUNT_MAX = 4096;

/** An `always` that loops ends after this many microsteps with an error, not with a hang. */
export const MICROSTEP_COUNT_MAX = 100;

export class ChartLintError extends Error {
  readonly chartId: string;
  readonly faults: readonly LintFault[];

  constructor(chartId: string, faults: readonly LintFault[]) {
    const lines = faults.map(({ path, message }) => `  ${path}: ${message}`);
    super(`chart ${JSON.stringify(chartId)} is not replay-safe:\n${lines.join("\n")}`);
    this.name = "ChartLintError";
    this.chartId = chartId;
    this.faults = faults;
  }
}

/** Throws ChartLintError with every fault. */
export function assertReplaySafe(subject: LintSubject): void {
  const faults = lintChart(subject);
  if (faults.length > 0) throw new ChartLintError(subject.id, faults);
}

export function lintChart(subject: LintSubject): readonly LintFault[] {
  const faults: LintFault[] = [];
  const outline = outlineOf(subject.id, subject.config);
  const walk: LintWalk = {
    subject,
    outline,
    eventTypes: new Set(subject.eventTypes),
    report(node, message) {
      faults.push({ path: node.path.join(".") || "(root)", message });
    },
  };
  lintRoot(walk);
  for (const node of nodesOf(outline.root)) lintState(walk, node);
  for (const node of initialNodesOf(outline.root)) lintInitialState(walk, node);
  return faults;
}

function lintRoot(walk: LintWalk): void {
  const { subject, outline } = walk;
  const report = (message: string) => walk.report(outline.root, message);
  if (!/^[A-Za-z][A-Za-z0-9_-]*$/.test(subject.id)) {
    report(
      `id ${JSON.stringify(subject.id)} must be letters, digits, _ or -, starting with a letter`,
    );
  }
  for (const type of subject.eventTypes) {
    if (type.startsWith("xstate.") || type.includes("*") || type === "") {
      report(`event type ${JSON.stringify(type)} is reserved`);
    }
  }
  for (const [name, kind] of subject.actions) {
    if (kind === "reducer" && isEffectName(name)) {
      report(`reducer ${JSON.stringify(name)} is named like an effect`);
    }
    if (kind === "effect" && !isEffectName(name)) {
      report(`effect ${JSON.stringify(name)} must start with do. or tell.`);
    }
  }
  lintVersions(subject, report);
  if (outline.root.children.size === 0) report("a chart needs states");
  const count = countValues(outline.root);
  if (count > STATE_VALUE_COUNT_MAX) {
    report(`${count} state values, at most ${STATE_VALUE_COUNT_MAX} are allowed`);
  }
}

function lintVersions(subject: LintSubject, report: (message: string) => void): void {
  const { version, upcasters } = subject;
  if (typeof version !== "number" || !Number.isInteger(version) || version < 1) {
    report(`version ${JSON.stringify(version)} must be an integer from 1`);
    return;
  }
  for (const [type, chain] of Object.entries(fieldsOf(upcasters) ?? {})) {
    for (const [from, upcaster] of Object.entries(fieldsOf(chain) ?? {})) {
      const isOlder = Number.isInteger(Number(from)) && Number(from) >= 1 && Number(from) < version;
      if (!isOlder) {
        report(
          `upcaster of ${JSON.stringify(type)} from ${from}: must be from 1 to ${version - 1}`,
        );
      }
      if (typeof upcaster !== "function") {
        report(`upcaster of ${JSON.stringify(type)} from ${from} is not a function`);
      }
    }
  }
}

const STATE_FIELDS = new Set([
  ...["id", "type", "description", "tags", "meta"],
  ...["initial", "states", "entry", "exit", "on", "always", "onDone"],
]);

const ROOT_FIELDS = new Set([...STATE_FIELDS, "version", "context", "types", "schemas", "options"]);

const FORBIDDEN_FIELDS: Readonly<Record<string, string>> = {
  after: "`after` is a timer that no log holds; name an effect that arms one and handle its event",
  invoke:
    "`invoke` starts work that no log holds; name an effect and handle the event it returns as",
  history: "history is kept outside value and context; keep the state to return to in the context",
  route: "`route` takes events that are not the chart's own",
  output: "`output` is kept outside value and context; put the result into the context",
};

function lintState(walk: LintWalk, node: OutlineNode): void {
  const report = (message: string) => walk.report(node, message);
  if (node.parent !== null && !STATE_KEY.test(node.key)) {
    report(`state key ${JSON.stringify(node.key)} must match ${STATE_KEY.source}`);
  }
  const allowed = node.parent === null ? ROOT_FIELDS : STATE_FIELDS;
  for (const [field, value] of Object.entries(node.fields)) {
    if (value === undefined) continue;
    const reason = FORBIDDEN_FIELDS[field];
    if (reason !== undefined) report(reason);
    else if (!allowed.has(field)) report(`unknown field ${JSON.stringify(field)}`);
  }
  lintKind(node, report);
  lintActions(walk, node, { place: "entry", actions: node.fields["entry"] });
  lintActions(walk, node, { place: "exit", actions: node.fields["exit"] });
  lintHandlers(walk, node);
  listOf(node.fields["always"]).forEach((transition, index) => {
    lintTransition(walk, node, { place: `always [${index}]`, transition });
  });
  listOf(node.fields["onDone"]).forEach((transition, index) => {
    lintTransition(walk, node, { place: `onDone [${index}]`, transition });
  });
  if (node.parent === null) lintMicrosteps(walk, node);
}

function lintKind(node: OutlineNode, report: (message: string) => void): void {
  const type = node.fields["type"];
  const isKnown = ["atomic", "compound", "parallel", "final", undefined].some(
    (known) => known === type,
  );
  if (type === "history") report(FORBIDDEN_FIELDS["history"] ?? "");
  else if (!isKnown) report(`unknown type ${JSON.stringify(type)}`);
  if (node.kind === "compound" && initialChildOf(node) === null) {
    report(`initial ${JSON.stringify(node.fields["initial"])} is none of its states`);
  }
  if (node.kind === "parallel" && node.children.size === 0) report("parallel without regions");
  if (node.kind === "final") {
    const ways = ["on", "always", "states"].filter((field) => node.fields[field] !== undefined);
    for (const way of ways) report(`nothing leaves a final state, but it has \`${way}\``);
  }
}

/** N3. */
function lintInitialState(walk: LintWalk, node: OutlineNode): void {
  const entered = listOf(fieldsOf(node.fields["initial"])?.["actions"]);
  if (entered.length > 0) {
    lintActions(walk, node, { place: "initial", actions: entered });
    walk.report(node, "initial: actions would run before the first event; put them on transitions");
  }
  if (listOf(node.fields["entry"]).length > 0) {
    walk.report(
      node,
      "entry: an initial state is entered before the first event; put its actions on the transitions that lead here",
    );
  }
}

/** A loop of eventless transitions must end in an error. */
function lintMicrosteps(walk: LintWalk, root: OutlineNode): void {
  const isEventless = [...nodesOf(root)].some((node) => node.fields["always"] !== undefined);
  const bound = fieldsOf(root.fields["options"])?.["maxIterations"];
  const isBounded = typeof bound === "number" && bound >= 1 && bound <= MICROSTEP_COUNT_MAX;
  if (isEventless && !isBounded) {
    walk.report(
      root,
      `\`always\` needs options: { maxIterations } from 1 to ${MICROSTEP_COUNT_MAX}, so that a loop ends`,
    );
  }
}
