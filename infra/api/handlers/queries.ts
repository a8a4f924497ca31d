/**
 * `get.record`, `get.tree`, `get.trajectory`, `get.health`: what is asked and changes nothing.
 *
 * Owns: folding what the journal holds into answers. Does not own: the folds (projections/), reading (actors/runtime/history.ts).
 *
 * G1. Only acknowledged records are read (ES-10), of running jobs too.
 * G2. A job that is not at the top of its workflow is answered with what stands below it.
 */
import type { ReadRecord } from "../../../actors/journal/reader.ts";
import { foldExecutionRecord } from "../../../projections/execution-record/fold.ts";
import { type JobTree, JobTreeFold, type TreeNode } from "../../../projections/job-tree.ts";
import { trajectoryOf } from "../../../projections/trajectory.ts";
import type { Health } from "../contract/answers.ts";
import { HEALTH_LISTED_MAX } from "../contract/limits.ts";
import type { Cursor, RecordRequest, WorkflowRequest } from "../contract/requests.ts";
import type { AnswerBody, ApiRuntime } from "../endpoint.ts";
import { notFound } from "./commands.ts";
import { pageOf } from "./pages.ts";

export function recordHandler(runtime: ApiRuntime) {
  return async ({ job }: RecordRequest): Promise<AnswerBody> => {
    const record = foldExecutionRecord(await runtime.recordsOfJob(job));
    if (record === null) throw notFound(job);
    return { ok: true, record };
  };
}

export function treeHandler(runtime: ApiRuntime) {
  return async (request: WorkflowRequest): Promise<AnswerBody> => {
    const { roots, from, common } = await readWorkflow(runtime, request);
    const all = flatten(roots);
    const { entries: nodes, next } = pageOf(all, from, request.limit);
    return { ...common, total: all.length, nodes, next };
  };
}

export function trajectoryHandler(runtime: ApiRuntime) {
  return async (request: WorkflowRequest): Promise<AnswerBody> => {
    const { roots, from, common } = await readWorkflow(runtime, request);
    const all = trajectoryOf({ roots });
    const { entries, next } = pageOf(all, from, request.limit);
    return { ...common, total: all.length, entries, next };
  };
}

interface Reading {
  readonly roots: readonly TreeNode[];
  readonly from: Cursor;
  readonly common: {
    readonly ok: true;
    readonly workflow: string;
    readonly position: number;
    readonly unknown: JobTree["unknown"];
    readonly recordsDropped: number;
  };
}

async function readWorkflow(runtime: ApiRuntime, request: WorkflowRequest): Promise<Reading> {
  const { job } = request;
  const workflow = await runtime.workflowOf(job);
  const records: readonly ReadRecord[] = workflow === null ? [] : await runtime.recordsOf(workflow);
  const position = request.cursor?.position ?? records.at(-1)?.position ?? 0;
  const fold = new JobTreeFold();
  for (const record of records) if (record.position <= position) fold.apply(record);
  const { roots, unknown, recordsDropped } = fold.tree();
  const top = workflow === job ? roots : rootedAt(roots, job);
  if (workflow === null || top.length === 0) throw notFound(job);
  const from = request.cursor ?? { position, offset: 0 };
  return { roots: top, from, common: { ok: true, workflow, position, unknown, recordsDropped } };
}

/** The job with what stands below it; nothing when it is not there. */
function rootedAt(roots: readonly TreeNode[], job: string): readonly TreeNode[] {
  const ahead = [...roots];
  for (let node = ahead.pop(); node !== undefined; node = ahead.pop()) {
    if (node.id === job) return [node];
    ahead.push(...node.children);
  }
  return [];
}

/** Depth first; with its own stack, so that a deep tree does not exhaust the caller's. */
function flatten(roots: readonly TreeNode[]): readonly object[] {
  const flat: object[] = [];
  const ahead = roots.map((node) => ({ node, depth: 0 })).reverse();
  for (let step = ahead.pop(); step !== undefined; step = ahead.pop()) {
    const { children, ...own } = step.node;
    const depth = step.depth + 1;
    flat.push({ depth: step.depth, ...own });
    for (const node of children.toReversed()) ahead.push({ node, depth });
  }
  return flat;
}

/** What health says besides what the runtime knows. */
export interface HealthFacts {
  readonly namespace: string;
  readonly version: string;
  readonly startedAt: number;
  readonly server: () => Health["server"];
  /** Null: it was not told in time. */
  readonly stream: () => Promise<Health["stream"]>;
  readonly commandsInFlight: () => number;
}

export function healthHandler(runtime: ApiRuntime, facts: HealthFacts) {
  return async (): Promise<AnswerBody> => {
    const stream = await facts.stream();
    const { setAside, types, ...own } = runtime.health();
    const { namespace, version, startedAt, server, commandsInFlight } = facts;
    const health: Health = {
      namespace,
      version,
      startedAt,
      ...own,
      setAside: listed(setAside),
      types: listed(types),
      server: server(),
      stream,
      commandsInFlight: commandsInFlight(),
    };
    return { ok: true, health };
  };
}

const listed = <Entry>(all: readonly Entry[]) => ({
  list: all.slice(0, HEALTH_LISTED_MAX),
  dropped: Math.max(0, all.length - HEALTH_LISTED_MAX),
});
