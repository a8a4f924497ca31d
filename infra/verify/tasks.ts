/**
 * The tasks of a log: jobs, each with the record of its being alive.
 *
 * Owns: which tasks are live, what is set aside, that the two actors of a task agree. Does not own: one actor's moves
 * (actor.ts).
 *
 * K1. Only live tasks are kept, and a bounded number of ends: memory follows what lives, not what is stored.
 * K2. A damaged record and a move that does not follow set their task aside: of what follows in it only the end is looked at.
 * K3. At the end of every group the two states of a task may be shown side by side (STA-8).
 */

import type { Transition } from "../../actors/journal/codec.ts";
import { parseActorName } from "../../actors/turn/charts.ts";
import { type JobContext, jobChart } from "../../machines/job/chart.ts";
import { jobStateOf } from "../../machines/job/state.ts";
import { LIVENESS_STATES } from "../../machines/liveness/chart.ts";
import { doStatesAgree } from "../../projections/public-states.ts";
import { Actor, named } from "./actor.ts";
import type { Findings, FoundAt } from "./finding.ts";
import { Recent } from "./recent.ts";
import type { ValidRecord } from "./validity.ts";

/** Ends that are remembered, so that a move behind one is told from the move of an actor that nobody knows. */
const ENDS_MAX = 65_536;

export interface TaskName {
  readonly workflow: string;
  readonly job: string;
}

interface Task extends TaskName {
  /** Null: set aside (K2). */
  actors: { readonly job: Actor; readonly liveness: Actor } | null;
}

/** A task that has not ended. */
export interface LiveTask extends TaskName {
  /** Where its job stands and after how many moves; null: it is set aside. */
  readonly standing: { readonly value: string; readonly sequence: number } | null;
}

export class Tasks {
  readonly #findings: Findings;
  readonly #live = new Map<string, Task>();
  /** Position of the last end, by job. */
  readonly #ends = new Recent<string, number>(ENDS_MAX);
  /** Tasks that moved in the present group, with the last place where each did. */
  readonly #moved = new Map<Task, FoundAt>();
  #ended = 0;

  constructor(findings: Findings) {
    this.#findings = findings;
  }

  get counts(): { readonly live: number; readonly ended: number; readonly setAside: number } {
    let setAside = 0;
    for (const { actors } of this.#live.values()) if (actors === null) setAside += 1;
    return { live: this.#live.size, ended: this.#ended, setAside };
  }

  *live(): Generator<LiveTask> {
    for (const { workflow, job, actors } of this.#live.values()) {
      const standing =
        actors === null ? null : { value: actors.job.state.value, sequence: actors.job.sequence };
      yield { workflow, job, standing };
    }
  }

  /** A record of it is damaged. */
  setAside(name: TaskName): void {
    const task = this.#live.get(name.job) ?? this.#add(name);
    task.actors = null;
  }

  record({ position, subject, body }: ValidRecord, name: TaskName): void {
    const at = { position, subject };
    const task = this.#live.get(name.job) ?? this.#begin(name, body.transitions, at);
    if (task.workflow !== name.workflow) {
      task.actors = null;
      const text = `job ${named(name.job)} lives in the workflow ${named(task.workflow)}`;
      return this.#findings.add("scope", at, text);
    }
    if (body.correlation !== name.workflow) {
      const text = `its correlation is ${named(body.correlation)}, not its workflow`;
      this.#findings.add("scope", at, text);
    }
    let hasEnded = false;
    for (const transition of body.transitions) {
      this.#move(task, transition, at);
      hasEnded ||= isEndOf(name.job, transition);
    }
    this.#moved.set(task, at);
    if (hasEnded) this.#end(task, position);
  }

  /** K3. */
  endGroup(): void {
    for (const [task, at] of this.#moved) {
      const { job, actors } = task;
      if (actors === null) continue;
      if (actors.job.sequence === 0) {
        task.actors = null;
        const text = `the liveness record of ${named(job)} moves, and nobody has submitted the job`;
        this.#findings.add("states", at, text);
        continue;
      }
      const jobState = jobStateOf(actors.job.state.value, contextOf(actors.job).attempt);
      const liveness = LIVENESS_STATES.find((state) => state === actors.liveness.state.value);
      if (liveness !== undefined && doStatesAgree(jobState, liveness)) continue;
      const text = `job ${named(job)} is ${jobState}, its liveness record ${actors.liveness.state.value}`;
      this.#findings.add("states", at, text);
    }
    this.#moved.clear();
  }

  #add(name: TaskName): Task {
    const { workflow, job } = name;
    const actors = { job: new Actor("job", job), liveness: new Actor("liveness", job) };
    const task: Task = { workflow, job, actors };
    this.#live.set(job, task);
    return task;
  }

  /** A task that is not live: as a rule it begins here. */
  #begin(name: TaskName, [first]: readonly Transition[], at: FoundAt): Task {
    const task = this.#add(name);
    const end = this.#ends.get(name.job);
    if (end === undefined) return task;
    const text = `job ${named(name.job)} moves, and has ended at ${end}`;
    this.#findings.add("after_final", at, text);
    // A second life under an old id is wrong as such; its moves may follow all the same, and are looked at.
    if (first?.sequence !== 1) task.actors = null;
    return task;
  }

  #move(task: Task, transition: Transition, at: FoundAt): void {
    const { actors } = task;
    if (actors === null) return;
    const parsed = parseActorName(transition.actor);
    const isOwn = parsed?.id === task.job && parsed.kind !== "dispatcher";
    if (!isOwn) {
      task.actors = null;
      const text = `the actor ${named(transition.actor)} does not belong under this subject`;
      return this.#findings.add("scope", at, text);
    }
    const actor = actors[parsed.kind as "job" | "liveness"]; // The third kind was just ruled out.
    const fault = actor.move(transition);
    if (fault !== null) {
      this.#findings.add(fault.kind, at, fault.text);
      if (fault.kind !== "effects") task.actors = null; // Its state is as it was recorded all the same.
    } else if (actor === actors.job && actor.sequence === 1) this.#checkSpec(task, actor, at);
  }

  #checkSpec(task: Task, actor: Actor, at: FoundAt): void {
    const { spec } = contextOf(actor);
    if (spec === null || (spec.id === task.job && spec.workflow === task.workflow)) return;
    task.actors = null;
    const text = `it submits ${named(spec.id)} of the workflow ${named(spec.workflow)}`;
    this.#findings.add("scope", at, text);
  }

  #end(task: Task, position: number): void {
    this.#live.delete(task.job);
    this.#ended += 1;
    this.#ends.set(task.job, position);
  }
}

const contextOf = (job: Actor): JobContext => job.state.context as JobContext; // The job chart made it.

function isEndOf(job: string, { actor, to }: Transition): boolean {
  const parsed = parseActorName(actor);
  return parsed?.kind === "job" && parsed.id === job && jobChart.finals.includes(to);
}
