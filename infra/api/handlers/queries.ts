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
import type { RecordRequest, WorkflowRequest } from "../contract/requests.ts";
import type { AnswerBody, ApiRuntime } from "../endpoint.ts";
import { notFound } from "./commands.ts";
import { pageOf } from "./pages.ts";
import { Readings } from "./readings.ts";

export function recordHandler(runtime: ApiRuntime) {
  return async ({ job }: RecordRequest): Promise<AnswerBody> => {
    const record = foldExecutionRecord(await runtime.recordsOfJob(job));
    if (record === null) throw notFound(job);
    return { ok: true, record };
  };
}

export function treeHandler(runtime: ApiRuntime) {
  return pagesOf(runtime, flatten, (nodes) => ({ nodes }));
}

export function trajectoryHandler(runtime: ApiRuntime) {
  return pagesOf(
    runtime,
    (roots) => trajectoryOf({ roots }),
    (entries) => ({ entries }),
  );
}

interface Reading {
  readonly common: {
    readonly ok: true;
    readonly workflow: string;
    readonly position: number;
    readonly unknown: JobTree["unknown"];
    readonly recordsDropped: number;
  };
  readonly all: readonly object[];
}

function pagesOf(
  runtime: ApiRuntime,
  listOf: (roots: readonly TreeNode[]) => readonly object[],
  named: (entries: readonly object[]) => object,
) {
  const readings = new Readings<Reading>();
  return async ({ job, cursor, limit }: WorkflowRequest): Promise<AnswerBody> => {
    const kept = cursor === undefined ? undefined : readings.find(job, cursor.position);
    const reading = kept ?? (await readWorkflow(runtime, { job, cursor }, listOf));
    const { common, all } = reading;
    const { entries, next } = pageOf(
      all,
      cursor ?? { position: common.position, offset: 0 },
      limit,
    );
    readings.keep(job, common.position, reading, next !== null);
    return { ...common, total: all.length, ...named(entries), next };
  };
}

async function readWorkflow(
  runtime: ApiRuntime,
  { job, cursor }: Pick<WorkflowRequest, "job" | "cursor">,
  listOf: (roots: readonly TreeNode[]) => readonly object[],
): Promise<Reading> {
  const workflow = await runtime.workflowOf(job);
  const records: readonly ReadRecord[] = workflow === null ? [] : await runtime.recordsOf(workflow);
  const position = cursor?.position ?? records.at(-1)?.position ?? 0;
  const fold = new JobTreeFold();
  for (const record of records) if (record.position <= position) fold.apply(record);
  const { roots, unknown, recordsDropped } = fold.tree();
  const top = workflow === job ? roots : rootedAt(roots, job);
  if (workflow === null || top.length === 0) throw notFound(job);
  return { common: { ok: true, workflow, position, unknown, recordsDropped }, all: listOf(top) };
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
  /** Resolves when `room` is as the store has it now, or was not told in time. */
  readonly lookAtRoom: () => Promise<unknown>;
  readonly commandsInFlight: () => number;
}

export function healthHandler(runtime: ApiRuntime, facts: HealthFacts) {
  return async (): Promise<AnswerBody> => {
    const [stream] = await Promise.all([facts.stream(), facts.lookAtRoom()]);
    const { setAside, types, room, ...own } = runtime.health();
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
      room: room === null ? null : { ...room },
      commandsInFlight: commandsInFlight(),
    };
    return { ok: true, health };
  };
}

const listed = <Entry>(all: readonly Entry[]) => ({
  list: all.slice(0, HEALTH_LISTED_MAX),
  dropped: Math.max(0, all.length - HEALTH_LISTED_MAX),
});
