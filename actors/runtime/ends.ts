/**
 * Ends: what follows when jobs move and end.
 *
 * Owns: keeping kinship true to every staged transition, the outcomes that live dependents will ask for, taking an ended job
 * out of memory, ending its children. Does not own: the end itself (the job chart), telling dependents (routes.ts).
 *
 * I1. Kinship sees every staged move, in order, as the fold does.
 * I2. An outcome is kept while a live dependent may ask for it; after a reload the journal is asked.
 * I3. A job leaves memory when its end is acknowledged; last of all, whoever waits for it is told (H1 of handle.ts).
 */
import { invariant } from "../../machines/invariant.ts";
import type { JobOutcome } from "../../machines/job/chart.ts";
import { isHoldfastError, SystemError } from "../errors.ts";
import { settlementOf } from "../jobs/handle.ts";
import type { Cell } from "../turn/cell.ts";
import { endIn, isEndUnseen, RETURNED, tellDependents } from "../turn/routes.ts";
import type { Committed } from "../turn/turn.ts";
import type { World } from "./world.ts";

/** Between two looks for an end in a store that is away, ms. */
const LOOK_PAUSE_MS_MIN = 100;
const LOOK_PAUSE_MS_MAX = 5_000;

/** Remembered, so that who comes later need not wait for a person's word; after a restart the process is gone, and its word. */
const RETURNED_MAX = 10_000;

export class Ends {
  readonly #world: World;
  /** By dependent and dependency. */
  readonly #outcomes = new Map<string, Map<string, JobOutcome>>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Takes the moves of a staged turn into account. */
  commit(moves: readonly Committed[]): void {
    const { kinship } = this.#world;
    for (const { cell, event } of moves) {
      if (cell.kind !== "job") continue;
      // Every move, also of a job that is submitted and ends in one turn: the fold, too, sees them all.
      kinship.moved(cell.id, event);
      if (cell.isFinal) this.#staged(cell as Cell<"job">); // Its kind was just looked at.
    }
  }

  #staged(job: Cell<"job">): void {
    const { kinship } = this.#world;
    const { spec, outcome } = job.now.context;
    invariant(outcome !== null, "Q2: an ended job has an outcome", { job: job.id });
    this.#outcomes.delete(job.id);
    for (const dependent of kinship.dependents(job.id) ?? []) {
      const kept = this.#outcomes.get(dependent) ?? new Map<string, JobOutcome>();
      this.#outcomes.set(dependent, kept.set(job.id, outcome));
    }
    kinship.ended(job.id, spec?.dependencies ?? []);
  }

  /** How a dependency ended. Errors: SystemError when neither memory nor the journal has its end. */
  async outcomeOf(
    dependency: { readonly id: string; readonly workflow: string },
    dependent: string,
  ): Promise<JobOutcome> {
    const kept = this.#outcomes.get(dependent)?.get(dependency.id);
    if (kept !== undefined) return kept;
    const ended = await this.#lookPatiently(dependency);
    if (ended !== null) return ended.outcome;
    throw new SystemError(
      `The journal has no end of ${dependency.id}, which ${dependent} depends on.`,
      { details: { component: "journal", dependency: dependency.id, dependent } },
    );
  }

  /** A store that is away for a while fails no job: it is asked until it answers, or until the owner is over. */
  async #lookPatiently(dependency: { readonly id: string; readonly workflow: string }) {
    const { history, clock, over, notice } = this.#world;
    for (let delayMs = LOOK_PAUSE_MS_MIN; ; delayMs = Math.min(2 * delayMs, LOOK_PAUSE_MS_MAX)) {
      try {
        return await history.find(dependency.id, dependency.workflow);
      } catch (error) {
        if (!isHoldfastError(error) || error.retry === "never" || over() !== null) throw error;
        notice({
          kind: "fault",
          where: "looking for a dependency's end",
          job: dependency.id,
          error,
        });
      }
      await new Promise<void>((resolve) => clock.wakeIn(delayMs, resolve));
    }
  }

  /** Code returned whose job had been ended without it: who was kept waiting for that is told now (TO-3). */
  returned(job: string): void {
    const { cells, kinship, runTurn, notice } = this.#world;
    const task = cells.task(job);
    const end = endIn(task);
    if (task !== undefined && (end === undefined || !isEndUnseen(end))) return;
    this.#remember(job);
    const [first] = kinship.dependents(job) ?? [];
    if (first === undefined) return;
    const outcome = end?.outcome ?? this.#outcomes.get(first)?.get(job);
    if (outcome === undefined) return;
    const cause = `returned:${job}`;
    try {
      const known = { outcome, sideEffect: "completed" } as const;
      runTurn(cause, (turn) => tellDependents(this.#world, turn, job, known, RETURNED));
    } catch (error) {
      notice({ kind: "fault", where: cause, job, error }); // They stay gated, for a person's word.
    }
  }

  #remember(job: string): void {
    const { returned } = this.#world;
    returned.add(job);
    const [oldest] = returned;
    if (oldest !== undefined && returned.size > RETURNED_MAX) returned.delete(oldest);
  }

  /** The end is acknowledged (I3). */
  settle(job: Cell<"job">): void {
    const { outcome } = job.now.context;
    const { cells, handles, history, kinship, timers } = this.#world;
    invariant(outcome !== null, "Q2: an ended job has an outcome", { job: job.id });
    timers.disarmAll(job.id);
    this.cancelChildren(job.id, `its parent ${job.id} has ended`);
    cells.remove(job.id);
    kinship.dissolve(job.id);
    history.left(job.id);
    const handle = handles.get(job.id);
    if (handle === undefined) return;
    handles.delete(job.id);
    handle.settle(settlementOf(job.id, outcome));
  }

  /** Ends the live children whose policy says so. */
  cancelChildren(parent: string, reason: string): void {
    const { kinship, cells, runTurn, notice } = this.#world;
    for (const child of [...(kinship.family(parent)?.live ?? [])]) {
      const job = cells.task(child)?.job;
      if (job?.now.context.spec?.whenParentEnds !== "cancel") continue;
      try {
        runTurn(`parent:${parent}`, (turn) =>
          turn.apply(job, { type: "job.cancelRequested", reason, by: "runtime" }),
        );
      } catch (error) {
        // One child that cannot be ended keeps neither its siblings alive nor its parent's end from being told.
        notice({ kind: "fault", where: "ending a child", job: child, error });
      }
    }
  }
}
