/**
 * `get.jobs`: which jobs there are.
 *
 * Owns: reading the journal backwards in windows, which jobs a filter wants, where a page ends. Does not own: the fold of one
 * job (projections/job-node.ts).
 *
 * L1. Only acknowledged records are read (ES-10). Nothing is kept between pages and nothing is indexed: a list costs no memory
 *     beside a window's, however many jobs have ended.
 * L2. Jobs are listed by the position of their submission, which never changes: over all pages each job that was there at the
 *     first page is listed once, or not at all. Its state is the one at the time of its page.
 * L3. A page reads JOBS_SCANNED_MAX positions at most, and what has become since of the jobs it found there.
 */
import type { ReadRecord } from "../../../actors/journal/reader.ts";
import { JobNode } from "../../../projections/job-node.ts";
import { movesOf, taskOf } from "../../../projections/journaled-move.ts";
import type { ListedJob } from "../contract/answers.ts";
import { JOBS_SCANNED_MAX, JOBS_WINDOW, PAGE_BYTES_MAX } from "../contract/limits.ts";
import { formatJobsCursor, type JobsRequest } from "../contract/requests.ts";
import type { AnswerBody, ApiRuntime } from "../endpoint.ts";

type Reading = Pick<ApiRuntime, "health" | "readTasks">;

/** In journal positions. */
const BOUNDS = { window: JOBS_WINDOW, scanned: JOBS_SCANNED_MAX };

export function jobsHandler(runtime: Reading, { window, scanned } = BOUNDS) {
  return async (request: JobsRequest): Promise<AnswerBody> => {
    const newest = runtime.health().acknowledged;
    let before = Math.min(request.cursor ?? Number.POSITIVE_INFINITY, newest + 1);
    const floor = Math.max(1, before - scanned);
    const page = new Page(request.limit);
    while (before > floor && !page.isFull) {
      const from = Math.max(floor, before - window);
      const found = await findJobs(runtime, request, { from, before });
      // The newest first; what does not fit begins the next page.
      const last = found.toReversed().find((job) => !page.take(job));
      before = last === undefined ? from : last.position + 1;
    }
    return { ok: true, jobs: page.jobs, next: before > 1 ? formatJobsCursor(before) : null };
  };
}

/** Ends before it passes its bytes or its entries, and has at least one, if there are any. */
class Page {
  readonly jobs: ListedJob[] = [];
  readonly #limit: number;
  #bytes = 0;
  #isCut = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isFull(): boolean {
    return this.#isCut || this.jobs.length >= this.#limit;
  }

  /** False: it does not fit. */
  take(job: ListedJob): boolean {
    this.#bytes += Buffer.byteLength(JSON.stringify(job)) + 1;
    this.#isCut ||= this.jobs.length > 0 && this.#bytes > PAGE_BYTES_MAX;
    if (this.isFull) return false;
    this.jobs.push(job);
    return true;
  }
}

/** Wanted jobs that were submitted in a window of positions, in that order. */
async function findJobs(
  runtime: Reading,
  filter: JobsRequest,
  { from, before }: { readonly from: number; readonly before: number },
): Promise<readonly ListedJob[]> {
  const nodes = new Map<string, JobNode>();
  for (const record of await runtime.readTasks({ from, through: before - 1 })) {
    if (nodes.has(record.subject) || isSubmission(record)) applyTo(nodes, record);
  }
  for (const [subject, node] of nodes) if (!isAskedFor(node, filter)) nodes.delete(subject);
  const open = [...nodes.values()].filter(({ endedAt }) => endedAt === null);
  const tasks = open.map(({ workflow, id }) => ({ workflow, job: id }));
  for (const record of await runtime.readTasks({ from: before, tasks })) applyTo(nodes, record);
  return [...nodes.values()]
    .filter(({ state }) => filter.state?.includes(state) ?? true)
    .map(listedJob);
}

/** What never changes of a job. */
function isAskedFor({ type, user, submittedAt }: JobNode, filter: JobsRequest): boolean {
  const { since = 0, until = Number.POSITIVE_INFINITY } = filter;
  const at = submittedAt ?? 0;
  return (
    (filter.type ?? type) === type && (filter.user ?? user) === user && at >= since && at < until
  );
}

const isSubmission = (record: ReadRecord): boolean => {
  const job = taskOf(record.subject)?.job;
  return [...movesOf(record)].some(
    ({ kind, actorId, sequence }) => kind === "job" && actorId === job && sequence === 1,
  );
};

function applyTo(nodes: Map<string, JobNode>, record: ReadRecord): void {
  const { subject, position } = record;
  const task = taskOf(subject);
  if (task === null) return;
  const node =
    nodes.get(subject) ?? new JobNode({ id: task.job, workflow: task.workflow, position });
  nodes.set(subject, node);
  for (const move of movesOf(record)) node.apply(move);
}

const listedJob = (node: JobNode): ListedJob => ({
  id: node.id,
  workflow: node.workflow,
  user: node.user,
  parent: node.parent,
  type: node.type,
  kind: node.kind,
  name: node.name,
  key: node.key,
  state: node.state,
  liveness: node.liveness,
  attempts: node.attempt,
  submittedAt: node.submittedAt,
  startedAt: node.startedAt,
  endedAt: node.endedAt,
  outcome: node.outcome === null ? null : { ...node.outcome },
  position: node.position,
});
