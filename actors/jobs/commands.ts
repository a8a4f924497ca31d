/**
 * Commands on jobs that are there: cancel, resolve, answer, and the ends that executions and timers report.
 *
 * Owns: turning each into one turn and its answer. Does not own: submission (door.ts).
 *
 * An answer says what was decided; it is given when that, or what it rests on, is acknowledged (T2). A resolution or an answer
 * that comes again under its command id is taken once, and told as it was the first time (API-2).
 */

import type { Failure } from "../../machines/job/events.ts";
import type { Json } from "../../machines/json.ts";
import { type AttemptEnd, faultsOf } from "../attempt/execution.ts";
import { toJson } from "../attempt/json-value.ts";
import {
  ConflictError,
  type HoldfastError,
  IllegalStateError,
  InvalidArgumentError,
  NotFoundError,
  RetryRefusedError,
  SystemError,
  toErrorRecord,
} from "../errors.ts";
import { rerun } from "../runtime/recovery.ts";
import type { World } from "../runtime/world.ts";
import type { Cell } from "../turn/cell.ts";
import { endIn, isEndUnseen, tellDependents } from "../turn/routes.ts";
import type { Move, Turn } from "../turn/turn.ts";
import type { CancelAnswer } from "./handle.ts";
import { Repeats } from "./repeats.ts";
import { asideError } from "./set-aside.ts";

/** TO-1: a tenth of the timeout, at least 500 ms, at most 30 s. */
export const graceOf = (timeoutMs: number): number =>
  Math.min(30_000, Math.max(500, timeoutMs / 10));

export type Resolution =
  | { readonly kind: "completed"; readonly result: Json }
  | { readonly kind: "failed"; readonly message: string }
  | { readonly kind: "retry" }
  /** Of a job that has ended, and whose side effect was unknown: what waits for that may go on. */
  | { readonly kind: "known" };

export class Commands {
  readonly #world: World;
  readonly #repeats: Repeats;

  constructor(world: World) {
    this.#world = world;
    this.#repeats = new Repeats(world);
  }

  /** Cooperative: a job that has not started is settled at once, a running one finds it at its next look. */
  async cancel(job: string, reason: string, by: string): Promise<CancelAnswer> {
    assertTexts({ job, reason, by });
    return this.#turn(`cancel:${job}`, (turn): CancelAnswer => {
      const cell = this.#world.cells.task(job)?.job;
      if (cell === undefined) return this.#noneToCancel(job);
      if (cell.isFinal) return { isCancelled: false, decision: "ended" };
      if (!turn.apply(cell, { type: "job.cancelRequested", reason, by }, { reason })) {
        // It is ending already, by an earlier cancel or by its timeout.
        return { isCancelled: cell.now.value === "cancelling", decision: "cancelling" };
      }
      return { isCancelled: true, decision: cell.isFinal ? "cancelled" : "cancelling" };
    });
  }

  #noneToCancel(job: string): CancelAnswer {
    const aside = asideError(this.#world, job);
    if (aside !== undefined) throw aside;
    return { isCancelled: false, decision: "not_found" };
  }

  #missing(job: string): HoldfastError {
    return asideError(this.#world, job) ?? notFound(job);
  }

  /** A person's word on an attempt whose end nobody saw. Rejects with `not_found`, `illegal_state`, `retry_refused` or `invalid_argument`. */
  async resolve(
    job: string,
    resolution: Resolution,
    by: string,
    reason: string,
    commandId?: string,
  ): Promise<void> {
    assertTexts({ job, by, reason });
    assertResolution(resolution);
    if (resolution.kind === "known") return this.#effectKnown(job, { reason, evidence: { by } });
    const plain =
      resolution.kind === "completed"
        ? { kind: "completed" as const, result: this.#result(job, resolution.result) }
        : resolution;
    await this.#repeats.once({ job, verb: "resolve", commandId, content: { ...plain } }, (cause) =>
      this.#unlessRefused(cause, (turn) => this.#resolve(turn, job, plain, by, reason)),
    );
  }

  async #unlessRefused(cause: string, decide: (turn: Turn) => HoldfastError | null): Promise<void> {
    const refusal = await this.#turn(cause, decide);
    if (refusal !== null) throw refusal;
  }

  /** GATE-1: what was kept waiting by an unknown side effect goes on by a person's word, which stands in its history. */
  async #effectKnown(job: string, word: Move): Promise<void> {
    const { cells, history, kinship } = this.#world;
    const before = cells.task(job) === undefined ? await history.find(job, null) : null;
    await this.#unlessRefused(`resolve:${job}`, (turn) => {
      const task = cells.task(job);
      const end = endIn(task) ?? before;
      if (end === null)
        return task === undefined ? this.#missing(job) : notEnded(job, task.job.now.value);
      if (!isEndUnseen(end)) return nobodyDoubts(job, "its end was seen");
      if (kinship.dependents(job) === undefined) return nobodyDoubts(job, "no job waits for it");
      tellDependents(this.#world, turn, job, end, word);
      return null;
    });
  }

  /** A result that a person gives is held to the same schema as one that code returns, where its type is known. */
  #result(job: string, given: unknown): Json {
    const what = `the result of job ${job}`;
    const type = this.#world.cells.task(job)?.job.now.context.spec?.type;
    const definition = type === undefined ? undefined : this.#world.registry.get(type);
    if (definition === undefined) return toJson(given, what);
    const parsed = definition.output.safeParse(given);
    if (parsed.success) return toJson(parsed.data, what);
    const faults = faultsOf(parsed.error);
    throw new InvalidArgumentError(`It does not parse: ${what}: ${faults.join("; ")}.`, {
      details: { job, type, faults },
    });
  }

  #resolve(
    turn: Turn,
    job: string,
    resolution: Exclude<Resolution, { kind: "known" }>,
    by: string,
    reason: string,
  ): HoldfastError | null {
    const cell = this.#world.cells.task(job)?.job;
    if (cell === undefined) return this.#missing(job);
    if (cell.now.value !== "interrupted") return notUnknown(job, cell.now.value);
    const move: Move = { reason, evidence: { by } };
    switch (resolution.kind) {
      case "completed":
        turn.apply(
          cell,
          { type: "job.resolvedCompleted", result: resolution.result, by, reason },
          move,
        );
        return null;
      case "failed":
        turn.apply(
          cell,
          {
            type: "job.resolvedFailed",
            failure: saidFailed(job, resolution.message, by),
            by,
            reason,
          },
          move,
        );
        return null;
      case "retry":
        return rerun(turn, cell, `${by} ordered a new attempt: ${reason}`)
          ? null
          : retryRefused(job, cell.now.value);
    }
  }

  /** An answer to a declared wait. Rejects with `not_found`, or `conflict` when nothing of that name is waited for. */
  async answer(
    job: string,
    name: string,
    given: Json,
    by: string,
    commandId?: string,
  ): Promise<void> {
    assertTexts({ job, name, by });
    const value = toJson(given, `the answer to ${JSON.stringify(name)} of job ${job}`);
    await this.#repeats.once(
      { job, verb: "answer", commandId, content: { name, value } },
      (cause) =>
        this.#unlessRefused(cause, (turn) => {
          const cell = this.#world.cells.task(job)?.job;
          if (cell === undefined) return this.#missing(job);
          return turn.apply(cell, { type: "job.answered", name, value, by })
            ? null
            : notAwaited(job, name, cell);
        }),
    );
  }

  /** An attempt ended. One that is not the current one any more, or whose job has settled, changes nothing. */
  attemptEnded(job: string, attempt: number, end: AttemptEnd): void {
    const cell = this.#world.cells.task(job)?.job;
    if (cell === undefined) return;
    const cause = `end:${job}:${attempt}`;
    try {
      this.#world.runTurn(cause, (turn) => {
        if (end.kind === "failed")
          turn.apply(cell, { type: "job.failed", attempt, failure: end.failure });
        else
          turn.apply(
            cell,
            { type: "job.completed", attempt, result: end.result },
            unaskedMove(end.unasked),
          );
      });
    } catch (error) {
      // The turn could not take the end as it was (too large beside what else it moves): the job ends by that instead.
      this.#world.notice({ kind: "fault", where: cause, job, error });
      const failure = toErrorRecord(error) as Failure; // An error record of ours is a failure.
      this.#tried(cause, job, (turn) => turn.apply(cell, { type: "job.failed", attempt, failure }));
    }
  }

  /** Runs a turn that nobody waits for: what it throws is told to people, and stops nobody else. */
  #tried(cause: string, job: string, decide: (turn: Turn) => void): void {
    try {
      this.#world.runTurn(cause, decide);
    } catch (error) {
      this.#world.notice({ kind: "fault", where: cause, job, error });
    }
  }

  /** A timer of a job is due. */
  timerDue(job: string, timer: string): void {
    const cell = this.#world.cells.task(job)?.job;
    if (cell === undefined) return;
    this.#tried(`timer:${job}:${timer}`, job, (turn) => {
      const { attempt, spec } = cell.now.context;
      if (timer === "grace") turn.apply(cell, { type: "job.graceEnded", attempt });
      else
        turn.apply(cell, {
          type: "job.timeoutReached",
          attempt,
          graceUntil: turn.t + graceOf(spec?.timeoutMs ?? 0),
        });
    });
  }

  #turn<Answer>(cause: string, decide: (turn: Turn) => Answer): Promise<Answer> {
    return this.#world.answer(cause, decide);
  }
}

/** What the journal takes live it must take when it is read again. Errors: InvalidArgumentError naming the argument. */
function assertTexts(values: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === "string") continue;
    throw new InvalidArgumentError(
      `${name}: a text; found ${value === null ? "null" : typeof value}.`,
    );
  }
}

/** A program may hand in what no type allows: what is not known here is refused, not passed over. */
function assertResolution(given: Resolution): void {
  const { kind }: { readonly kind?: unknown } = given ?? {};
  if (kind === "failed") assertTexts({ message: (given as { message?: unknown }).message }); // Its kind says so.
  if (RESOLUTIONS.some((known) => known === kind)) return;
  throw new InvalidArgumentError(
    `resolution.kind: one of ${RESOLUTIONS.join(", ")}; found ${String(kind)}.`,
    { details: { allowed: RESOLUTIONS, found: String(kind) } },
  );
}

const RESOLUTIONS: readonly Resolution["kind"][] = ["completed", "failed", "retry", "known"];

/** Children that this attempt did not ask for are listed with its end (TREE-6), some of them when they are many. */
const UNASKED_LISTED_MAX = 100;

function unaskedMove(unasked: readonly string[]): Move {
  if (unasked.length === 0) return {};
  return {
    evidence: {
      unaskedChildren: unasked.slice(0, UNASKED_LISTED_MAX),
      unaskedCount: unasked.length,
    },
  };
}

const notFound = (job: string) =>
  new NotFoundError(`There is no live job ${job}.`, { details: { job } });

const notUnknown = (job: string, state: string) =>
  new IllegalStateError(
    `The job ${job} is ${state}; only one whose end nobody saw (interrupted) can be resolved.`,
    { details: { job, state } },
  );

const notEnded = (job: string, state: string) =>
  new IllegalStateError(`The job ${job} is ${state}: what it leaves is known when it has ended.`, {
    details: { job, state },
  });

const nobodyDoubts = (job: string, why: string) =>
  new IllegalStateError(`Nothing is kept waiting by the job ${job}: ${why}.`, {
    details: { job, why },
  });

const retryRefused = (job: string, state: string) =>
  new RetryRefusedError(`The job ${job} cannot be run again: it is ${state}.`, {
    details: { job, state },
  });

const saidFailed = (job: string, message: string, by: string): Failure =>
  toErrorRecord(
    new SystemError(`${by} said that ${job} failed: ${message}`, {
      details: { component: "job", job, by },
    }),
  ) as Failure; // An error record of ours is a failure.

const notAwaited = (job: string, name: string, cell: Cell<"job">) => {
  const { awaited } = cell.now.context;
  return new ConflictError(
    `The job ${job} does not wait for ${JSON.stringify(name)}; it waits for ${awaited.length === 0 ? "nothing" : awaited.join(", ")}.`,
    { details: { job, name, awaited } },
  );
};
