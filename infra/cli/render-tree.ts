/**
 * A job tree for people.
 *
 * Owns: the branches, the marks, and why a job stands where it stands. Pure. Does not own: the tree (projections/job-tree.ts).
 *
 * R1. A job is one line: mark, ordinal, id, key, state, attempt, time. Why it waits or failed is on lines of its own below it.
 * R2. Ids are never cut: they are what one copies. Beyond INDENT_DEPTH_MAX levels the branches begin anew behind their depth.
 */
import type { FlatNode } from "../api/contract/answers.ts";
import type { Style } from "./output.ts";
import { duration, oneLine, plural, printable, shellWord, widthOf, wrap } from "./text.ts";

export interface RenderOptions {
  readonly columns: number;
  readonly paint: (style: Style, text: string) => string;
  /** Wall clock, ms since the epoch. */
  readonly now: number;
}

/** Levels that are drawn; deeper ones would leave no room for the ids. */
const INDENT_DEPTH_MAX = 8;
const REASON_LENGTH_MAX = 600;
const WAITING_SHOWN_MAX = 4;

export function renderTree(nodes: readonly FlatNode[], options: RenderOptions): string[] {
  const last = lastSiblings(nodes);
  /** For each level above: whether a branch goes on past this line. */
  const open: boolean[] = [];
  const lines: string[] = [];
  for (const [index, node] of nodes.entries()) {
    const isLast = last[index] ?? true;
    const above = open.slice(1, node.depth).map((goesOn) => (goesOn ? "│  " : "   "));
    open.length = node.depth;
    open.push(!isLast);
    const branch = node.depth === 0 ? [] : [isLast ? "└─ " : "├─ "];
    const below = node.depth === 0 ? [] : [isLast ? "   " : "│  "];
    const hasChildren = (nodes[index + 1]?.depth ?? 0) > node.depth;
    lines.push(indent([...above, ...branch], node.depth) + jobLine(node, options));
    const margin = `${indent([...above, ...below], node.depth)}${hasChildren ? "│" : " "}   `;
    lines.push(...reasonLines(node, margin, options));
  }
  return lines;
}

/** `5 jobs: 4 completed, 1 running`. */
export function renderCounts(nodes: readonly Pick<FlatNode, "state">[]): string {
  const counts = new Map<string, number>();
  for (const { state } of nodes) {
    const name = stateName(state);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const parts = STATE_ORDER.flatMap((name) => {
    const count = counts.get(name) ?? 0;
    return count === 0 ? [] : [`${count} ${name}`];
  });
  return `${plural(nodes.length, "job")}: ${parts.join(", ")}`;
}

const STATE_ORDER = [
  "completed",
  "running",
  "cancelling",
  "queued",
  "scheduled",
  "idle",
  "failed",
  "cancelled",
  "timed out",
];

/** For each node whether no sibling follows it; found from the end, since a list that is depth first says it only there. */
function lastSiblings(nodes: readonly FlatNode[]): boolean[] {
  const hasFollower: boolean[] = [];
  const last: boolean[] = [];
  for (let index = nodes.length - 1; index >= 0; index -= 1) {
    const depth = nodes[index]?.depth ?? 0;
    hasFollower.length = Math.min(hasFollower.length, depth + 1);
    last[index] = hasFollower[depth] !== true;
    hasFollower[depth] = true;
  }
  return last;
}

/** R2. */
function indent(parts: readonly string[], depth: number): string {
  if (depth <= INDENT_DEPTH_MAX) return parts.join("");
  return `‥${depth} ${parts.slice(1 - INDENT_DEPTH_MAX).join("")}`;
}

const MARKS: Readonly<Record<FlatNode["state"], { readonly mark: string; readonly style: Style }>> =
  {
    SCHEDULED: { mark: "·", style: "dim" },
    QUEUED: { mark: "○", style: "dim" },
    RUNNING: { mark: "●", style: "cyan" },
    IDLE: { mark: "◌", style: "yellow" },
    CANCELLING: { mark: "◍", style: "yellow" },
    COMPLETED: { mark: "✓", style: "green" },
    FAILED: { mark: "✗", style: "red" },
    CANCELLED: { mark: "⊘", style: "yellow" },
    TIMED_OUT: { mark: "✗", style: "red" },
  };

export const stateName = (state: FlatNode["state"]): string =>
  state.toLowerCase().replaceAll("_", " ");

export const paintState = (
  state: FlatNode["state"],
  text: string,
  paint: RenderOptions["paint"],
): string => paint(MARKS[state].style, text);

export const markOf = (state: FlatNode["state"]): string => MARKS[state].mark;

function jobLine(node: FlatNode, { paint, now }: RenderOptions): string {
  const { id, type, key, ordinal, state, attempts } = node;
  const words = [paintState(state, markOf(state), paint)];
  if (ordinal !== null) words.push(paint("dim", String(ordinal)));
  words.push(paint("bold", printable(id)));
  // Most ids begin with their type: it is not said twice.
  if (type !== null && !id.startsWith(`${type}-`)) words.push(printable(type));
  if (key !== null) words.push(printable(key));
  words.push(paintState(state, stateName(state), paint));
  if (attempts > 1) words.push(paint("yellow", `attempt ${attempts}`));
  const ranMs = ranMsOf(node, now);
  if (ranMs !== null) words.push(paint("dim", duration(ranMs)));
  return words.join(" ");
}

/** From its first start to its end, or until now while its code runs; null where neither is so. */
export function ranMsOf(
  { state, startedAt, endedAt }: Pick<FlatNode, "state" | "startedAt" | "endedAt">,
  now: number,
): number | null {
  const until = endedAt ?? (state === "RUNNING" || state === "CANCELLING" ? now : null);
  return startedAt === null || until === null ? null : Math.max(0, until - startedAt);
}

function reasonLines(node: FlatNode, margin: string, options: RenderOptions): string[] {
  const { columns, paint } = options;
  const width = Math.max(20, columns - widthOf(margin));
  const style = node.state === "FAILED" || node.state === "TIMED_OUT" ? "red" : "dim";
  return reasonsOf(node)
    .flatMap((reason) => wrap(oneLine(reason).slice(0, REASON_LENGTH_MAX), width))
    .map((line) => margin + paint(style, line));
}

/** Why it stands where it stands (R1); nothing when that goes without saying. */
export function reasonsOf(node: FlatNode): string[] {
  const { outcome, waitingOn, liveness, id, attempts, isOrphan } = node;
  const reasons: string[] = [];
  if (isOrphan) reasons.push(`its parent ${node.parent} is not among the records`);
  if (outcome?.message !== undefined && outcome.message !== null) {
    reasons.push(`${outcome.code ?? "failure"}: ${outcome.message}`);
  }
  if (waitingOn.ids.length > 0) reasons.push(`waits on ${waitList(waitingOn)}`);
  if (outcome !== null) return reasons;
  switch (liveness) {
    case "observer_unknown":
      reasons.push(
        `nobody saw attempt ${attempts} end. Say what became of it: holdfast resolve ${shellWord(id)}`,
      );
      break;
    case "external_wait":
      reasons.push(
        `waits for a word from outside: holdfast status ${shellWord(id)} says for which`,
      );
      break;
    case "blocked":
      reasons.push("is blocked: its type is not among the daemon's job modules");
      break;
    case "retrying":
      reasons.push(`attempt ${attempts} was lost; the next one stands in the line`);
      break;
    case "quiet":
    case "stale_suspected":
    case "diagnosing":
      reasons.push(`is ${liveness.replaceAll("_", " ")}`);
      break;
    case "queued":
    case "running":
    case "cancelling":
    case "completed":
    case "failed":
    case "cancelled":
      break;
  }
  return reasons;
}

function waitList({ ids, dropped }: FlatNode["waitingOn"]): string {
  const more = Math.max(0, ids.length - WAITING_SHOWN_MAX) + dropped;
  const shown = ids.slice(0, WAITING_SHOWN_MAX).map(printable).join(", ");
  return more === 0 ? shown : `${shown} and ${more} more`;
}
