/**
 * Recovery: what becomes of every live job when a new owner has folded the log.
 *
 * Owns: the decision by class. Does not own: the fold, running.
 *
 * Z1. An attempt whose process is gone and whose end nobody saw is interrupted. Only a class that allows it, within its
 *     budget, runs again by itself (RTY-1, RTY-3); any other waits in `interrupted` for a person's word.
 * Z2. A cancel or a timeout that was under way ends: the process is gone, which is what it asked for.
 * Z3. What may run starts in the order in which it was submitted, queued or run again; what was blocked is looked at again.
 * Z4. A dependency that ended while nobody was told is told now; a child whose parent is gone follows its policy.
 * Z5. Every live job is decided before any of them starts: nothing that a cancel was on its way to runs once more.
 */
import { invariant } from "../../machines/invariant.ts";
import type { Failure } from "../../machines/job/events.ts";
import type { JobSpec } from "../../machines/job/spec.ts";
import { isHoldfastError, SystemError, toErrorRecord } from "../errors.ts";
import { startQueued } from "../jobs/line.ts";
import type { Cell } from "../turn/cell.ts";
import { settleDependency } from "../turn/routes.ts";
import type { Turn } from "../turn/turn.ts";
import type { EndedJob } from "./history.ts";
import type { World } from "./world.ts";

/** Jobs decided in one turn. */
const JOBS_PER_TURN = 256;

/**
 * Decides every live job while the dispatcher recovers, when nothing can start. Resolves when all is staged. Returns how
 * many were interrupted.
 */
export async function reconcile(world: World): Promise<number> {
  const jobs = [...world.cells.tasks()].map(({ job }) => job);
  const interrupted = jobs.filter(
    ({ now }) => now.value === "running" || now.value === "cancelling" || now.value === "expiring",
  );
  inTurns(world, interrupted, interrupt);
  inTurns(world, jobs, exhaust);
  await settleUntold(world, jobs);
  inTurns(world, jobs, (turn, job) => cancelOrphan(world, turn, job));
  return interrupted.length;
}

/** Z3: starts what may run; the dispatcher must be ready. */
export function resume(world: World): void {
  const jobs = [...world.cells.tasks()].map(({ job }) => job);
  inTurns(world, jobs, (turn, job) => {
    if (job.now.value === "queued") startQueued(world, turn, job);
    else if (job.now.value === "blocked") unblock(world, turn, job);
    else if (mayRunAgain(job)) rerun(turn, job, lostReason(job));
  });
}

function inTurns(
  world: World,
  jobs: readonly Cell<"job">[],
  decide: (turn: Turn, job: Cell<"job">) => void,
): void {
  const inTurn = (some: readonly Cell<"job">[]) =>
    world.runTurn("recovery", (turn) => {
      for (const job of some) decide(turn, job);
    });
  for (let from = 0; from < jobs.length; from += JOBS_PER_TURN) {
    const some = jobs.slice(from, from + JOBS_PER_TURN);
    try {
      inTurn(some);
    } catch {
      // One of them cannot be decided (a history that fits no chart's word): it is told, and keeps nobody from starting.
      for (const job of some) decideAlone(world, job, () => inTurn([job]));
    }
  }
}

function decideAlone(world: World, { id }: Cell<"job">, decide: () => void): void {
  try {
    decide();
  } catch (error) {
    world.notice({ kind: "fault", where: "recovery", job: id, error });
  }
}

/** Z1, Z2. */
function interrupt(turn: Turn, job: Cell<"job">): void {
  const { attempt } = job.now.context;
  const isSideEffectUnknown = !isSafe(job);
  turn.apply(
    job,
    { type: "job.interrupted", attempt, isSideEffectUnknown },
    { reason: "its process is gone" },
  );
}

/** Z1: lost once too often. Asked of every job: the owner before may have died between its interruption and this. */
function exhaust(turn: Turn, job: Cell<"job">): void {
  const { spec, attempt } = job.now.context;
  if (spec === null || !mayRunAgain(job) || attempt <= spec.retryBudget) return;
  turn.apply(job, { type: "job.attemptsExhausted", failure: exhausted(spec, attempt) });
}

function isSafe(job: Cell<"job">): boolean {
  const { spec } = job.now.context;
  invariant(spec !== null, "Q1: a live job has a spec", { job: job.id });
  return spec.retryClass === "safe_to_retry";
}

const mayRunAgain = (job: Cell<"job">): boolean => job.now.value === "interrupted" && isSafe(job);

const lostReason = ({ now: { context } }: Cell<"job">): string =>
  `attempt ${context.attempt} was lost with its process, and ${context.spec?.type} is safe to retry`;

/** Schedules the next attempt; it starts at once when the runtime is ready. */
export function rerun(turn: Turn, job: Cell<"job">, reason: string): boolean {
  return turn.apply(
    job,
    { type: "job.rerunScheduled", attempt: job.now.context.attempt + 1, reason },
    { reason },
  );
}

const exhausted = (spec: JobSpec, attempts: number): Failure =>
  toErrorRecord(
    new SystemError(
      `worker_lost: the process that ran ${spec.id} was lost ${attempts} times; its retry budget is ${spec.retryBudget}.`,
      {
        details: {
          component: "job",
          job: spec.id,
          attempts,
          retryBudget: spec.retryBudget,
          reason: "worker_lost",
        },
      },
    ),
  ) as Failure; // An error record of ours is a failure.

/** Z4: an end and its dependents are one group up to a bound; the rest may have been cut off by a crash. */
async function settleUntold(world: World, jobs: readonly Cell<"job">[]): Promise<void> {
  for (const job of jobs) {
    const { spec, pending } = job.now.context;
    for (const id of job.now.value === "waiting" ? pending : []) {
      if (world.cells.task(id) !== undefined || world.setAside.has(id)) continue;
      const workflow =
        spec?.dependencies.find((dependency) => dependency.id === id)?.workflow ?? null;
      const ended = await endOf(world, id, workflow);
      if (ended === null) continue; // It stays gated: nobody knows how that dependency ended.
      world.runTurn(`end:${id}`, (turn) => settleDependency(turn, job, id, ended));
    }
  }
}

/** Null: there is no end of it, or none that can be read; that one is told to people, and stops no start (ES-6). */
async function endOf(world: World, job: string, workflow: string | null): Promise<EndedJob | null> {
  try {
    return await world.history.find(job, workflow);
  } catch (error) {
    if (!isHoldfastError(error) || error.code !== "illegal_state") throw error;
    world.notice({ kind: "fault", where: "recovery", job, error });
    return null;
  }
}

function unblock(world: World, turn: Turn, job: Cell<"job">): void {
  const { spec } = job.now.context;
  if (spec !== null && world.registry.get(spec.type) !== undefined)
    turn.apply(job, { type: "job.unblocked" });
}

function cancelOrphan(world: World, turn: Turn, job: Cell<"job">): void {
  const { spec } = job.now.context;
  if (job.isFinal || spec === null || spec.parent === null || spec.whenParentEnds !== "cancel")
    return;
  const parent = world.cells.task(spec.parent)?.job;
  if (world.setAside.has(spec.parent) || (parent !== undefined && !parent.isFinal)) return;
  turn.apply(job, {
    type: "job.cancelRequested",
    reason: `its parent ${spec.parent} has ended`,
    by: "runtime",
  });
}
