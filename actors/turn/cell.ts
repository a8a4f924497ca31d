/**
 * A cell: one live actor in memory, and the store of all of them.
 *
 * Owns: the current state, the state staged by the turn that runs. Does not own: deciding (turn.ts).
 *
 * L1. `staged` is null between turns.
 * L2. A cell leaves the store when the end of its actor is acknowledged, not before: who asks meanwhile finds it ended.
 */
import type { ActorState } from "../../machines/engine/chart.ts";
import { type ActorKind, type AnyChart, actorName, chartOf, type StateOf } from "./charts.ts";

export class Cell<Kind extends ActorKind = ActorKind> {
  readonly kind: Kind;
  readonly id: string;
  readonly name: string;
  readonly chart: AnyChart;
  /** Full subject of its scope. */
  readonly subject: string;
  /** Its workflow; empty for the dispatcher. */
  readonly workflow: string;
  state: ActorState<unknown>;
  /** Of its last transition; 0 before the first. */
  sequence = 0;
  staged: ActorState<unknown> | null = null;
  stagedSequence = 0;

  constructor(options: { kind: Kind; id: string; subject: string; workflow: string }) {
    this.kind = options.kind;
    this.id = options.id;
    this.name = actorName(options.kind, options.id);
    this.chart = chartOf(options.kind);
    this.subject = options.subject;
    this.workflow = options.workflow;
    this.state = this.chart.engine.initial();
  }

  /** The state as the turn that runs sees it; between turns the current one. */
  get now(): StateOf<Kind> {
    return (this.staged ?? this.state) as StateOf<Kind>; // The chart of this kind made it.
  }

  get isFinal(): boolean {
    return this.chart.engine.isFinal((this.staged ?? this.state).value);
  }
}

/** A job with the record of its being alive: they share a scope and live and go together. */
export interface TaskCells {
  readonly job: Cell<"job">;
  readonly liveness: Cell<"liveness">;
}

export class CellStore {
  readonly #tasks = new Map<string, TaskCells>();
  readonly dispatcher: Cell<"dispatcher">;

  constructor(dispatcherSubject: string) {
    this.dispatcher = new Cell({
      kind: "dispatcher",
      id: "",
      subject: dispatcherSubject,
      workflow: "",
    });
  }

  task(jobId: string): TaskCells | undefined {
    return this.#tasks.get(jobId);
  }

  tasks(): IterableIterator<TaskCells> {
    return this.#tasks.values();
  }

  get size(): number {
    return this.#tasks.size;
  }

  add(cells: TaskCells): void {
    this.#tasks.set(cells.job.id, cells);
  }

  remove(jobId: string): void {
    this.#tasks.delete(jobId);
  }
}

export const newTaskCells = (jobId: string, workflow: string, subject: string): TaskCells => ({
  job: new Cell({ kind: "job", id: jobId, subject, workflow }),
  liveness: new Cell({ kind: "liveness", id: jobId, subject, workflow }),
});
