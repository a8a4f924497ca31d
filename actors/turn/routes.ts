/**
 * Routes: who is told what, in the same turn, when an actor moves (T7).
 *
 * Owns: the one table of `tell.*`, and when a dependent is told of an end. No chart knows another one, and no object knows
 * them all.
 *
 * T9. A dependent that would run although its dependency failed is not told while that one's side effect is unknown and
 *     nobody saw its code end: it stays gated until the code returns or a person speaks (GATE-1, TO-3). One that does not
 *     tolerate the failure never runs, and is told at once.
 */
import type { Effect } from "../../machines/engine/chart.ts";
import { invariant } from "../../machines/invariant.ts";
import type { JobOutcome } from "../../machines/job/chart.ts";
import type { DependencyOutcome, Failure } from "../../machines/job/events.ts";
import type { LivenessEvent, SideEffect, WaitKind } from "../../machines/liveness/events.ts";
import { DependencyFailedError, toErrorRecord } from "../errors.ts";
import { type BadEnd, errorOfOutcome } from "../jobs/outcome-error.ts";
import type { Kinship } from "../runtime/kinship.ts";
import type { Cell, CellStore, TaskCells } from "./cell.ts";
import type { Move, Turn } from "./turn.ts";

/** How a job ended, as far as its dependents go by it. */
export interface DependencyEnd {
  readonly outcome: JobOutcome;
  readonly sideEffect: SideEffect;
}

/** How a job in memory ended; undefined: it has not, or is not there. */
export function endIn(task: TaskCells | undefined): DependencyEnd | undefined {
  const outcome = task?.job.now.context.outcome ?? null;
  if (task === undefined || outcome === null) return undefined;
  return { outcome, sideEffect: task.liveness.now.context.sideEffect };
}

/** The word that ends a doubt: nothing acts any more (T9). */
export const RETURNED: Move = { reason: "the code of its dependency has returned" };

/** T9: a throw is an end that was seen, whatever the code did before it. */
export const isEndUnseen = ({ outcome, sideEffect }: DependencyEnd): boolean =>
  sideEffect === "unknown" && outcome.kind !== "completed" && outcome.failure === undefined;

/**
 * Dependents that one turn tells, whatever their own ends go on to tell; the others are told in turns of their own right
 * after it.
 */
export const DEPENDENTS_PER_TURN = 256;

export interface RoutePorts {
  readonly cells: CellStore;
  readonly kinship: Kinship;
  /** Starts a queued job, or leaves it in the line. */
  readonly startQueued: (turn: Turn, job: Cell<"job">) => void;
  /** Runs a turn; for what is left over. */
  readonly runTurn: (cause: string, decide: (turn: Turn) => void) => void;
}

type Route = (ports: RoutePorts, turn: Turn, job: Cell<"job">, params: Effect["params"]) => void;

/** Moves the record of a job. A refusal here is a defect of the charts: they are told of each other's every move. */
function tellRecord(
  ports: RoutePorts,
  turn: Turn,
  job: Cell<"job">,
  event: LivenessEvent,
  move: Move,
): void {
  const liveness = ports.cells.task(job.id)?.liveness;
  invariant(liveness !== undefined, "T7: a job has a liveness record", { job: job.id });
  const isTaken = turn.apply(liveness, event, move);
  invariant(isTaken, "T7: the liveness record follows its job", {
    job: job.id,
    event: event.type,
    state: liveness.now.value,
  });
}

const ROUTES: Readonly<Record<string, Route>> = {
  "tell.opened": (ports, turn, job) => {
    const { spec } = job.now.context;
    invariant(spec !== null, "Q1: an opened job has a spec");
    const { retryClass, retryBudget } = spec;
    tellRecord(
      ports,
      turn,
      job,
      { type: "liveness.opened", retryClass, retryBudget },
      { reason: "submitted" },
    );
  },
  "tell.queued": (ports, turn, job) => ports.startQueued(turn, job),
  "tell.started": (ports, turn, job) => {
    const { attempt } = job.now.context;
    tellRecord(ports, turn, job, { type: "liveness.started", attempt }, { reason: "started" });
  },
  "tell.waitDeclared": (ports, turn, job, params) => {
    const { kind, reason } = params as { kind: WaitKind; reason: string }; // The job chart's own params.
    tellRecord(
      ports,
      turn,
      job,
      { type: "liveness.waitDeclared", kind, reason },
      { reason: "it declared a wait" },
    );
  },
  "tell.answered": (ports, turn, job, params) => {
    if (params["remaining"] === 0)
      tellRecord(ports, turn, job, { type: "liveness.waitEnded" }, { reason: "answered" });
  },
  "tell.cancelling": (ports, turn, job, params) => {
    tellRecord(
      ports,
      turn,
      job,
      { type: "liveness.cancelRequested" },
      { reason: String(params["reason"]) },
    );
  },
  "tell.interrupted": (ports, turn, job, params) => {
    const sideEffect: SideEffect = params["isSideEffectUnknown"] === true ? "unknown" : "none";
    const dispatcher = ports.cells.dispatcher.now.context;
    tellRecord(
      ports,
      turn,
      job,
      { type: "liveness.ownerLost", sideEffect },
      {
        reason: "the process that ran it is gone, and no end was recorded",
        evidence: { fence: dispatcher.fence, owner: dispatcher.owner },
      },
    );
  },
  "tell.rerun": (ports, turn, job, params) => {
    const { attempt, reason } = params as { attempt: number; reason: string }; // The job chart's own params.
    tellRecord(ports, turn, job, { type: "liveness.retryScheduled", attempt }, { reason });
  },
  "tell.blocked": (ports, turn, job, params) => {
    tellRecord(
      ports,
      turn,
      job,
      { type: "liveness.blocked" },
      { reason: String(params["reason"]) },
    );
  },
  "tell.unblocked": (ports, turn, job) => {
    tellRecord(
      ports,
      turn,
      job,
      { type: "liveness.unblocked" },
      { reason: "its type is known again" },
    );
  },
  "tell.ended": (ports, turn, job, params) => {
    const { outcome } = job.now.context;
    invariant(outcome !== null, "Q2: an ended job has an outcome", { job: job.id });
    const { reason, sideEffect } = params as { reason: string; sideEffect: SideEffect }; // The job chart's own params.
    const end = outcome.kind === "timed_out" ? "failed" : outcome.kind;
    tellRecord(
      ports,
      turn,
      job,
      { type: "liveness.ended", outcome: end, sideEffect },
      { reason: outcome.kind === "timed_out" ? `timed_out: ${reason}` : reason },
    );
    tellDependents(ports, turn, job.id, { outcome, sideEffect });
  },
};

/** Delivers one `tell.*` of a job. */
export function tell(ports: RoutePorts, turn: Turn, cell: Cell, effect: Effect): void {
  const route = ROUTES[effect.type];
  invariant(route !== undefined, "T7: every tell has a route", { type: effect.type });
  invariant(cell.kind === "job", "T7: only jobs tell so far", { actor: cell.name });
  route(ports, turn, cell as Cell<"job">, effect.params); // Its kind was just looked at.
}

export const ROUTE_NAMES: readonly string[] = Object.keys(ROUTES);

/** Tells all who wait for a job how it ended. `word`: what ended a doubt about it, where there was one (T9). */
export function tellDependents(
  ports: Pick<RoutePorts, "cells" | "kinship" | "runTurn">,
  turn: Turn,
  job: string,
  end: DependencyEnd,
  word?: Move,
): void {
  const dependents = ports.kinship.dependents(job);
  if (dependents === undefined) return;
  const all = [...dependents];
  const tell = (some: readonly string[], into: Turn) => {
    for (const id of some) {
      const cell = ports.cells.task(id)?.job;
      if (cell !== undefined) settleDependency(into, cell, job, end, word);
    }
  };
  const now = turn.claim(all.length, DEPENDENTS_PER_TURN);
  tell(all.slice(0, now), turn);
  for (let from = now; from < all.length; from += DEPENDENTS_PER_TURN) {
    const some = all.slice(from, from + DEPENDENTS_PER_TURN);
    turn.defer(() =>
      ports.runTurn(`end:${job}`, (next) => {
        next.claim(some.length, DEPENDENTS_PER_TURN);
        tell(some, next);
      }),
    );
  }
}

/** Tells a waiting job how one of its dependencies ended, or leaves it gated (T9). */
export function settleDependency(
  turn: Turn,
  job: Cell<"job">,
  dependency: string,
  end: DependencyEnd,
  word?: Move,
): void {
  const { outcome } = end;
  if (outcome.kind === "completed") {
    turn.apply(job, { type: "job.dependencySettled", dependency, outcome: "completed" }, word);
    return;
  }
  const failure = dependencyFailure(job.id, dependency, outcome);
  if (job.now.context.spec?.toleratesFailures !== true) {
    turn.apply(job, { type: "job.dependencyFailed", dependency, failure }, word);
  } else if (word !== undefined || !isEndUnseen(end)) {
    const told: DependencyOutcome = outcome.kind;
    turn.apply(job, { type: "job.dependencySettled", dependency, outcome: told, failure }, word);
  }
}

const HOW = { failed: "failed", cancelled: "was cancelled", timed_out: "timed out" } as const;

/** Names the root cause: the first job of the chain that failed by itself. */
function dependencyFailure(job: string, dependency: string, outcome: BadEnd): Failure {
  const cause = errorOfOutcome(dependency, outcome);
  const rootCause =
    cause.code === "dependency_failed" ? String(cause.details["rootCause"]) : dependency;
  const error = new DependencyFailedError(
    `The job ${job} did not run: its dependency ${dependency} ${HOW[outcome.kind]}${rootCause === dependency ? "" : `, because ${rootCause} did not complete`}.`,
    {
      details: { job, dependency, rootCause, outcome: outcome.kind },
      cause,
    },
  );
  return toErrorRecord(error) as Failure; // An error record of ours is a failure.
}
