/**
 * Every pair of job and liveness state that the two charts produce together: found by trying every event in every situation
 * that can be reached, through the real turn and its routes, and read from the record as a reader sees it.
 */
import { beforeAll, describe, expect, it } from "vitest";
import type { ReadRecord } from "../../../actors/journal/reader.ts";
import type { TaskCells } from "../../../actors/turn/cell.ts";
import { InvariantError } from "../../../machines/invariant.ts";
import type { JobEvent } from "../../../machines/job/events.ts";
import { type JobState, jobStateOf } from "../../../machines/job/state.ts";
import { LIVENESS_STATES, type LivenessState } from "../../../machines/liveness/chart.ts";
import type { LivenessEvent } from "../../../machines/liveness/events.ts";
import { applyRecord, emptyRecord } from "../../../projections/execution-record/fold.ts";
import type { ExecutionRecord } from "../../../projections/execution-record/schema.ts";
import { doStatesAgree, JOB_STATES, LIVENESS_OF_JOB } from "../../../projections/public-states.ts";
import { TurnWorld, WORKFLOW } from "./turn-world.ts";

/** What the charts produce together today. A new state of either one is added here, by a person who has looked at it. */
const PAIRS: Readonly<Record<JobState, readonly LivenessState[]>> = {
  SCHEDULED: ["queued"],
  QUEUED: ["queued"],
  RUNNING: [
    "running",
    "quiet",
    "stale_suspected",
    "diagnosing",
    "external_wait",
    "observer_unknown",
  ],
  IDLE: [
    "running",
    "quiet",
    "stale_suspected",
    "diagnosing",
    "blocked",
    "retrying",
    "observer_unknown",
  ],
  CANCELLING: ["cancelling"],
  COMPLETED: ["completed"],
  FAILED: ["failed"],
  CANCELLED: ["cancelled"],
  TIMED_OUT: ["failed"],
};

const failure = { code: "system", message: "broken", retry: "never" } as const;

const jobEvents = (attempt: number): readonly JobEvent[] => [
  { type: "job.dependencySettled", dependency: "first", outcome: "completed" },
  { type: "job.dependencyFailed", dependency: "first", failure },
  { type: "job.started", attempt: attempt + 1, timeoutAt: null },
  { type: "job.stepRecorded", key: "fetch", value: 1 },
  { type: "job.waitDeclared", name: "go", kind: "approval", reason: "may it?" },
  { type: "job.answered", name: "go", value: true, by: "ada" },
  { type: "job.completed", attempt, result: 1 },
  { type: "job.failed", attempt, failure },
  { type: "job.cancelRequested", reason: "enough", by: "ada" },
  { type: "job.timeoutReached", attempt, graceUntil: 9_000 },
  { type: "job.graceEnded", attempt },
  { type: "job.interrupted", attempt, isSideEffectUnknown: true },
  { type: "job.rerunScheduled", attempt: attempt + 1, reason: "ada looked" },
  { type: "job.attemptsExhausted", failure },
  { type: "job.blocked", reason: "nothing here knows it" },
  { type: "job.unblocked" },
  { type: "job.resolvedCompleted", result: 1, by: "ada", reason: "it is there" },
  { type: "job.resolvedFailed", failure, by: "ada", reason: "it is not there" },
];

/** What an observer says by itself; the rest of the liveness events follow from the job's moves. */
const OBSERVED: readonly LivenessEvent[] = [
  { type: "liveness.quietNoticed" },
  { type: "liveness.progressSeen" },
  { type: "liveness.staleSuspected" },
  { type: "liveness.diagnosisStarted" },
  { type: "liveness.foundAlive", isQuiet: false },
  { type: "liveness.foundAlive", isQuiet: true },
  { type: "liveness.foundInconclusive", sideEffect: "unknown" },
];

/** Attempts tried; more of them bring no new situation. */
const ATTEMPTS_MAX = 2;

interface Situation {
  readonly job: TaskCells["job"]["state"];
  readonly liveness: TaskCells["liveness"]["state"];
  readonly record: ExecutionRecord;
}

class Search {
  readonly situations: Situation[] = [];
  readonly #seen = new Set<string>();
  readonly #world = new TurnWorld();

  run(): void {
    this.#world.submit({ id: "job" });
    this.#arrive(this.#world.records, emptyRecord({ taskId: "job", workflow: WORKFLOW }));
    const waiting = new TurnWorld();
    waiting.submit({ id: "job", dependencies: [{ id: "first", workflow: WORKFLOW }] });
    this.#put(waiting.task("job"));
    this.#arrive(waiting.records, emptyRecord({ taskId: "job", workflow: WORKFLOW }));
    // The list grows while it is walked.
    for (const situation of this.situations) this.#tryAll(situation);
  }

  #tryAll(situation: Situation): void {
    const { attempt } = this.#jobContext(situation);
    for (const event of jobEvents(attempt)) {
      this.#try(situation, () => this.#world.job("job", event));
    }
    for (const event of OBSERVED) this.#try(situation, () => this.#world.observe("job", event));
  }

  #jobContext({ job, liveness }: Situation): { readonly attempt: number } {
    this.#put({ job: { state: job }, liveness: { state: liveness } });
    return this.#world.task("job").job.now.context;
  }

  #try(situation: Situation, move: () => boolean): void {
    this.#put({ job: { state: situation.job }, liveness: { state: situation.liveness } });
    const before = this.#world.records.length;
    try {
      if (!move()) return;
    } catch (error) {
      // One chart refused to follow the other: the turn is discarded whole, so nothing can be seen of it.
      if (error instanceof InvariantError) return;
      throw error;
    }
    this.#arrive(this.#world.records.slice(before), situation.record);
  }

  #put(states: {
    job: { state: Situation["job"] };
    liveness: { state: Situation["liveness"] };
  }): void {
    const { job, liveness } = this.#world.task("job");
    job.state = states.job.state;
    liveness.state = states.liveness.state;
  }

  #arrive(told: readonly ReadRecord[], before: ExecutionRecord): void {
    const { job, liveness } = this.#world.task("job");
    const { attempt, awaited, waitingFor, pending } = job.now.context;
    if (attempt > ATTEMPTS_MAX) return;
    const situation = [job.now.value, attempt, awaited, waitingFor, pending, liveness.now.value];
    const key = JSON.stringify([...situation, liveness.now.context.attempt]);
    if (this.#seen.has(key)) return;
    this.#seen.add(key);
    const record = told.reduce(applyRecord, before);
    this.situations.push({ job: job.state, liveness: liveness.state, record });
  }
}

describe("the states that the charts produce together", () => {
  const search = new Search();
  beforeAll(() => search.run());

  it("[STA-8] are exactly those of the table", () => {
    const found = Object.fromEntries(JOB_STATES.map((state) => [state, new Set<string>()]));
    for (const { record } of search.situations) found[record.job.state]?.add(record.liveness.state);
    const inOrder = (states: Iterable<string>) =>
      LIVENESS_STATES.filter((state) => new Set(states).has(state));
    for (const state of JOB_STATES) {
      expect([state, inOrder(found[state] ?? [])]).toEqual([state, inOrder(PAIRS[state])]);
    }
  });

  it("[STA-8] are shown as the charts have them", () => {
    expect(search.situations.length).toBeGreaterThan(50);
    for (const { job, liveness, record } of search.situations) {
      expect(record.job.value).toBe(job.value);
      expect(record.job.state).toBe(jobStateOf(job.value, record.attempt));
      expect(record.liveness.state).toBe(liveness.value);
    }
  });

  it("[STA-8] never disagree by the published mapping", () => {
    const disagreeing = search.situations
      .map(({ record }) => [record.job.state, record.liveness.state] as const)
      .filter(([job, liveness]) => !doStatesAgree(job, liveness));
    expect(disagreeing).toEqual([]);
  });
});

it("[STA-8] the mapping sends queued to queued, ends to their ends, and the rest to the live states", () => {
  const live = LIVENESS_OF_JOB.RUNNING;
  expect(LIVENESS_OF_JOB).toEqual({
    SCHEDULED: ["queued"],
    QUEUED: ["queued"],
    RUNNING: live,
    IDLE: live,
    CANCELLING: ["cancelling"],
    COMPLETED: ["completed"],
    FAILED: ["failed"],
    CANCELLED: ["cancelled"],
    TIMED_OUT: ["failed"],
  });
  expect(live).toEqual([
    "running",
    "quiet",
    "stale_suspected",
    "diagnosing",
    "external_wait",
    "blocked",
    "retrying",
    "observer_unknown",
  ]);
});

it("[STA-8] a timeout is shown as failed, and its reason says that it was one", () => {
  const world = new TurnWorld();
  world.submit({ id: "job" });
  world.start("job");
  world.job("job", { type: "job.timeoutReached", attempt: 1, graceUntil: 9_000 });
  world.job("job", { type: "job.graceEnded", attempt: 1 });
  const empty = emptyRecord({ taskId: "job", workflow: WORKFLOW });
  const { job, liveness } = world.records.reduce(applyRecord, empty);
  expect([job.state, liveness.state]).toEqual(["TIMED_OUT", "failed"]);
  expect(liveness.reason).toMatch(/^timed_out/);
});
