/**
 * One job of a real runtime, driven along a path of its chart.
 *
 * Owns: doing in the world what makes each event happen (code that returns, a command, time that passes); what only an owner
 * decides (a start, a block, an interruption) is decided by a turn of the same runtime. Does not own: which path.
 *
 * The line is closed while a path is driven (the dispatcher stops), so that a queued job stands still until the path moves it.
 */
import assert from "node:assert/strict";
import type { JobDefinition } from "../../../actors/attempt/definition.ts";
import { SystemError } from "../../../actors/errors.ts";
import type { StoredMessage } from "../../../actors/journal/log.ts";
import { taskScope } from "../../../actors/journal/subjects.ts";
import { worldOf } from "../../../actors/runtime/runtime.ts";
import { newTaskCells } from "../../../actors/turn/cell.ts";
import type { ActorState } from "../../../machines/engine/chart.ts";
import { type JobContext, jobChart } from "../../../machines/job/chart.ts";
import type { JobEvent } from "../../../machines/job/events.ts";
import type { JobSpec } from "../../../machines/job/spec.ts";
import { DEPENDENCIES, FAILURE, specOf } from "../chart-events.ts";
import { assertLiveIsFold } from "../fold.ts";
import { PREFIX, TestRuntime } from "../runtime.ts";
import { Workshop } from "../workshop.ts";

const ID = "j";

/** A runtime that is driven, whatever its log: the one in memory, or one on a real server (driven/jetstream-runtime.ts). */
export type DrivenRuntime = Pick<
  TestRuntime,
  "runtime" | "history" | "advance" | "settle" | "faults"
> & {
  readonly log: { readonly messages: readonly StoredMessage[] };
  /** The process dies, and another one takes its log. */
  restart(options: { readonly definitions: readonly JobDefinition[] }): Promise<unknown>;
};

export type StartDriven = (definitions: readonly JobDefinition[]) => Promise<DrivenRuntime>;

export class DrivenJob {
  readonly shop = new Workshop();
  readonly test: DrivenRuntime;
  /** Logs folded and compared with what was live, restarts included. */
  folds = 0;

  private constructor(test: DrivenRuntime, shop: Workshop) {
    this.test = test;
    this.shop = shop;
  }

  static spec(retryClass: JobSpec["retryClass"]): JobSpec {
    return specOf(ID, { type: "safe", input: { label: ID }, retryClass, retryBudget: 1 });
  }

  /** `start`: default, in memory. */
  static async begin(
    start: StartDriven = (definitions) => TestRuntime.start({ definitions }),
  ): Promise<DrivenJob> {
    const shop = new Workshop();
    const driven = new DrivenJob(await start(shop.all), shop);
    const { runtime } = driven.test;
    for (const { id } of DEPENDENCIES)
      await (await runtime.submit(shop.quick, { label: id }, { id })).result();
    await driven.closeLine();
    return driven;
  }

  /** Null: not there yet, or not any more. */
  get state(): ActorState<JobContext> | null {
    return worldOf(this.test.runtime).cells.task(ID)?.job.now ?? null;
  }

  /** How often its code began to run. */
  get runs(): number {
    return this.shop.runs(ID);
  }

  get history(): readonly string[] {
    return this.test.history(ID);
  }

  async closeLine(): Promise<void> {
    const { cells, runTurn } = worldOf(this.test.runtime);
    runTurn("model", (turn) =>
      turn.apply(cells.dispatcher, { type: "dispatcher.stopping", mode: "detach" }),
    );
    await this.test.settle();
  }

  /** Makes it happen, and waits until it is acknowledged. */
  async perform(event: JobEvent): Promise<void> {
    await this.#cause(event);
    await this.test.settle();
    this.compare();
  }

  /** Folds the log and compares (ES-2). */
  compare(): void {
    assertLiveIsFold(this.test.runtime, this.test.log.messages);
    this.folds += 1;
  }

  /** The process dies; another one folds the log and recovers. */
  async crash(options: { readonly isTypeAway?: boolean } = {}): Promise<void> {
    await this.test.restart({ definitions: options.isTypeAway === true ? [] : this.shop.all });
    this.folds += 1;
    this.compare();
  }

  /** Ends the job, wherever it stands, and looks that nothing moves it afterwards. */
  async end(): Promise<void> {
    for (let moves = 0; moves < 5 && this.state !== null; moves += 1) {
      const { value } = this.state;
      if (value === "waiting" || value === "blocked")
        await this.test.runtime.cancel(ID, "end", "ada");
      else if (value === "interrupted")
        await this.test.runtime.resolve(ID, { kind: "completed", result: null }, "ada", "end");
      else this.shop.end(ID);
      await this.test.settle();
      this.compare();
    }
    assert.equal(this.state, null, "it ends");
    const { history, runs } = this;
    await this.crash();
    assert.deepEqual([this.history, this.runs], [history, runs], "nothing leaves an end");
  }

  async #cause(event: JobEvent): Promise<void> {
    const { runtime } = this.test;
    switch (event.type) {
      case "job.submitted":
        return this.#submit(event.spec);
      case "job.completed":
        return this.shop.end(ID, event.result);
      case "job.failed":
        return this.shop.fail(ID, new SystemError(FAILURE.message));
      case "job.cancelRequested":
        assert.equal((await runtime.cancel(ID, event.reason, event.by)).isCancelled, true);
        return;
      case "job.answered":
        return runtime.answer(ID, event.name, event.value, event.by);
      case "job.resolvedCompleted": {
        const resolution = { kind: "completed", result: event.result } as const;
        return runtime.resolve(ID, resolution, event.by, event.reason);
      }
      case "job.resolvedFailed":
        return runtime.resolve(ID, { kind: "failed", message: "no" }, event.by, event.reason);
      case "job.timeoutReached":
        return this.#passTime(Math.max(0, (this.state?.context.timeoutAt ?? 0) - this.#now()));
      case "job.graceEnded":
        await this.#passTime(500);
        // Without a timeout before it, it is a shutdown that gives up.
        return this.state === null ? undefined : this.#decide(event);
      default:
        return this.#decide(event);
    }
  }

  /** As the door does it; the door itself takes nothing while the line is closed. */
  #submit(spec: JobSpec): void {
    const { runTurn } = worldOf(this.test.runtime);
    runTurn("model", (turn) => {
      const cells = newTaskCells(ID, ID, `${PREFIX}${taskScope(ID, ID)}`);
      turn.create(cells);
      assert.ok(turn.apply(cells.job, { type: "job.submitted", spec }));
    });
  }

  #decide(event: JobEvent): void {
    const { cells, runTurn } = worldOf(this.test.runtime);
    const job = cells.task(ID)?.job;
    assert.ok(job !== undefined, "the job is live");
    assert.ok(
      runTurn("model", (turn) => turn.apply(job, event)),
      `${event.type} is taken`,
    );
  }

  #now(): number {
    return worldOf(this.test.runtime).journal.now();
  }

  async #passTime(ms: number): Promise<void> {
    await this.test.advance(ms);
  }
}

/** The event as it fits the attempt that the job is at by now. */
export function fitted(event: JobEvent, { context }: ActorState<JobContext>): JobEvent {
  if (!("attempt" in event)) return event;
  const isNext = event.type === "job.started" || event.type === "job.rerunScheduled";
  return { ...event, attempt: context.attempt + (isNext ? 1 : 0) };
}

/**
 * What recovery makes of a job: where it stands then, by its class. `null`: not in memory.
 * The job's type is known, its retry budget is one, and its dependencies have ended.
 */
export function recoveredValue(
  state: ActorState<JobContext> | null,
  retryClass: JobSpec["retryClass"],
): string | null {
  if (state === null) return null;
  const { value } = state;
  switch (value) {
    case "waiting": // What it waits for has ended: it is told now.
    case "queued":
    case "blocked":
      return "running";
    case "running":
    case "interrupted":
      if (retryClass !== "safe_to_retry") return "interrupted";
      return state.context.attempt > 1 ? null : "running";
    default:
      assert.ok(
        value === "cancelling" || value === "expiring" || jobChart.engine.isFinal(value),
        value,
      );
      return null;
  }
}
