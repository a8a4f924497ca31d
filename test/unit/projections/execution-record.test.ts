/**
 * The execution record as a reader finds it: what it says of a task, and what it says when the journal says too much.
 */
import { expect, it } from "vitest";
import type { ReadRecord } from "../../../actors/journal/reader.ts";
import {
  applyRecord,
  emptyRecord,
  foldExecutionRecord,
} from "../../../projections/execution-record/fold.ts";
import type { ExecutionRecord } from "../../../projections/execution-record/schema.ts";
import { TurnWorld, WORKFLOW } from "./turn-world.ts";

function recordOf(world: { readonly records: readonly ReadRecord[] }): ExecutionRecord {
  const record = foldExecutionRecord(world.records);
  if (record === null) throw new Error("there is no task in the records");
  return record;
}

const failure = { code: "external_service", message: "503", retry: "backoff" } as const;

it("[REC-1] names the task, its type, workflow, parent and dependencies, and the user", () => {
  const world = new TurnWorld();
  world.submit({
    id: "child",
    kind: "doer",
    parent: "root",
    key: "copy#1",
    dependencies: [
      { id: "first", workflow: WORKFLOW },
      { id: "other", workflow: "wf-2" },
    ],
    metadata: { iteration_number: 2 },
  });
  world.job("child", { type: "job.dependencySettled", dependency: "first", outcome: "completed" });
  const record = recordOf(world);
  expect(record.identity).toEqual({
    taskId: "child",
    workflow: WORKFLOW,
    type: "copy-file",
    kind: "doer",
    name: "copy-file-child",
    parent: "root",
    key: "copy#1",
    ordinal: 2,
    user: "ada",
    dependencies: {
      list: [
        { id: "first", workflow: WORKFLOW, outcome: "completed" },
        { id: "other", workflow: "wf-2", outcome: null },
      ],
      dropped: 0,
    },
  });
  expect(record.job).toMatchObject({ state: "SCHEDULED", value: "waiting", since: 1_000 });
});

it("[REC-1] tells a dependency that is not tolerated by the end that it had", () => {
  const world = new TurnWorld();
  world.submit({ id: "late", dependencies: [{ id: "first", workflow: WORKFLOW }] });
  const details = { outcome: "timed_out" };
  const told = { code: "dependency_failed", message: "no", retry: "never", details } as const;
  world.job("late", { type: "job.dependencyFailed", dependency: "first", failure: told });
  const record = recordOf(world);
  expect(record.identity.dependencies.list[0]?.outcome).toBe("timed_out");
  expect(record.outcome).toMatchObject({ kind: "failed", failure: { code: "dependency_failed" } });
});

it("[REC-3] keeps when it was submitted, first started, last started and ended", () => {
  const world = new TurnWorld();
  world.submit({ id: "job", retryClass: "safe_to_retry", retryBudget: 1 });
  world.at = 2_000;
  world.start("job");
  world.at = 3_000;
  world.job("job", { type: "job.interrupted", attempt: 1, isSideEffectUnknown: false });
  world.job("job", { type: "job.rerunScheduled", attempt: 2, reason: "safe" });
  world.at = 4_000;
  world.start("job", 2);
  world.at = 5_000;
  world.job("job", { type: "job.completed", attempt: 2, result: { bytes: 7 } });
  expect(recordOf(world).times).toEqual({
    submittedAt: 1_000,
    firstStartedAt: 2_000,
    startedAt: 4_000,
    endedAt: 5_000,
  });
});

it("[REC-3] tells progress and a diagnosis that found it alive apart", () => {
  const world = new TurnWorld();
  world.submit({ id: "job" });
  world.start("job");
  world.observe("job", { type: "liveness.quietNoticed" });
  world.at = 2_000;
  world.observe("job", { type: "liveness.progressSeen" });
  world.at = 3_000;
  world.observe("job", { type: "liveness.staleSuspected" });
  world.observe("job", { type: "liveness.diagnosisStarted" });
  expect(recordOf(world).liveness).toMatchObject({
    diagnoses: 1,
    lastProgressAt: 2_000,
    lastFoundAliveAt: null,
  });
  world.at = 4_000;
  world.observe("job", { type: "liveness.foundAlive", isQuiet: true });
  expect(recordOf(world).liveness).toMatchObject({
    state: "quiet",
    since: 4_000,
    diagnoses: 0,
    lastProgressAt: 2_000,
    lastFoundAliveAt: 4_000,
  });
});

it("[REC-4] gives the current states with reason, evidence and the time of both", () => {
  const world = new TurnWorld();
  world.submit({ id: "job" });
  world.start("job");
  world.at = 2_000;
  const evidence = { lastBeatAt: 1_500, loopDelayMs: 3 };
  const move = { reason: "no beat for 500 ms", evidence };
  world.observe("job", { type: "liveness.staleSuspected" }, move);
  const record = recordOf(world);
  expect(record.liveness).toMatchObject({
    state: "stale_suspected",
    reason: "no beat for 500 ms",
    evidence: { kind: "whole", value: evidence },
    since: 2_000,
  });
  expect(record.job).toMatchObject({ state: "RUNNING", since: 1_000 });
  expect(record.history.first.at(-1)).toEqual({
    actor: "liveness:job",
    sequence: 3,
    event: "liveness.staleSuspected",
    from: "running",
    to: "stale_suspected",
    reason: "no beat for 500 ms",
    evidence: record.liveness.evidence,
    at: 2_000,
    position: 3,
  });
});

it("[REC-4] takes the reason from the event where the move gives none", () => {
  const world = new TurnWorld();
  world.submit({ id: "job" });
  world.job("job", { type: "job.blocked", reason: "nothing here knows copy-file" });
  expect(recordOf(world).job.reason).toBe("nothing here knows copy-file");
  world.job("job", { type: "job.unblocked" });
  world.start("job");
  world.job("job", { type: "job.failed", attempt: 1, failure });
  expect(recordOf(world).job.reason).toBe("503");
});

it("[REC-4] a move that stays in its state moves neither its reason nor its time", () => {
  const world = new TurnWorld();
  world.submit({ id: "job", kind: "doer" });
  world.start("job");
  const before = recordOf(world).job;
  world.at = 9_000;
  world.job("job", { type: "job.stepRecorded", key: "fetch", value: 1 }, { reason: "a step" });
  expect(recordOf(world).job).toEqual(before);
});

it("[REC-4] keeps the first 20 and the last 100 moves and counts those between", () => {
  const world = new TurnWorld();
  world.submit({ id: "job" });
  world.start("job");
  const steps = 500;
  for (let step = 0; step < steps; step += 1) {
    world.job("job", { type: "job.stepRecorded", key: `step-${step}`, value: step });
  }
  const { history } = recordOf(world);
  expect(history.first).toHaveLength(20);
  expect(history.last).toHaveLength(100);
  // Submitted and opened, started twice over: four moves before the steps.
  expect(history.dropped).toBe(4 + steps - 120);
  expect(history.first[0]).toMatchObject({ event: "job.submitted", position: 1 });
  expect(history.first.at(-1)).toMatchObject({ event: "job.stepRecorded", sequence: 2 + 16 });
  expect(history.last[0]?.sequence).toBe(2 + steps - 99);
  expect(history.last.at(-1)?.sequence).toBe(2 + steps);
});

it("[REC-4] shows a declared wait while it waits, and the answers that are awaited", () => {
  const world = new TurnWorld();
  world.submit({ id: "job", kind: "doer" });
  world.start("job");
  world.at = 2_000;
  world.job("job", { type: "job.waitDeclared", name: "go", kind: "approval", reason: "may it?" });
  world.at = 3_000;
  world.job("job", { type: "job.waitDeclared", name: "slot", kind: "timer", reason: "at noon" });
  const waiting = recordOf(world);
  expect(waiting.liveness).toMatchObject({
    state: "external_wait",
    since: 2_000,
    wait: { kind: "timer", reason: "at noon", declaredAt: 3_000 },
  });
  expect(waiting.awaited.list).toEqual([
    { name: "go", kind: "approval", reason: "may it?", declaredAt: 2_000 },
    { name: "slot", kind: "timer", reason: "at noon", declaredAt: 3_000 },
  ]);
  world.job("job", { type: "job.answered", name: "slot", value: true, by: "clock" });
  expect(recordOf(world).awaited.list.map(({ name }) => name)).toEqual(["go"]);
  expect(recordOf(world).liveness.wait).not.toBeNull();
  world.job("job", { type: "job.answered", name: "go", value: true, by: "ada" });
  expect(recordOf(world).liveness).toMatchObject({ state: "running", wait: null });
});

it("[REC-4] an end leaves no wait standing", () => {
  const world = new TurnWorld();
  world.submit({ id: "job", kind: "doer" });
  world.start("job");
  world.job("job", { type: "job.waitDeclared", name: "go", kind: "approval", reason: "may it?" });
  world.job("job", { type: "job.completed", attempt: 1, result: null });
  const record = recordOf(world);
  expect(record.awaited.list).toEqual([]);
  expect(record.liveness.wait).toBeNull();
});

it("[REC-5, RTY-6] keeps class, budget, count, side effect and the attempts before", () => {
  const world = new TurnWorld();
  world.submit({ id: "job", retryClass: "safe_to_retry", retryBudget: 3 });
  world.start("job");
  world.at = 2_000;
  world.job("job", { type: "job.interrupted", attempt: 1, isSideEffectUnknown: true });
  expect(recordOf(world).recovery).toEqual({
    retryClass: "safe_to_retry",
    retryBudget: 3,
    retryCount: 0,
    sideEffect: "unknown",
    action: "reconcile",
  });
  world.at = 3_000;
  world.job("job", { type: "job.rerunScheduled", attempt: 2, reason: "ada looked" });
  const record = recordOf(world);
  expect(record.recovery).toMatchObject({ retryCount: 1, sideEffect: "unknown", action: "retry" });
  expect(record.previousAttempts).toEqual({
    list: [
      { attempt: 1, startedAt: 1_000, endedAt: 2_000, sideEffect: "unknown", reason: "ada looked" },
    ],
    dropped: 0,
  });
  world.start("job", 2);
  expect(recordOf(world)).toMatchObject({ attempt: 2, recovery: { action: "none" } });
});

it("[REC-5] keeps the newest 16 attempts and counts the others", () => {
  const world = new TurnWorld();
  world.submit({ id: "job", retryClass: "safe_to_retry", retryBudget: 99 });
  for (let attempt = 1; attempt <= 20; attempt += 1) {
    world.start("job", attempt);
    world.job("job", { type: "job.interrupted", attempt, isSideEffectUnknown: false });
    world.job("job", { type: "job.rerunScheduled", attempt: attempt + 1, reason: "again" });
  }
  const { list, dropped } = recordOf(world).previousAttempts;
  expect(list.map(({ attempt }) => attempt)).toEqual(Array.from({ length: 16 }, (_, at) => at + 5));
  expect(dropped).toBe(4);
});

it("says how it ended, with the failure and its causes", () => {
  const world = new TurnWorld();
  world.submit({ id: "job" });
  world.start("job");
  world.at = 2_000;
  const cause = { ...failure, message: "reset", cause: { ...failure, message: "cable" } };
  const told = { ...failure, details: { host: "b" }, cause };
  world.job("job", { type: "job.failed", attempt: 1, failure: told });
  expect(recordOf(world).outcome).toEqual({
    kind: "failed",
    at: 2_000,
    reason: "503",
    by: null,
    result: null,
    failure: {
      code: "external_service",
      message: "503",
      retry: "backoff",
      details: { kind: "whole", bytes: 12, value: { host: "b" } },
      causes: [
        { code: "external_service", message: "reset" },
        { code: "external_service", message: "cable" },
      ],
    },
    isLeaked: false,
  });
});

it("names who cancelled it and why, and takes no result from code that returned after that", () => {
  const world = new TurnWorld();
  world.submit({ id: "job" });
  world.start("job");
  world.at = 2_000;
  world.job("job", { type: "job.cancelRequested", reason: "not needed", by: "ada" });
  world.job("job", { type: "job.completed", attempt: 1, result: "too late" });
  const record = recordOf(world);
  expect(record.cancel).toEqual({ reason: "not needed", by: "ada", at: 2_000 });
  expect(record.outcome).toMatchObject({
    kind: "cancelled",
    reason: "not needed",
    by: "ada",
    result: null,
  });
});

it("says that the code of a job had not returned when its grace was over", () => {
  const world = new TurnWorld();
  world.submit({ id: "job" });
  world.start("job");
  world.job("job", { type: "job.timeoutReached", attempt: 1, graceUntil: 9_000 });
  world.job("job", { type: "job.graceEnded", attempt: 1 });
  const { job, outcome } = recordOf(world);
  expect(job.state).toBe("TIMED_OUT");
  expect(outcome).toMatchObject({ kind: "timed_out", isLeaked: true });
});

it("F1: records one by one, all at once, or twice over make the same document", () => {
  const world = new TurnWorld();
  world.submit({ id: "job", kind: "doer" });
  world.submit({ id: "other" });
  world.start("job");
  world.job("job", { type: "job.stepRecorded", key: "fetch", value: 1 });
  world.job("job", { type: "job.completed", attempt: 1, result: 1 });
  const atOnce = recordOf(world);
  let oneByOne = emptyRecord({ taskId: "job", workflow: WORKFLOW });
  for (const read of world.records) oneByOne = applyRecord(applyRecord(oneByOne, read), read);
  expect(oneByOne).toEqual(atOnce);
  expect(world.records.reduce(applyRecord, atOnce)).toBe(atOnce);
});

it("F3: a record of another task or another workflow changes nothing", () => {
  const world = new TurnWorld();
  world.submit({ id: "job" });
  const before = recordOf(world);
  world.submit({ id: "other" });
  world.submit({ id: "job", workflow: "wf-2" });
  expect(world.records.reduce(applyRecord, before)).toBe(before);
});

it("answers null where no task has a record", () => {
  expect(foldExecutionRecord([])).toBeNull();
  const body = { v: 1, at: 1, t: 1, cause: "c", correlation: "", transitions: [] };
  expect(
    foldExecutionRecord([{ position: 1, subject: "hf.x.evt.0.1.dispatcher", body }]),
  ).toBeNull();
});
