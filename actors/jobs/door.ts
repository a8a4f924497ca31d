/**
 * The door: every submission, from outside or from inside a job.
 *
 * Owns: the walls and the soundness checks, joining a job that is there already, the first turn of a job. Does not own: what
 * a request must look like (submission.ts), when a queued job starts (line.ts).
 *
 * A1. A refusal is a handle born failed; nothing of it is journaled, and it is told when everything staged before it is
 *     acknowledged (T2, ES-10).
 * A2. The same id and the same content is the same job, live or ended, in whatever workflow; with other content it is a
 *     conflict (DOOR-7), and so it is for another user: nobody is handed what another one's job gave.
 * A3. What the door asks the journal is asked before the turn; the turn looks at memory first, so nothing can slip between.
 */
import { invariant } from "../../machines/invariant.ts";
import type { Dependency, JobSpec } from "../../machines/job/spec.ts";
import type { JobDefinition } from "../attempt/definition.ts";
import type { ChildRequest, DoerContext } from "../attempt/doer-context.ts";
import {
  ConflictError,
  type HoldfastError,
  IllegalStateError,
  InvalidArgumentError,
  isHoldfastError,
  NotFoundError,
  SystemError,
} from "../errors.ts";
import { taskScope } from "../journal/subjects.ts";
import type { EndedJob } from "../runtime/history.ts";
import { storeFull } from "../runtime/space.ts";
import type { World } from "../runtime/world.ts";
import { type Cell, newTaskCells } from "../turn/cell.ts";
import { type DependencyEnd, endIn, RETURNED, settleDependency } from "../turn/routes.ts";
import type { Turn } from "../turn/turn.ts";
import { failureOf, type HandlePorts, JobHandle, settlementOf } from "./handle.ts";
import { assertNoSecret } from "./secret-names.ts";
import { asideError } from "./set-aside.ts";
import {
  childSubmission,
  mayBeChildId,
  type NamedDependency,
  rootSubmission,
  type Submission,
  type SubmitOptions,
  withDependencies,
} from "./submission.ts";

/** What became of a submission. The handle is there in every case; of a refused one it is born failed. */
export interface Submitted {
  readonly decision: "submitted" | "joined" | "refused";
  readonly handle: JobHandle<unknown>;
  readonly refusal: HoldfastError | null;
}

interface NamedEnd {
  readonly id: string;
  readonly end: DependencyEnd;
}

/** Completions that a new job is told of in one turn; a failure, which is told with all its causes, counts for several. */
const ENDS_PER_TURN = 64;
const FAILURE_WEIGHT = 8;

const NOTHING_ENDED: ReadonlyMap<string, EndedJob> = new Map();

/** Thrown out of a turn that must not open a child again; the caller looks again, and finds it. */
const ASKED_TWICE = new IllegalStateError("The child was opened meanwhile.");

export class Door {
  readonly #world: World;
  readonly #handlePorts: HandlePorts;

  constructor(world: World, handlePorts: HandlePorts) {
    this.#world = world;
    this.#handlePorts = handlePorts;
  }

  /**
   * A root. Resolves when the decision is acknowledged; never rejects for a refusal. Rejects with what ended the owner when
   * that came first: whether the log has the submission only the next owner can tell.
   */
  submit(
    type: JobDefinition | string,
    input: unknown,
    options: SubmitOptions = {},
  ): Promise<Submitted> {
    let id = typeof options.id === "string" ? options.id : "(none)";
    try {
      this.#assertOwner();
      const ambient = this.#world.ambient.current();
      // Code that has outlived its job submits as nobody (CTX-6).
      const caller = ambient === null || ambient.isOver ? null : ambient;
      if (caller !== null && caller.kind !== "doer") throw onlyDoersSubmit(caller.id);
      const definition = this.#definition(type);
      const submission = rootSubmission(
        this.#world.ids,
        definition,
        input,
        options,
        caller?.type ?? null,
      );
      id = submission.spec.id;
      const admitted = this.#admit(submission);
      // What needs no looking up is refused in its turn, by a throw: this is every job's way, and a promise costs.
      return isLookedUp(submission)
        ? admitted.catch((error) => this.#refuse(id, id, this.#refusal(error)))
        : admitted;
    } catch (error) {
      return this.#refuse(id, id, refusalOf(error));
    }
  }

  /** A child of a doer's running attempt. Never rejects for a refusal: the handle is born failed. Rejects as `submit` does. */
  async submitChild(parent: DoerContext, ask: () => ChildRequest): Promise<JobHandle<unknown>> {
    let key = "(none)";
    try {
      this.#assertOwner();
      const request = ask();
      key = request.key;
      return await this.#child(parent, request);
    } catch (error) {
      const refusal = this.#refusal(error);
      return (await this.#refuse(`${parent.id}/${key}`, parent.workflow, refusal)).handle;
    }
  }

  /** Before anything is staged, the owner's end is a refusal like any other. */
  #assertOwner(): void {
    const over = this.#world.over();
    if (over === null) return;
    throw new IllegalStateError(`Nothing is taken here any more: ${over.message}`, { cause: over });
  }

  /** Throws what ended the owner meanwhile: nobody here can say that it was refused. */
  #refusal(error: unknown): HoldfastError {
    if (error === this.#world.over()) throw error;
    return refusalOf(error);
  }

  async #child(parent: DoerContext, request: ChildRequest): Promise<JobHandle<unknown>> {
    if (this.#world.ambient.current() !== parent) throw notTheParent(parent.id);
    const definition = this.#definition(request.definition);
    const { childrenLeft } = this.#world.registry.get(parent.type) ?? {
      childrenLeft: "cancel" as const,
    };
    const submission = childSubmission(this.#world.ids, parent, request, childrenLeft);
    const known = this.#world.kinship.family(parent.id)?.children.get(request.key);
    if (known === undefined) {
      try {
        return (await this.#admit(submission)).handle;
      } catch (error) {
        if (error !== ASKED_TWICE) throw error;
        return this.#child(parent, request); // Its family knows it now.
      }
    }
    if (known.digest !== submission.spec.digest)
      throw childConflict(parent.id, request.key, known.id, definition.type);
    if (this.#world.cells.task(known.id) !== undefined) {
      const handle = this.#join(known.id, parent.workflow);
      await this.#acknowledged();
      return handle;
    }
    const ended = await this.#world.history.find(known.id, parent.workflow);
    if (ended === null) throw this.#unreadable(known.id);
    return this.#endedHandle(ended);
  }

  /** A handle on a job that is live or has ended; null when there is none. Rejects with `illegal_state` for one set aside. */
  async find(job: string): Promise<JobHandle<unknown> | null> {
    const cells = this.#world.cells.task(job);
    if (cells !== undefined) {
      const handle = this.#join(job, cells.job.workflow);
      await this.#acknowledged();
      return handle;
    }
    const aside = asideError(this.#world, job);
    if (aside !== undefined) throw aside;
    const ended = await this.#world.history.find(job, null);
    return ended === null ? null : this.#endedHandle(ended);
  }

  #definition(type: JobDefinition | string): JobDefinition {
    const name = typeof type === "string" ? type : type.type;
    const known = this.#world.registry.get(name);
    if (known !== undefined) return known;
    const { types } = this.#world.registry;
    throw new NotFoundError(
      `No job type ${JSON.stringify(name)} is known here; known are: ${types.length === 0 ? "none" : types.join(", ")}.`,
      { details: { type: name, known: types } },
    );
  }

  /** Decides in one turn; what memory does not know is looked up first. */
  #admit(submission: Submission): Promise<Submitted> {
    const { id, key } = submission.spec;
    for (const name of [id, ...(key === null ? [] : [key])]) assertNoSecret(this.#world, name);
    if (submission.after.some((dependency) => dependency.id === id)) throw cycle(id);
    return isLookedUp(submission)
      ? this.#admitAfterLooking(
          submission,
          submission.isIdChosen ? [{ id, workflow: id }, ...submission.after] : submission.after,
        )
      : this.#turn(submission, NOTHING_ENDED);
  }

  /** A3: looks again when one of them left memory meanwhile. */
  async #admitAfterLooking(
    submission: Submission,
    named: readonly NamedDependency[],
  ): Promise<Submitted> {
    const watch = this.#world.history.watch(named.map((each) => each.id));
    try {
      for (;;) {
        const ended = await this.#endedOf(named);
        if (watch.isStale) watch.isStale = false;
        else return await this.#turn(submission, ended);
      }
    } finally {
      watch.end();
    }
  }

  async #endedOf(named: readonly NamedDependency[]): Promise<ReadonlyMap<string, EndedJob>> {
    const found = await Promise.all(
      named.map(({ id, workflow }) =>
        this.#world.cells.task(id) === undefined ? this.#ended(id, workflow) : null,
      ),
    );
    return new Map(found.flatMap((ended) => (ended === null ? [] : [[ended.spec.id, ended]])));
  }

  /** An id that is asked for as a root's may be that of a child, which stands in another workflow. */
  async #ended(id: string, workflow: string | null): Promise<EndedJob | null> {
    const { history } = this.#world;
    const ended = await history.find(id, workflow);
    return ended === null && workflow === id && mayBeChildId(id) ? history.find(id, null) : ended;
  }

  #turn(submission: Submission, ended: ReadonlyMap<string, EndedJob>): Promise<Submitted> {
    const { id } = submission.spec;
    const isHeld = this.#world.handles.has(id);
    try {
      return this.#world.answer(`submit:${id}`, (turn) => this.#decide(turn, submission, ended));
    } catch (error) {
      // The turn was too large: there is no such job, and nobody to settle the handle that was made for it.
      if (!isHeld && this.#world.cells.task(id) === undefined) this.#world.handles.delete(id);
      throw error;
    }
  }

  #decide(turn: Turn, submission: Submission, ended: ReadonlyMap<string, EndedJob>): Submitted {
    const { id, workflow, digest, user } = submission.spec;
    const refused = this.#closed(submission.spec);
    if (refused !== null) return this.#refused(id, workflow, refused);
    const live = this.#world.cells.task(id);
    const before = ended.get(id);
    const known = live?.job.now.context.spec ?? before?.spec;
    if (known !== undefined) {
      if (known.digest !== digest || known.user !== user)
        return this.#refused(id, workflow, idConflict(known, submission.spec));
      const handle =
        live === undefined && before !== undefined
          ? this.#endedHandle(before)
          : this.#join(id, known.workflow);
      return { decision: "joined", handle, refusal: null };
    }
    if (this.#isAskedTwice(submission.spec)) throw ASKED_TWICE;
    const orphaned = this.#orphaned(submission);
    if (orphaned !== null) return this.#refused(id, workflow, orphaned);
    const dependencies = this.#dependencies(submission, ended);
    if (!Array.isArray(dependencies)) return this.#refused(id, workflow, dependencies);
    const full = this.#full(submission.spec);
    if (full !== null) return this.#refused(id, workflow, full);
    this.#open(turn, withDependencies(submission, dependencies), ended);
    return { decision: "submitted", handle: this.#join(id, workflow), refusal: null };
  }

  /**
   * A child is no command from outside: its parent's code runs, and a detach settles nothing (CAN-7). It is taken while the
   * runtime detaches, to start under the next owner, and it waits for a log that does not keep up like its parent does.
   */
  #closed({ id: job, parent }: JobSpec): HoldfastError | null {
    const { value, context } = this.#world.cells.dispatcher.now;
    const isDetaching = value === "stopping" && context.mode === "detach";
    if (value !== "ready" && !(isDetaching && parent !== null)) {
      return new IllegalStateError(
        `The job ${job} is refused: the runtime is ${value}, not ready.`,
        { details: { job, state: value } },
      );
    }
    if (this.#world.journal.isCongested && parent === null) {
      return new IllegalStateError(`The job ${job} is refused: the log does not keep up.`, {
        retry: "backoff",
        details: { job },
      });
    }
    return asideError(this.#world, job) ?? null;
  }

  /** New work alone needs room: whoever asks for a job that is there is told of it, and a child is part of work that runs. */
  #full({ id, parent }: JobSpec): HoldfastError | null {
    const room = parent === null ? this.#world.space.roomForWork() : null;
    return room?.isFull === true ? storeFull(id, room) : null;
  }

  /** Asked for by another call of the same attempt, and ended, while this one looked something up. */
  #isAskedTwice({ parent, key }: JobSpec): boolean {
    if (parent === null || key === null) return false;
    return this.#world.kinship.family(parent)?.children.has(key) === true;
  }

  /** A parent that ends, or has ended while the door looked something up, opens nothing any more: its cancel went round. */
  #orphaned({ spec: { id, parent } }: Submission): HoldfastError | null {
    if (parent === null) return null;
    const state = this.#world.cells.task(parent)?.job.now.value ?? "ended";
    if (state === "running") return null;
    return new IllegalStateError(`The job ${id} is refused: its parent ${parent} is ${state}.`, {
      details: { job: id, parent, state },
    });
  }

  #dependencies(
    submission: Submission,
    ended: ReadonlyMap<string, EndedJob>,
  ): Dependency[] | HoldfastError {
    const dependencies: Dependency[] = [];
    for (const { id } of submission.after) {
      const workflow = this.#world.cells.task(id)?.job.workflow ?? ended.get(id)?.spec.workflow;
      if (workflow === undefined) {
        return new NotFoundError(
          `The job ${submission.spec.id} depends on ${id}, and there is no such job.`,
          {
            details: { job: submission.spec.id, dependency: id },
          },
        );
      }
      dependencies.push({ id, workflow });
    }
    return dependencies;
  }

  #open(turn: Turn, spec: JobSpec, ended: ReadonlyMap<string, EndedJob>): void {
    const cells = newTaskCells(
      spec.id,
      spec.workflow,
      `${this.#world.prefix}${taskScope(spec.workflow, spec.id)}`,
    );
    turn.create(cells);
    const isOpen = turn.apply(cells.job, { type: "job.submitted", spec });
    invariant(isOpen, "Q1: a new job takes its submission", { job: spec.id });
    const ends = spec.dependencies.flatMap(({ id }) => {
      // An end that is staged and not yet acknowledged still has its cell: it is told like one that the journal knows.
      const end = endIn(this.#world.cells.task(id)) ?? ended.get(id);
      return end === undefined ? [] : [{ id, end }];
    });
    this.#tellEnds(turn, cells.job, ends);
  }

  /** A turn's records have a bound: a job behind many ends is told of them in several (recovery goes on after a crash). */
  #tellEnds(turn: Turn, job: Cell<"job">, ends: readonly NamedEnd[]): void {
    let told = 0;
    for (let weight = 0; told < ends.length && weight < ENDS_PER_TURN; told += 1) {
      const { id, end } = ends[told] as NamedEnd; // The index was just compared.
      const word = this.#world.returned.has(id) ? RETURNED : undefined;
      settleDependency(turn, job, id, end, word);
      weight += end.outcome.kind === "completed" ? 1 : FAILURE_WEIGHT;
    }
    const rest = ends.slice(told);
    if (rest.length === 0) return;
    turn.defer(() =>
      this.#world.runTurn(`submit:${job.id}`, (next) => this.#tellEnds(next, job, rest)),
    );
  }

  #join(job: string, workflow: string): JobHandle<unknown> {
    const known = this.#world.handles.get(job);
    if (known !== undefined) return known;
    const handle = new JobHandle<unknown>(job, workflow, this.#handlePorts);
    this.#world.handles.set(job, handle);
    return handle;
  }

  #endedHandle({ spec, outcome }: EndedJob): JobHandle<unknown> {
    const handle = new JobHandle<unknown>(spec.id, spec.workflow, this.#handlePorts);
    handle.settle(settlementOf(spec.id, outcome));
    return handle;
  }

  #refused(job: string, workflow: string, refusal: HoldfastError): Submitted {
    const handle = new JobHandle<unknown>(job, workflow, this.#handlePorts);
    handle.settle({ kind: "failed", error: failureOf(job, refusal), end: "failed" });
    return { decision: "refused", handle, refusal };
  }

  /** What memory knows may be staged only: nothing is answered by it before the log has it (ES-10). */
  #acknowledged(): Promise<void> {
    return this.#world.acknowledged();
  }

  #refuse(job: string, workflow: string, refusal: HoldfastError): Promise<Submitted> {
    const refused = () => this.#refused(job, workflow, refusal);
    return this.#world.acknowledged().then(refused, refused);
  }

  #unreadable(job: string): HoldfastError {
    return (
      asideError(this.#world, job) ??
      new SystemError(`The journal has no end of the job ${job}, which is not live.`, {
        details: { component: "journal", job },
      })
    );
  }
}

/** Whether the journal is asked before the turn (A3). */
const isLookedUp = ({ isIdChosen, after }: Submission): boolean => isIdChosen || after.length > 0;

/** A refusal is a coded error; anything else is a defect that happened while deciding, and is told as one. */
const refusalOf = (error: unknown): HoldfastError =>
  isHoldfastError(error)
    ? error
    : new SystemError("The submission failed on a defect.", {
        cause: error,
        details: { component: "runtime" },
      });

const onlyDoersSubmit = (job: string) =>
  new SystemError(`The job ${job} is a tool: only a doer submits from inside a job.`, {
    details: { component: "job", job },
  });

const notTheParent = (job: string) =>
  new SystemError(`The job ${job} can be named as parent only from its own code.`, {
    details: { component: "job", job },
  });

const cycle = (id: string) =>
  new InvalidArgumentError(`The dependencies close a cycle: ${id} → ${id}.`, {
    details: { cycle: [id, id] },
  });

const idConflict = (known: JobSpec, asked: { id: string; type: string; user: string }) =>
  new ConflictError(
    known.user === asked.user
      ? `The id ${asked.id} belongs to a job of type ${known.type} with other content than this one of type ${asked.type}.`
      : `The id ${asked.id} belongs to a job of type ${known.type} of another user than ${asked.user}, who asks for ${asked.type}.`,
    { details: { id: asked.id, knownType: known.type, askedType: asked.type } },
  );

const childConflict = (parent: string, key: string, known: string, type: string) =>
  new ConflictError(
    `The key ${key} under ${parent} belongs to the child ${known}, whose type or input differs from what is asked now (${type}).`,
    { details: { parent, key, known, type } },
  );
