/**
 * The trajectory of a workflow: its job tree walked depth-first into a flat list (TREE-4).
 *
 * Owns: the walk, the paths, the durations. Does not own: the order of siblings (job-tree.ts).
 *
 * R1. A job stands right before its descendants, and they stand together: the list is never sorted.
 * R2. A path names the ordinals on the way down. Siblings that ran in parallel share theirs, so it says the order, and the id
 *     says who.
 */
import type { JobState } from "../machines/job/state.ts";
import type { OutcomeSummary } from "./job-node.ts";
import type { JobTree, TreeNode } from "./job-tree.ts";

/** Ordinals that a path spells out; below that it begins anew behind an ellipsis, so that no path grows with the depth. */
export const PATH_ORDINALS_MAX = 64;

export interface TrajectoryEntry {
  /** 0 for a root. */
  readonly depth: number;
  /** `1.2.3`: the root's place among the roots, then each ordinal; `-` for a job without one. */
  readonly path: string;
  readonly id: string;
  readonly parent: string | null;
  readonly isOrphan: boolean;
  readonly type: string | null;
  readonly name: string | null;
  readonly key: string | null;
  readonly state: JobState;
  readonly attempts: number;
  /** Wall clock, ms since the epoch; the first attempt's. */
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  /** From submission to the first start, ms; null while it has not started. */
  readonly waitMs: number | null;
  /** From the first start to the end, ms; null while it has not ended, or where it never started. */
  readonly durationMs: number | null;
  readonly outcome: OutcomeSummary | null;
}

interface Step {
  readonly node: TreeNode;
  readonly depth: number;
  readonly path: string;
}

/** As long as the tree has jobs; the walk keeps its own stack, so that a deep tree does not exhaust the caller's. */
export function trajectoryOf(tree: Pick<JobTree, "roots">): readonly TrajectoryEntry[] {
  const entries: TrajectoryEntry[] = [];
  const ahead: Step[] = tree.roots
    .map((node, index) => ({ node, depth: 0, path: String(index + 1) }))
    .reverse();
  for (let step = ahead.pop(); step !== undefined; step = ahead.pop()) {
    entries.push(entryOf(step));
    const { children } = step.node;
    // The last one goes on the stack first: the first one is walked first.
    for (let index = children.length - 1; index >= 0; index -= 1) {
      const node = children[index];
      if (node !== undefined) ahead.push(below(step, node));
    }
  }
  return entries;
}

function below(above: Step, node: TreeNode): Step {
  const depth = above.depth + 1;
  const ordinal = node.ordinal === null ? "-" : String(node.ordinal);
  const base = depth % PATH_ORDINALS_MAX === 0 ? "…" : above.path;
  return { node, depth, path: `${base}.${ordinal}` };
}

const entryOf = ({ node, depth, path }: Step): TrajectoryEntry => ({
  depth,
  path,
  id: node.id,
  key: node.key,
  parent: node.parent,
  isOrphan: node.isOrphan,
  type: node.type,
  name: node.name,
  state: node.state,
  attempts: node.attempts,
  startedAt: node.startedAt,
  endedAt: node.endedAt,
  waitMs: elapsedMs(node.submittedAt, node.startedAt),
  durationMs: elapsedMs(node.startedAt, node.endedAt),
  outcome: node.outcome,
});

/** Never negative: the wall clock may have been set back in between. */
const elapsedMs = (from: number | null, to: number | null): number | null =>
  from === null || to === null ? null : Math.max(0, to - from);
