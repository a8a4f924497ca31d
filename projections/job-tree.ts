/**
 * The job tree of a workflow, rebuilt from its journal records alone (TREE-5).
 *
 * Owns: who stands below whom and in which order. Does not own: what is told of one job (job-node.ts), the flat list
 * (trajectory.ts).
 *
 * W1. Children stand in the order (ordinal, first start, journal position); those without an ordinal after those with one, and
 *     those not started after those started, by submission (TREE-3, TREE-4). The order in which scopes are read is nothing.
 * W2. No job is lost: one whose parent is not among the records is a root, and marked as an orphan.
 * W3. A parent is submitted before its children: a job first seen after another is never that one's parent, so no record
 *     whatever makes a circle.
 * W4. Jobs beyond the bound are counted; their children are orphans.
 */
import type { ReadRecord } from "../actors/journal/reader.ts";
import { parseTaskScope, taskScope } from "../actors/journal/subjects.ts";
import type { JobState } from "../machines/job/state.ts";
import type { LivenessState } from "../machines/liveness/chart.ts";
import { cutText } from "./bounded-value.ts";
import { JobNode, NODE_NAME_BYTES_MAX, type OutcomeSummary } from "./job-node.ts";
import { isUnderstood, type JournaledMove, movesOf, taskScopeOf } from "./journaled-move.ts";

/** Jobs that one tree holds, at about 1 KB each. */
export const TREE_JOBS_MAX = 200_000;
/** Moves that were not understood, listed one by one. */
export const TREE_UNKNOWN_LISTED_MAX = 20;

export interface TreeNode {
  readonly id: string;
  readonly workflow: string;
  readonly user: string | null;
  /** Null for a root. */
  readonly parent: string | null;
  /** Its parent is not among the records (W2). */
  readonly isOrphan: boolean;
  /** Null, here and below: its submission is not among the records, or says nothing of it. */
  readonly type: string | null;
  readonly kind: string | null;
  readonly name: string | null;
  /** What its parent named it by; null for a root, and where the parent named it by its input. */
  readonly key: string | null;
  readonly ordinal: number | null;
  readonly state: JobState;
  readonly liveness: LivenessState;
  /** Attempts begun. */
  readonly attempts: number;
  /** Wall clock, ms since the epoch; `startedAt` is the first attempt's. */
  readonly submittedAt: number | null;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly outcome: OutcomeSummary | null;
  /** Dependencies that have not settled; `dropped` counts those beyond the listed ones. */
  readonly waitingOn: { readonly ids: readonly string[]; readonly dropped: number };
  readonly children: readonly TreeNode[];
}

/** A move of an actor, with an event or into a state that this version does not know. */
export interface UnknownMove {
  readonly position: number;
  readonly actor: string;
  readonly event: string;
  readonly to: string;
}

export interface JobTree {
  /** Orphans stand after the others. */
  readonly roots: readonly TreeNode[];
  readonly unknown: { readonly count: number; readonly first: readonly UnknownMove[] };
  /** Journal records of jobs beyond TREE_JOBS_MAX; 0 means that the tree is whole. */
  readonly recordsDropped: number;
}

/** Takes journal records one by one; each scope's in journal order, the scopes in any. */
export class JobTreeFold {
  readonly #jobsMax: number;
  readonly #jobs = new Map<string, JobNode>();
  #unknownCount = 0;
  readonly #unknownFirst: UnknownMove[] = [];
  #recordsDropped = 0;

  /** `jobsMax`: default TREE_JOBS_MAX. */
  constructor(options: { readonly jobsMax?: number } = {}) {
    this.#jobsMax = options.jobsMax ?? TREE_JOBS_MAX;
  }

  /** A record that was applied before, or that is no task's, changes nothing. */
  apply(read: ReadRecord): void {
    const scope = taskScopeOf(read.subject);
    const job = scope === null ? null : (this.#jobs.get(scope) ?? this.#open(scope, read));
    if (job === null || read.position <= job.lastPosition) return;
    job.lastPosition = read.position;
    for (const move of movesOf(read)) {
      job.apply(move);
      if (move.actorId !== job.id || !isUnderstood(move)) this.#note(move);
    }
  }

  #open(scope: string, { position }: ReadRecord): JobNode | null {
    const task = parseTaskScope(scope);
    if (task === null) return null;
    if (this.#jobs.size >= this.#jobsMax) {
      this.#recordsDropped += 1;
      return null;
    }
    const job = new JobNode({ id: task.job, workflow: task.workflow, position });
    this.#jobs.set(scope, job);
    return job;
  }

  #note({ position, actor, eventType, to }: JournaledMove): void {
    this.#unknownCount += 1;
    if (this.#unknownFirst.length >= TREE_UNKNOWN_LISTED_MAX) return;
    this.#unknownFirst.push({
      position,
      actor: cutText(actor, NODE_NAME_BYTES_MAX),
      event: cutText(eventType, NODE_NAME_BYTES_MAX),
      to: cutText(to, NODE_NAME_BYTES_MAX),
    });
  }

  /** The tree as of the records so far; later records do not change it. */
  tree(): JobTree {
    const childrenOf = new Map<JobNode, TreeNode[]>();
    const roots: TreeNode[] = [];
    const orphans: TreeNode[] = [];
    // Sorted once, all of them: whoever is put beside its siblings in this order stands right among them.
    for (const job of [...this.#jobs.values()].sort(bySiblingOrder)) {
      const parent = this.#parentOf(job);
      const isOrphan = job.parent !== null && parent === null;
      const alone = isOrphan ? orphans : roots;
      const siblings = parent === null ? alone : listIn(childrenOf, parent);
      siblings.push(nodeOf(job, isOrphan, listIn(childrenOf, job)));
    }
    return {
      roots: [...roots, ...orphans],
      unknown: { count: this.#unknownCount, first: [...this.#unknownFirst] },
      recordsDropped: this.#recordsDropped,
    };
  }

  #parentOf(job: JobNode): JobNode | null {
    if (job.parent === null) return null;
    const parent = this.#jobs.get(taskScope(job.workflow, job.parent));
    return parent !== undefined && parent.position < job.position ? parent : null;
  }
}

/** The tree of the jobs in the records of a workflow; records of other scopes are passed over. */
export function foldJobTree(records: Iterable<ReadRecord>): JobTree {
  const fold = new JobTreeFold();
  for (const record of records) fold.apply(record);
  return fold.tree();
}

/** W1; ids last, so that the order is total even where positions are forged. */
function bySiblingOrder(a: JobNode, b: JobNode): number {
  return (
    nullsLast(a.ordinal, b.ordinal) ||
    nullsLast(a.startedAt, b.startedAt) ||
    a.startPosition - b.startPosition ||
    (a.id < b.id ? -1 : 1)
  );
}

function nullsLast(a: number | null, b: number | null): number {
  if (a === b) return 0;
  if (a === null) return 1;
  return b === null || a < b ? -1 : 1;
}

function listIn<Key, Item>(lists: Map<Key, Item[]>, key: Key): Item[] {
  const list = lists.get(key) ?? [];
  if (list.length === 0) lists.set(key, list);
  return list;
}

const nodeOf = (job: JobNode, isOrphan: boolean, children: readonly TreeNode[]): TreeNode => ({
  id: job.id,
  workflow: job.workflow,
  user: job.user,
  parent: job.parent,
  isOrphan,
  type: job.type,
  kind: job.kind,
  name: job.name,
  key: job.key,
  ordinal: job.ordinal,
  state: job.state,
  liveness: job.liveness,
  attempts: job.attempt,
  submittedAt: job.submittedAt,
  startedAt: job.startedAt,
  endedAt: job.endedAt,
  outcome: job.outcome,
  waitingOn: { ids: job.waitingOn, dropped: job.waitingOnDropped },
  children,
});
