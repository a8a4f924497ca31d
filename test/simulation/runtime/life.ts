/**
 * One life: a runtime on the simulated log, from its start to its end, with everything that is asked of it.
 *
 * Owns: calls and what their answers rest on, and how it ends. Does not own: what befalls it (run.ts), the code of its jobs
 * (workshop.ts).
 */
import type { ToolContext } from "../../../actors/attempt/context.ts";
import type { DoerContext } from "../../../actors/attempt/doer-context.ts";
import type { HoldfastError } from "../../../actors/errors.ts";
import type { Resolution } from "../../../actors/jobs/commands.ts";
import type { JobHandle } from "../../../actors/jobs/handle.ts";
import type { Log } from "../../../actors/journal/log.ts";
import { Runtime, worldOf } from "../../../actors/runtime/runtime.ts";
import type { Notice, World } from "../../../actors/runtime/world.ts";
import { SimulatedClock } from "../../../infra/simulated/clock.ts";
import { SimulatedIds } from "../../../infra/simulated/ids.ts";
import { SimulatedLog } from "../../../infra/simulated/log.ts";
import type { Random } from "../../../infra/simulated/random.ts";
import type { SimulatedStore } from "../../../infra/simulated/store.ts";
import { jobAmbient } from "../../../infra/system/ambient.ts";
import type { Json } from "../../../machines/json.ts";
import { assertLiveIsFold } from "../../support/fold.ts";
import { PREFIX } from "../../support/runtime.ts";
import type { Book } from "./book.ts";
import type { DoerType, RootPlan, ToolType } from "./plans.ts";
import { type SentGroups, type Tapped, tapped } from "./tap.ts";
import { definitionsAt, type Site } from "./workshop.ts";

/** `ended`: by itself: fenced, failed at its start, or told that the log lost something. */
export type Phase = "starting" | "open" | "stopping" | "ended" | "killed" | "closed";

/** Faults planted by a test. */
export interface Plant {
  /** Puts something between the runtime and its log. */
  readonly log?: (log: Log) => Log;
  /** Changes a runtime that has started. */
  readonly runtime?: (runtime: Runtime) => void;
}

export interface LifeOptions {
  readonly name: string;
  readonly store: SimulatedStore;
  readonly random: Random;
  readonly book: Book;
  readonly groups: SentGroups;
  readonly durability: "fsync" | "process";
  /** A type that this life does not know. */
  readonly lacks: ToolType | DoerType | null;
  readonly plant: Plant;
}

/** What a door may refuse with; anything else is a defect. */
const REFUSALS = ["conflict", "illegal_state", "not_found", "journal", "job_cancelled"];

const codeOf = (error: unknown): string => (error as HoldfastError).code ?? String(error); // Whatever was thrown.

export class Life implements Site {
  readonly name: string;
  readonly clock: SimulatedClock;
  readonly isComplete: boolean;
  readonly tap: Tapped;
  readonly notices: Notice[] = [];
  /** What it ended by, or its start failed with. */
  readonly ends: unknown[] = [];
  /** A power cut took what it had been told is in the log: it must end. */
  hasLost = false;
  foldCount = 0;
  readonly #options: LifeOptions;
  readonly #calls = new Map<number, string>();
  #callCount = 0;
  #nonceCount = 0;
  #phase: Phase = "starting";
  #runtime: Runtime | null = null;

  constructor(options: LifeOptions) {
    const { name, store, groups, random, plant } = options;
    this.#options = options;
    this.name = name;
    this.isComplete = options.lacks === null;
    this.clock = new SimulatedClock(store.machine);
    const log = new SimulatedLog(store, this.clock);
    this.tap = tapped(plant.log?.(log) ?? log, groups);
    void this.#start(new SimulatedIds(random.fork(name), this.clock));
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** Whether it may still do something. */
  get isAlive(): boolean {
    return this.#phase === "starting" || this.#phase === "open" || this.#phase === "stopping";
  }

  get isOver(): boolean {
    return this.#phase === "ended" || this.#phase === "killed" || this.#phase === "closed";
  }

  get isCurrent(): boolean {
    return this.world?.journal.fencePosition === this.#options.book.facts.fence;
  }

  /** Null before it has started. */
  get runtime(): Runtime | null {
    return this.#runtime;
  }

  /** Its parts; null before it has started. */
  get world(): World | null {
    return this.#runtime === null ? null : worldOf(this.#runtime);
  }

  /** Calls that are not answered. */
  get openCalls(): readonly string[] {
    return [...this.#calls.values()];
  }

  async #start(ids: SimulatedIds): Promise<void> {
    const { name, durability, lacks, plant, book } = this.#options;
    const all = Object.values(definitionsAt(this));
    try {
      const runtime = await this.#called(
        "start",
        Runtime.start({
          log: this.tap.log,
          clock: this.clock,
          ids,
          ambient: jobAmbient,
          definitions: all.filter(({ type }) => type !== lacks),
          prefix: PREFIX,
          owner: name,
          durability,
          onNotice: (notice) => this.#noticed(notice),
        }),
      );
      this.#runtime = runtime;
      plant.runtime?.(runtime);
      if (this.#phase === "starting") this.#phase = "open";
      const { setAside } = worldOf(runtime);
      book.check("fold-is-live", setAside.size === 0, () => {
        return `${name} has set aside ${[...setAside.keys()]}`;
      });
      if (this.#phase === "ended") this.#letGo();
    } catch (error) {
      if (this.#phase === "killed") return;
      if (this.#phase !== "ended") this.ends.push(error);
      this.#phase = "ended";
    }
  }

  #noticed(notice: Notice): void {
    if (this.#phase === "killed") return;
    const { book } = this.#options;
    this.notices.push(notice);
    if (notice.kind === "ended") {
      this.ends.push(notice.error);
      const wasStopping = this.#phase === "stopping";
      this.#phase = "ended";
      if (this.#runtime !== null && !wasStopping) this.#letGo();
    }
    const isDefect =
      (notice.kind === "fault" && notice.where !== "looking for a dependency's end") ||
      (notice.kind === "found" && notice.finding.kind !== "void");
    book.check("no-defect", !isDefect, () => `${this.name}: ${describe(notice)}`);
  }

  /** What a daemon does whose runtime has ended. */
  #letGo(): void {
    if (this.#runtime !== null) void this.#called("let go", this.#runtime.detach());
  }

  /** Notes a call until it is answered. */
  async #called<Answer>(what: string, promise: Promise<Answer>): Promise<Answer> {
    this.#callCount += 1;
    const number = this.#callCount;
    this.#calls.set(number, what);
    try {
      return await promise;
    } finally {
      this.#calls.delete(number);
    }
  }

  kill(): void {
    this.#phase = "killed";
    this.clock.kill();
    void this.tap.log.close(); // Its sockets go with it.
  }

  /** `exits`: its process ends with it; else its code may run on, as in a service that embeds it. */
  async stop(how: "detach" | "shutdown", waitMs: number, exits: boolean): Promise<void> {
    const runtime = this.#runtime;
    if (runtime === null || this.#phase !== "open") return;
    this.#phase = "stopping";
    await this.#called(how, runtime[how]({ waitMs }));
    const { phase } = this; // It may have changed meanwhile.
    if (phase === "killed") return;
    if (phase === "stopping") {
      this.#phase = "closed";
      if (how === "shutdown") this.#checkShutDown(runtime);
    }
    this.#checkStopped(runtime);
    if (exits) this.clock.kill();
  }

  #checkShutDown(runtime: Runtime): void {
    const { cells, journal } = worldOf(runtime);
    if (journal.pendingCount > 0) return; // The log was away.
    const left = [...cells.tasks()].flatMap(({ job: { id, now } }) =>
      now.value === "interrupted" || (now.value === "queued" && now.context.attempt > 0)
        ? []
        : [`${id} ${now.value}`],
    );
    this.#options.book.check("settles", left.length === 0, () => {
      return `${this.name} has shut down and leaves ${left}`;
    });
  }

  #checkStopped(runtime: Runtime): void {
    const { timers, handles } = worldOf(runtime);
    this.#options.book.check("nothing-hangs", timers.size === 0 && handles.size === 0, () => {
      return `${this.name} has stopped and holds ${timers.size} timers, ${handles.size} handles`;
    });
  }

  submit({ job, id, after, toleratesFailures, timeoutMs }: RootPlan): void {
    const runtime = this.#runtime;
    if (runtime === null) return;
    const { book } = this.#options;
    const options = {
      after,
      toleratesFailures,
      timeoutMs,
      ...(id === null ? {} : { id }),
    };
    const asked = `submit ${id ?? job.type}`;
    this.#called(asked, runtime.submitByType(job.type, job.input, options)).then(
      ({ decision, handle, refusal }) => {
        if (refusal !== null) return this.#refused(asked, refusal);
        book.answered(handle.id, book.facts.job(handle.id).has("job.submitted"), decision);
        // The owner's end is looked at there.
        this.outcome(handle).catch(() => null);
      },
      (error) => this.#rejected(asked, error),
    );
  }

  #refused(asked: string, refusal: HoldfastError): void {
    this.#options.book.check("no-defect", REFUSALS.includes(refusal.code), () => {
      return `${this.name}: ${asked} is refused with ${refusal.code}: ${refusal.message}`;
    });
  }

  /** Only the end of its owner rejects a call that is well formed. */
  #rejected(asked: string, error: unknown): void {
    const isOver = this.isOver || this.#phase === "stopping";
    this.#options.book.check("no-defect", isOver || codeOf(error) === "journal", () => {
      return `${this.name}: ${asked} rejects with ${String(error)}`;
    });
  }

  cancel(job: string): void {
    const runtime = this.#runtime;
    if (runtime === null) return;
    const { book } = this.#options;
    const { isCurrent } = this;
    this.#called(`cancel ${job}`, runtime.cancel(job, "no longer needed", "ada")).then(
      ({ decision, isCancelled }) => {
        const facts = book.facts.job(job);
        const holds = {
          cancelled: facts.has("job.cancelRequested"),
          cancelling: facts.has(isCancelled ? "job.cancelRequested" : "job.timeoutReached"),
          ended: facts.end !== null,
          not_found: facts.end !== null || facts.moves.length === 0 || !this.isCurrent,
        }[decision];
        book.answered(job, holds || !isCurrent, `cancel answers ${decision}`);
      },
      (error) => this.#rejected("cancel", error),
    );
  }

  resolve(job: string, resolution: Resolution): void {
    const runtime = this.#runtime;
    if (runtime === null) return;
    const { book } = this.#options;
    if (resolution.kind === "retry") book.ordered(job);
    this.#called(`resolve ${job}`, runtime.resolve(job, resolution, "ada", "seen")).then(
      () => {
        const facts = book.facts.job(job);
        if (resolution.kind === "known") return book.answered(job, facts.end !== null, "known");
        const event = {
          retry: "job.rerunScheduled",
          completed: "job.resolvedCompleted",
          failed: "job.resolvedFailed",
        }[resolution.kind];
        book.answered(job, facts.has(event), `resolved as ${resolution.kind}`);
      },
      (error) => this.#unresolved(job, error),
    );
  }

  #unresolved(job: string, error: HoldfastError): void {
    const state = error.details?.["state"];
    // It ended otherwise meanwhile, or nobody waits for it any more.
    const isRefusal = error.code === "illegal_state" || error.code === "not_found";
    if (!isRefusal && error.code !== "retry_refused") return this.#rejected("resolve", error);
    const { book } = this.#options;
    if (typeof state === "string")
      book.answered(job, book.facts.job(job).wasIn(state), `resolve says ${state}`);
  }

  answer(job: string, name: string, value: Json): void {
    const runtime = this.#runtime;
    if (runtime === null) return;
    const { book } = this.#options;
    this.#called(`answer ${job}`, runtime.answer(job, name, value, "ada")).then(
      () => {
        const holds = book.facts.job(job).has("job.answered", { name, value });
        book.answered(job, holds, `answered ${name}`);
      },
      (error) => {
        if (!["not_found", "conflict"].includes(codeOf(error))) this.#rejected("answer", error);
      },
    );
  }

  find(job: string): void {
    const runtime = this.#runtime;
    if (runtime === null) return;
    const { book } = this.#options;
    const wasThere = book.facts.job(job).moves.length > 0 && this.isCurrent;
    this.#called(`find ${job}`, runtime.find(job)).then(
      (handle) => {
        const isThere = book.facts.job(job).moves.length > 0;
        const holds = handle === null ? !wasThere || !this.isCurrent : isThere;
        book.answered(job, holds, handle === null ? "nothing is found" : "a handle");
        // The owner's end is looked at there.
        if (handle !== null) this.outcome(handle).catch(() => null);
      },
      (error) => this.#rejected("find", error),
    );
  }

  /** Asks for the records of a job, or of its workflow: all that were acknowledged when it was asked, and nothing void. */
  look(job: string, isWhole: boolean): void {
    const runtime = this.#runtime;
    if (runtime === null) return;
    const { book } = this.#options;
    const { workflow } = book.facts.job(job).spec ?? {};
    if (workflow === undefined) return;
    const through = worldOf(runtime).journal.acknowledgedPosition;
    const before = book.facts
      .positionsOf(workflow, isWhole ? null : job)
      .filter((position) => book.facts.groupEndOf(position) <= through);
    const records = isWhole ? runtime.recordsOf(workflow) : runtime.recordsOfJob(job);
    this.#called(`records of ${job}`, records).then(
      (read) => {
        const positions = read.map(({ position }) => position);
        const valid = new Set(book.facts.positionsOf(workflow, isWhole ? null : job));
        const due = before.filter((position) => valid.has(position));
        // A fenced owner that does not know it yet may read as its own what is void already.
        const isSound = !this.isCurrent || positions.every((position) => valid.has(position));
        const holds = this.hasLost || (isSound && due.every((each) => positions.includes(each)));
        book.check("readers-agree", holds, () => {
          return `${this.name} reads of ${isWhole ? workflow : job} ${positions}; due are ${due}, valid ${[...valid]}`;
        });
      },
      (error) => this.#rejected("a look at records", error),
    );
  }

  /** Compares memory with a fold of the log, when nothing is under way. */
  checkFold(): void {
    const { book, store } = this.#options;
    if (this.#phase !== "open" || this.#runtime === null || this.hasLost) return;
    const { journal } = worldOf(this.#runtime);
    if (journal.state !== "open" || journal.pendingCount > 0 || !this.isCurrent) return;
    this.foldCount += 1;
    try {
      assertLiveIsFold(this.#runtime, store.messages);
    } catch (error) {
      book.check("fold-is-live", false, () => `${this.name}: ${String(error)}`);
    }
  }

  // What the code of its jobs says.

  began(context: ToolContext): void {
    this.#options.book.began(context, this);
  }

  stepBegan(context: DoerContext, key: string): void {
    this.#options.book.stepBegan(context.id, key, this);
  }

  pause(ms: number): Promise<void> {
    return new Promise((resolve) => void this.clock.wakeIn(ms, resolve));
  }

  nonce(): string {
    this.#nonceCount += 1;
    return `${this.name}.${this.#nonceCount}`;
  }

  given({ id }: DoerContext, event: string, fields: Readonly<Record<string, Json>>): void {
    const { book } = this.#options;
    book.answered(id, book.facts.job(id).has(event, fields), `its code is given ${event}`);
  }

  /** A child's refusal is a handle born failed: of such a job the log has nothing. */
  submitted({ id, settlement }: JobHandle<unknown>): void {
    const { book } = this.#options;
    const isRefused = settlement?.kind === "failed" && book.facts.job(id).end === null;
    if (isRefused) return;
    book.answered(id, book.facts.job(id).has("job.submitted"), "a child");
  }

  async outcome(handle: JobHandle<unknown>): Promise<Json> {
    const { book } = this.#options;
    const isBornFailed = handle.settlement?.kind === "failed";
    try {
      const result = await this.#called(`result ${handle.id}`, handle.result());
      book.ended(handle.id, { result });
      return { result: result as Json }; // It is a job's result.
    } catch (error) {
      const { code, details } = error as HoldfastError; // A handle rejects with nothing else.
      if (code !== "job_failed") {
        this.#rejected(`the result of ${handle.id}`, error);
        throw error;
      }
      const failure = String(details["code"]);
      const isRefusal = isBornFailed && book.facts.job(handle.id).end === null;
      if (isRefusal) this.#refused(`child ${handle.id}`, (error as HoldfastError).cause as never);
      else book.ended(handle.id, { code: failure });
      return { failed: failure };
    }
  }
}

function describe(notice: Notice): string {
  if (notice.kind === "fault") {
    const { error, where, job } = notice;
    return `a fault in ${where} of ${job}: ${error instanceof Error ? error.stack : String(error)}`;
  }
  return JSON.stringify(notice);
}
