/**
 * History: jobs that have left memory, answered from the journal.
 *
 * Owns: finding an ended job's spec and outcome by its scope. Does not own: live jobs.
 *
 * A look-up takes time, and meanwhile a job may be submitted, end, and leave memory: `watch` tells whether one did.
 */
import { type JobContext, type JobOutcome, jobChart } from "../../machines/job/chart.ts";
import type { JobSpec } from "../../machines/job/spec.ts";
import { SideEffect } from "../../machines/liveness/events.ts";
import { IllegalStateError } from "../errors.ts";
import type { Transition } from "../journal/codec.ts";
import type { Journal } from "../journal/journal.ts";
import type { ReadRecord } from "../journal/reader.ts";
import {
  ALL_TASKS,
  encodeToken,
  parseTaskScope,
  taskScope,
  workflowScopes,
} from "../journal/subjects.ts";
import { actorName } from "../turn/charts.ts";

export interface EndedJob {
  readonly spec: JobSpec;
  readonly outcome: JobOutcome;
  readonly sideEffect: SideEffect;
}

/** Subjects of one read (log.ts). */
const SUBJECTS_MAX = 64;

export interface TaskRange {
  readonly from: number;
  /** Default: the newest. */
  readonly through?: number;
  readonly tasks?: readonly { readonly workflow: string; readonly job: string }[];
}

export class History {
  readonly #journal: Journal;
  readonly #prefix: string;
  readonly #watches = new Set<{ readonly jobs: readonly string[]; isStale: boolean }>();

  /** `prefix` is the partition's subject prefix, with its last dot. */
  constructor(journal: Journal, prefix: string) {
    this.#journal = journal;
    this.#prefix = prefix;
  }

  /** The job has left memory. */
  left(job: string): void {
    for (const watch of this.#watches) if (watch.jobs.includes(job)) watch.isStale = true;
  }

  /** Watches jobs while they are looked up: what was found is out of date when one of them has left memory since. */
  watch(jobs: readonly string[]): { isStale: boolean; end(): void } {
    const watch = { jobs, isStale: false, end: () => void this.#watches.delete(watch) };
    this.#watches.add(watch);
    return watch;
  }

  /**
   * Null: no such job has ended. `workflow` null: in whatever workflow.
   * Errors: IllegalStateError when it has ended, and its records are damaged or of events that nothing here knows.
   */
  async find(job: string, workflow: string | null): Promise<EndedJob | null> {
    const records =
      workflow === null
        ? await this.recordsOfJob(job)
        : await this.#recordsAt(`${this.#prefix}${taskScope(workflow, job)}`);
    return endedJob(job, records);
  }

  /** Every valid record of a workflow, in order. */
  recordsOf(workflow: string): Promise<ReadRecord[]> {
    return this.#recordsAt(`${this.#prefix}${workflowScopes(workflow)}`);
  }

  /** Every valid record of one job, in order; empty when there is none. */
  async recordsOfJob(job: string): Promise<ReadRecord[]> {
    const anywhere = `${this.#prefix}task.*.${encodeToken(job)}`;
    const newest = await this.#journal.lastSubject(anywhere);
    if (newest === null) return [];
    const records = await this.#recordsAt(newest);
    if (records.length > 0) return records;
    // The newest message is acknowledged to nobody: what is valid stands under another workflow, or nowhere.
    const all = await this.#recordsAt(anywhere);
    return all.filter(({ subject }) => subject === all.at(-1)?.subject);
  }

  /** The workflow that a job belongs to, by its acknowledged records; null when it has none. */
  async workflowOf(job: string): Promise<string | null> {
    const [first] = await this.recordsOfJob(job);
    if (first === undefined) return null;
    return parseTaskScope(first.subject.slice(this.#prefix.length))?.workflow ?? null;
  }

  /**
   * Every valid record of any task at positions `from` … `through` (both inclusive, no further than what is acknowledged), in
   * order; of the named tasks alone when there are `tasks`, any number of them, each task's in order.
   */
  async readTasks({ from, through, tasks }: TaskRange): Promise<ReadRecord[]> {
    const all = tasks?.map(({ workflow, job }) => taskScope(workflow, job)) ?? [ALL_TASKS];
    const subjects = all.map((scope) => `${this.#prefix}${scope}`);
    const records: ReadRecord[] = [];
    for (let at = 0; at < subjects.length; at += SUBJECTS_MAX) {
      const some = subjects.slice(at, at + SUBJECTS_MAX);
      const range = { from, ...(through === undefined ? {} : { through }) };
      await this.#journal.readScopes(some, (record) => records.push(record), range);
    }
    return records;
  }

  async #recordsAt(subject: string): Promise<ReadRecord[]> {
    const records: ReadRecord[] = [];
    await this.#journal.readScopes([subject], (record) => records.push(record));
    return records;
  }
}

/** Folds a job's records; null when it has not ended by them. */
function endedJob(job: string, records: readonly ReadRecord[]): EndedJob | null {
  const name = actorName("job", job);
  const transitions = records.flatMap(({ body }) =>
    body.transitions.filter(({ actor }) => actor === name),
  );
  const last = transitions.at(-1);
  if (last === undefined || !jobChart.engine.has(last.to) || !jobChart.engine.isFinal(last.to))
    return null;
  const context = contextAfter(transitions);
  const { spec = null, outcome = null } = context ?? {};
  if (spec === null || outcome === null) throw unreadable(job, records);
  return { spec, outcome, sideEffect: sideEffectIn(job, records) };
}

/** What the record said last; what is not said is not known (RTY-6). */
function sideEffectIn(job: string, records: readonly ReadRecord[]): SideEffect {
  const name = actorName("liveness", job);
  for (const { body } of records.toReversed()) {
    for (const { actor, event } of body.transitions) {
      if (actor !== name || event.type !== "liveness.ended") continue;
      return SideEffect.catch("unknown").parse("sideEffect" in event ? event.sideEffect : null);
    }
  }
  return "unknown";
}

/** Null: one of the events cannot be read, or does not follow. */
function contextAfter(transitions: readonly Transition[]): JobContext | null {
  let state = jobChart.engine.initial();
  for (const { event, v } of transitions) {
    const read = jobChart.readEvent(event, v ?? 1);
    const step = read.kind === "event" ? jobChart.engine.step(state, read.event) : null;
    if (step === null) return null;
    state = step.state;
  }
  return state.context;
}

const unreadable = (job: string, records: readonly ReadRecord[]) =>
  new IllegalStateError(
    `The job ${job} has ended, but its records are damaged or of events that this version does not know.`,
    { details: { job, positions: records.map(({ position }) => position).slice(0, 100) } },
  );
