/**
 * The runtime: one owner of one partition, from taking it to letting it go.
 *
 * Owns: putting the parts together, their order of starting and stopping, what happens when a group is acknowledged. Does
 * not own: any decision about a job; each part's header says which it takes.
 *
 * N1. Nothing is submitted before recovery has staged its decisions, nothing after a stop has begun.
 * N2. When the journal ends (fenced, or the log lost what it had acknowledged) the runtime is over at once: memory that ran
 *     ahead of the log is never undone, it is left behind.
 */
import type { z } from "zod";
import type { JobEvent } from "../../machines/job/events.ts";
import type { Json } from "../../machines/json.ts";
import type { ToolContext } from "../attempt/context.ts";
import type { JobDefinition } from "../attempt/definition.ts";
import { DoerCalls } from "../attempt/doer-calls.ts";
import { Executions } from "../attempt/execution.ts";
import { type HoldfastError, IllegalStateError } from "../errors.ts";
import { Commands } from "../jobs/commands.ts";
import { Door, type Submitted } from "../jobs/door.ts";
import type { CancelAnswer, JobHandle } from "../jobs/handle.ts";
import { startQueued } from "../jobs/line.ts";
import type { SubmitOptions } from "../jobs/submission.ts";
import { Journal, type JournalNotice } from "../journal/journal.ts";
import type { ReadRecord } from "../journal/reader.ts";
import { DISPATCHER_SCOPE } from "../journal/subjects.ts";
import { wakeAfter } from "../ports/clock.ts";
import { Answers } from "../turn/answers.ts";
import { type Cell, CellStore } from "../turn/cell.ts";
import { type EffectPorts, runEffect } from "../turn/effects.ts";
import { tell } from "../turn/routes.ts";
import { Timers } from "../turn/timers.ts";
import { type ReleasedEffect, runTurn, type Turn, type TurnPorts } from "../turn/turn.ts";
import { Ends } from "./ends.ts";
import { BootFold } from "./fold.ts";
import { type Health, type Staged, Standing } from "./health.ts";
import { History, type TaskRange } from "./history.ts";
import { Kinship } from "./kinship.ts";
import { type Given, givenIn, type RuntimeOptions } from "./options.ts";
import { reconcile, resume } from "./recovery.ts";
import { Space } from "./space.ts";
import type { World } from "./world.ts";

/** CAN-4: how long a shutdown waits for running jobs when nothing else is said, ms. */
export const SHUTDOWN_WAIT_MS_DEFAULT = 30_000;

/** The parts of a runtime, for tests that compare them with a fold; no part of what a service is given. */
export let worldOf: (runtime: Runtime) => World;

export class Runtime {
  static {
    worldOf = (runtime) => runtime.#world;
  }

  readonly #options: RuntimeOptions;
  readonly #world: World;
  readonly #door: Door;
  readonly #commands: Commands;
  readonly #calls: DoerCalls;
  readonly #executions: Executions;
  readonly #effectPorts: EffectPorts;
  readonly #turnPorts: TurnPorts;
  readonly #ends: Ends;
  readonly #standing: Standing;
  readonly #answers = new Answers();
  readonly #idle: (() => void)[] = [];
  #ended: HoldfastError | null = null;

  private constructor(
    options: RuntimeOptions,
    journal: Journal,
    cells: CellStore,
    kinship: Kinship,
    fold: BootFold,
    given: Given,
  ) {
    const { clock, ids, ambient, prefix, owner, bounds = null } = options;
    const { registry, redactor, notice } = given;
    this.#options = options;
    this.#world = {
      clock,
      ids,
      ambient,
      registry,
      journal,
      history: new History(journal, prefix),
      cells,
      kinship,
      space: new Space({
        ask: bounds,
        clock,
        onFault: (error) => notice({ kind: "fault", where: "the store's room", job: null, error }),
      }),
      timers: new Timers(
        clock,
        () => journal.now(),
        (job, timer) => this.#commands.timerDue(job, timer),
      ),
      redactor,
      handles: new Map(),
      returned: new Set(),
      setAside: fold.setAside,
      prefix,
      owner,
      answer: (cause, decide) =>
        this.#answers.give((resolve) => runTurn(this.#turnPorts, cause, decide, resolve)),
      acknowledged: () => this.#answers.give<void>((resolve) => journal.barrier(resolve)),
      over: () => this.#answers.over,
      runTurn: (cause, decide, answered) => runTurn(this.#turnPorts, cause, decide, answered),
      notice,
    };
    this.#commands = new Commands(this.#world);
    this.#ends = new Ends(this.#world);
    this.#standing = new Standing(cells);
    this.#door = new Door(this.#world, {
      clock,
      cancel: (job, reason) => this.#commands.cancel(job, reason, "submitter"),
    });
    this.#calls = new DoerCalls(this.#world, this.#door);
    this.#executions = this.#newExecutions();
    this.#effectPorts = this.#newEffectPorts();
    const routePorts = {
      cells,
      kinship,
      startQueued: (turn: Turn, job: Cell<"job">) => startQueued(this.#world, turn, job),
      runTurn: this.#world.runTurn,
    };
    this.#turnPorts = {
      journal,
      clock,
      redactor,
      cells,
      tell: (turn, cell, effect) => tell(routePorts, turn, cell, effect),
      commit: (moves) => {
        this.#ends.commit(moves);
        return this.#standing.staged(moves);
      },
      fault: (error) => notice({ kind: "fault", where: "a turn put off", job: null, error }),
      release: (effects, mark) => {
        this.#standing.acknowledged(mark as Staged); // What `commit` returned.
        this.#release(effects);
      },
    };
  }

  /**
   * Takes the partition, folds the log, recovers, and is ready.
   * Errors: JournalError when the store is away or the log must not be read on; FencedError when another owner came.
   */
  static async start(options: RuntimeOptions): Promise<Runtime> {
    const { log, clock, ids, owner, durability, prefix } = options;
    // What is wrong with these is found before anybody is fenced for it.
    const given = givenIn(options);
    const fenceSubject = `${prefix}${DISPATCHER_SCOPE}`;
    const cells = new CellStore(fenceSubject);
    const kinship = new Kinship();
    const fold = new BootFold(cells, kinship, prefix);
    let runtime: Runtime | null = null;
    const journal = await Journal.take(
      {
        log,
        clock,
        ids,
        owner,
        durability,
        fenceSubject,
        onEnd: (error) => {
          if (runtime !== null) runtime.#end(error);
        },
        onNotice: (notice) => {
          given.notice(notice);
          if (runtime !== null) runtime.#noticed(notice);
        },
      },
      fold,
    );
    try {
      fold.finish();
      journal.epochs.told(fold.told);
      journal.open(fold.lastMoment);
      runtime = new Runtime(options, journal, cells, kinship, fold, given);
      await runtime.#recover(fold);
      return runtime;
    } catch (error) {
      await journal.close();
      throw error;
    }
  }

  async #recover(fold: BootFold): Promise<void> {
    const { journal, clock, cells, owner, runTurn: turn, notice } = this.#world;
    for (const finding of fold.findings) notice({ kind: "found", finding });
    turn("take", (next) => {
      const closed = [...journal.epochs.toTell];
      const boot = { id: clock.bootId, uptimeMs: Math.round(clock.uptimeMs()) };
      next.apply(cells.dispatcher, {
        type: "dispatcher.taken",
        fence: journal.fencePosition,
        owner,
        boot,
        closed,
      });
      journal.epochs.told(closed);
    });
    const liveJobs = cells.size;
    const interrupted = await reconcile(this.#world);
    turn("recovered", (next) =>
      next.apply(cells.dispatcher, { type: "dispatcher.recovered", liveJobs }),
    );
    resume(this.#world);
    await Promise.all([this.#world.acknowledged(), this.#world.space.look()]);
    notice({ kind: "recovered", liveJobs, interrupted, transitions: fold.transitionCount });
  }

  /**
   * Submits a root. Resolves when the decision is acknowledged, with a handle in every case: a refused submission's is born
   * failed, and its `result()` rejects with the refusal as cause.
   */
  submit<Input extends z.ZodType, Output extends z.ZodType>(
    definition: JobDefinition<Input, Output>,
    input: z.input<Input>,
    options: SubmitOptions = {},
  ): Promise<JobHandle<z.output<Output>>> {
    return this.#door.submit(definition, input, options).then(
      // The definition's schema parsed what the journal keeps.
      ({ handle }) => handle as JobHandle<z.output<Output>>,
    );
  }

  /** Submits a root by the name of its type, and says what was decided: for commands that come as data. */
  submitByType(type: string, input: unknown, options: SubmitOptions = {}): Promise<Submitted> {
    return this.#door.submit(type, input, options);
  }

  /** A handle on a job that is live or has ended; null when there is none. */
  find(job: string): Promise<JobHandle<unknown> | null> {
    return this.#door.find(job);
  }

  cancel(job: string, reason: string, by: string): Promise<CancelAnswer> {
    return this.#commands.cancel(job, reason, by);
  }

  /** A person's word on a job whose last attempt nobody saw end: job, resolution, by, reason, command id. */
  resolve(...said: Parameters<Commands["resolve"]>): Promise<void> {
    return this.#commands.resolve(...said);
  }

  /** The word that a job waits for: job, name, value, by, command id. */
  answer(...said: Parameters<Commands["answer"]>): Promise<void> {
    return this.#commands.answer(...said);
  }

  /** Acknowledged records of a workflow, in order: what its tree, its trajectory and its records are folded from. */
  recordsOf(workflow: string): Promise<readonly ReadRecord[]> {
    return this.#world.history.recordsOf(workflow);
  }

  /** Acknowledged records of one job, in order; empty when there is none. */
  recordsOfJob(job: string): Promise<readonly ReadRecord[]> {
    return this.#world.history.recordsOfJob(job);
  }

  workflowOf(job: string): Promise<string | null> {
    return this.#world.history.workflowOf(job);
  }

  /** Acknowledged records of tasks in a range of positions: what lists of jobs are folded from. */
  readTasks(range: TaskRange): Promise<readonly ReadRecord[]> {
    return this.#world.history.readTasks(range);
  }

  /** The context of the job that the calling code runs in; null outside any (CTX-6). */
  currentJob(): ToolContext | null {
    const context = this.#world.ambient.current();
    return context === null || context.isOver ? null : context;
  }

  health(): Health {
    const { journal, owner, setAside, registry, space } = this.#world;
    return {
      state: this.#standing.state,
      journal: journal.state,
      durability: this.#options.durability,
      owner,
      fence: journal.fencePosition,
      acknowledged: journal.acknowledgedPosition,
      pendingMessages: journal.pendingCount,
      liveJobs: this.#standing.liveJobs,
      runningJobs: this.#executions.runningCount,
      leakedJobs: this.#executions.leakedCount,
      setAside: [...setAside].map(([job, finding]) => ({ job, ...finding })),
      types: registry.types,
      room: space.room,
    };
  }

  /** Asks the store for its room, for the next `health()`. Never rejects; a store that is away leaves it as it was. */
  lookAtRoom(): Promise<void> {
    return this.#world.space.look();
  }

  /** Why the runtime is over by itself, or null. */
  get ended(): HoldfastError | null {
    return this.#ended;
  }

  /**
   * Lets the partition go and settles nothing: what is queued or waiting comes back at the next start, and code that still
   * runs after `waitMs` (default 0) is interrupted, as its class says (CAN-7).
   */
  async detach(options: { readonly waitMs?: number } = {}): Promise<void> {
    if (this.#stopTaking("detach")) await this.#untilIdle(options.waitMs ?? 0);
    await this.#close();
  }

  /**
   * Ends all in-process work: settles what has not started, waits `waitMs` (0: 30 s, the default) for running jobs, cancels
   * and gives up the rest (CAN-4).
   */
  async shutdown(options: { readonly waitMs?: number } = {}): Promise<void> {
    if (this.#stopTaking("shutdown")) {
      this.#applyToAll(["waiting", "queued", "blocked"], () => SHUT_DOWN);
      await this.#untilIdle(options.waitMs || SHUTDOWN_WAIT_MS_DEFAULT);
      this.#applyToAll(["running"], () => SHUT_DOWN);
      await this.#untilIdle(GIVE_UP_WAIT_MS);
      // What ignores its cancel settles for its caller all the same, and is leaked (TO-3).
      this.#applyToAll(["cancelling", "expiring"], ({ now }) => ({
        type: "job.graceEnded",
        attempt: now.context.attempt,
      }));
    }
    await this.#close();
  }

  /** False: there is nothing to stop any more. */
  #stopTaking(mode: "detach" | "shutdown"): boolean {
    const { cells, runTurn: turn, over } = this.#world;
    if (over() !== null) return false;
    turn(mode, (next) => next.apply(cells.dispatcher, { type: "dispatcher.stopping", mode }));
    return true;
  }

  #applyToAll(states: readonly string[], eventFor: (job: Cell<"job">) => JobEvent): void {
    const { cells, runTurn: turn, over } = this.#world;
    if (over() !== null) return;
    const jobs = [...cells.tasks()].flatMap(({ job }) =>
      states.includes(job.now.value) ? [job] : [],
    );
    for (const job of jobs) turn("shutdown", (next) => next.apply(job, eventFor(job)));
  }

  /** Starts that are staged and not yet acknowledged become attempts that run: only then are they all counted. */
  #startedWithin(waitMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = wakeAfter(this.#world.clock, waitMs, resolve);
      const done = () => {
        timer.cancel();
        resolve();
      };
      this.#world.acknowledged().then(done, done);
    });
  }

  async #untilIdle(waitMs: number): Promise<void> {
    if (waitMs === 0 || this.#ended !== null) return;
    await this.#startedWithin(waitMs);
    if (this.#executions.runningCount === 0 || this.#ended !== null) return;
    await new Promise<void>((resolve) => {
      const timer = wakeAfter(this.#world.clock, waitMs, resolve);
      this.#idle.push(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  async #close(): Promise<void> {
    const { timers, journal, clock, owner } = this.#world;
    timers.stop();
    // A store that is away cannot be waited for: what is not acknowledged then is not promised to anybody.
    await new Promise<void>((resolve) => {
      const bound = clock.wakeIn(DRAIN_WAIT_MS, resolve);
      void journal.drained().then(() => {
        bound.cancel();
        resolve();
      });
    });
    await journal.close();
    this.#letGo(
      new IllegalStateError(
        "The runtime has stopped; what had not ended goes on under the next owner.",
        { details: { owner } },
      ),
    );
  }

  /** The journal's word: it is over. */
  #end(error: HoldfastError): void {
    this.#ended = error;
    const { timers, notice } = this.#world;
    timers.stop();
    if (error.code === "fenced") this.#standing.fenced(error);
    this.#letGo(error);
    this.#wakeIdle();
    notice({ kind: "ended", error });
  }

  /** Nothing is acknowledged here any more: code that runs is told to stop, and whoever waits is told why. */
  #letGo(error: HoldfastError): void {
    this.#answers.end(error);
    this.#executions.stop(error.message);
    for (const handle of this.#world.handles.values()) handle.abandon(error);
    this.#world.handles.clear();
  }

  /** The journal fenced again: readers of single subjects have to be told up to where the epoch before is valid. */
  #noticed(notice: JournalNotice): void {
    if (notice.kind !== "resynced") return;
    const { cells, journal, runTurn: turn } = this.#world;
    turn("resync", (next) => {
      const closed = [...journal.epochs.toTell];
      next.apply(cells.dispatcher, {
        type: "dispatcher.resynced",
        fence: notice.fencePosition,
        closed,
      });
      journal.epochs.told(closed);
    });
  }

  #release(effects: readonly ReleasedEffect[]): void {
    for (const effect of effects) {
      try {
        runEffect(this.#effectPorts, effect);
      } catch (error) {
        this.#world.notice({ kind: "fault", where: effect.type, job: effect.cell.id, error });
      }
    }
  }

  #newExecutions(): Executions {
    const { registry, ambient, journal, kinship, notice } = this.#world;
    return new Executions({
      registry,
      ambient,
      doer: this.#calls,
      now: () => journal.now(),
      outcomeOf: (dependency, dependent) => this.#ends.outcomeOf(dependency, dependent),
      ended: (job, attempt, end) => {
        this.#commands.attemptEnded(job, attempt, end);
        this.#ends.returned(job);
        if (this.#executions.runningCount === 0) this.#wakeIdle();
      },
      complain: (job, error) => notice({ kind: "fault", where: "a callback of a job", job, error }),
      unaskedKeys: (job, asked) => {
        const children = kinship.family(job)?.children;
        return children === undefined ? [] : [...children.keys()].filter((key) => !asked.has(key));
      },
    });
  }

  #newEffectPorts(): EffectPorts {
    return {
      start: (job) => this.#executions.start(job),
      armTimer: (job, timer, dueAt) => this.#world.timers.arm(job, timer, dueAt),
      signal: (job, reason, isTimeout) => {
        this.#executions.signal(job.id, reason, isTimeout);
        this.#ends.cancelChildren(job.id, `its parent ${job.id} ends: ${reason}`);
      },
      answer: (job, name, value) => this.#calls.answered(job, name, value as Json), // The chart's event carries JSON.
      settle: (job) => {
        this.#executions.giveUp(job.id);
        if (this.#executions.runningCount === 0) this.#wakeIdle();
        this.#calls.forget(job.id);
        this.#ends.settle(job);
      },
    };
  }

  #wakeIdle(): void {
    for (const wake of this.#idle.splice(0)) wake();
  }
}

/** How long a stop waits for the log to acknowledge what is staged, ms. */
const DRAIN_WAIT_MS = 10_000;

const SHUT_DOWN: JobEvent = {
  type: "job.cancelRequested",
  reason: "the runtime shuts down",
  by: "runtime",
};

/** After a shutdown's wait: how long cancelled jobs get to return before they are left behind, ms. */
const GIVE_UP_WAIT_MS = 5_000;
