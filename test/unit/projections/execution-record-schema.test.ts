/**
 * The record as a published document: its schema, its bound, and journals written by other versions.
 */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { z } from "zod";
import type { ReadRecord } from "../../../actors/journal/reader.ts";
import { foldExecutionRecord } from "../../../projections/execution-record/fold.ts";
import {
  ExecutionRecord,
  executionRecordJsonSchema,
  parseExecutionRecord,
  RECORD_BYTES_MAX,
} from "../../../projections/execution-record/schema.ts";
import { specOf, subjectOf, TurnWorld, WORKFLOW } from "./turn-world.ts";

function recordOf(world: { readonly records: readonly ReadRecord[] }): ExecutionRecord {
  const record = foldExecutionRecord(world.records);
  if (record === null) throw new Error("there is no task in the records");
  return record;
}

/** A task that has been through most of what may happen to one. */
function eventfulWorld(): TurnWorld {
  const world = new TurnWorld();
  world.submit({ id: "job", kind: "doer", dependencies: [{ id: "first", workflow: WORKFLOW }] });
  world.job("job", { type: "job.dependencySettled", dependency: "first", outcome: "completed" });
  world.start("job");
  world.job("job", { type: "job.stepRecorded", key: "fetch", value: 1 });
  world.job("job", { type: "job.waitDeclared", name: "go", kind: "approval", reason: "may it?" });
  world.job("job", { type: "job.interrupted", attempt: 1, isSideEffectUnknown: true });
  world.job("job", { type: "job.rerunScheduled", attempt: 2, reason: "ada looked" });
  world.start("job", 2);
  world.job("job", { type: "job.cancelRequested", reason: "enough", by: "ada" });
  const cause = { code: "b", message: "deeper", retry: "never" } as const;
  const failure = { code: "a", message: "m", retry: "now", details: { x: 1 }, cause } as const;
  world.job("job", { type: "job.failed", attempt: 2, failure });
  return world;
}

it("[REC-8] every prefix of a journal folds into a record of the published schema", () => {
  const { records } = eventfulWorld();
  for (let length = 1; length <= records.length; length += 1) {
    const record = foldExecutionRecord(records.slice(0, length));
    expect(parseExecutionRecord(JSON.parse(JSON.stringify(record)))).toEqual({
      kind: "record",
      record,
    });
  }
});

it("[REC-8] publishes a versioned JSON Schema that takes a record and nothing beside it", () => {
  const schema = executionRecordJsonSchema();
  expect(schema).toMatchObject({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    additionalProperties: false,
    properties: { schemaVersion: { const: 1 } },
  });
  const record = recordOf(eventfulWorld());
  const published = z.fromJSONSchema(JSON.parse(JSON.stringify(schema)));
  expect(published.parse(record)).toEqual(record);
  expect(published.safeParse({ ...record, extra: 1 }).success).toBe(false);
});

it("[REC-8] the schema in the documentation is the one that records keep", () => {
  const page = new URL("../../../docs/execution-record.schema.json", import.meta.url);
  const published = JSON.parse(readFileSync(page, "utf8"));
  expect(published).toEqual(JSON.parse(JSON.stringify(executionRecordJsonSchema())));
});

it("[REC-8] a kept record of a newer version is told, not guessed at", () => {
  const record = recordOf(eventfulWorld());
  const newer = { ...record, schemaVersion: 2, unheardOf: true };
  expect(parseExecutionRecord(newer)).toEqual({ kind: "newer", schemaVersion: 2 });
  expect(parseExecutionRecord({ ...record, job: 7 })).toMatchObject({ kind: "unreadable" });
  expect(parseExecutionRecord(null)).toMatchObject({ kind: "unreadable" });
});

it("[REC-8] an old journal that lacks fields keeps reading, and what is missing is not guessed", () => {
  const world = new TurnWorld();
  const { input, metadata, retryClass, retryBudget, dependencies, ...spec } = specOf({ id: "job" });
  const move = { actor: "job:job", sequence: 1, from: "new", to: "queued" };
  world.append(subjectOf("job"), [{ ...move, event: { type: "job.submitted", spec } }]);
  const lost = { from: "running", to: "observer_unknown", event: { type: "liveness.ownerLost" } };
  world.append(subjectOf("job"), [
    {
      actor: "job:job",
      sequence: 2,
      from: "queued",
      to: "running",
      event: { type: "job.started" },
    },
    { actor: "liveness:job", sequence: 3, ...lost },
  ]);
  const record = recordOf(world);
  expect(record.unknownCount).toBe(0);
  expect(record.identity).toMatchObject({ type: "copy-file", ordinal: null, user: "ada" });
  expect(record).toMatchObject({ attempt: 1, input: null, job: { state: "RUNNING" } });
  expect(record.recovery).toMatchObject({
    retryClass: "unknown_no_automatic_retry",
    retryBudget: 0,
    sideEffect: "unknown",
  });
  expect(ExecutionRecord.parse(record)).toEqual(record);
});

it("[REC-8] what this version does not know is kept in the history, counted, and stops nothing", () => {
  const world = new TurnWorld();
  world.submit({ id: "job" });
  world.start("job");
  const running = { actor: "job:job", from: "running", to: "running" };
  const strange = [
    { ...running, sequence: 3, event: { type: "job.teleported", where: "moon" } },
    { ...running, sequence: 4, event: { type: "job.stepRecorded", key: "k", value: 1 }, v: 99 },
    { ...running, sequence: 5, event: { type: "job.paused" }, to: "paused" },
    { actor: "checkpoint:job", sequence: 1, from: "none", to: "kept", event: { type: "c.kept" } },
  ];
  world.append(subjectOf("job"), strange);
  const record = recordOf(world);
  expect(record.unknownCount).toBe(4);
  expect(record.history.first.slice(-4).map(({ event }) => event)).toEqual([
    "job.teleported",
    "job.stepRecorded",
    "job.paused",
    "c.kept",
  ]);
  expect(record.steps.keys).toEqual([]);
  // The last state that is known, and that it is not the newest.
  expect(record.job).toMatchObject({ state: "RUNNING", value: "paused", isKnown: false });
  world.append(subjectOf("job"), [
    { ...running, sequence: 6, from: "paused", event: { type: "job.resumed" } },
  ]);
  expect(recordOf(world).job).toMatchObject({ state: "RUNNING", value: "running", isKnown: true });
  world.append(subjectOf("job"), [
    { ...running, sequence: 7, to: "completed", event: { type: "job.completed", result: 5 } },
  ]);
  expect(recordOf(world)).toMatchObject({
    job: { state: "COMPLETED" },
    outcome: { kind: "completed", result: { value: 5 } },
    unknownCount: 5,
  });
});

it("[REC-8] a liveness state of a later version leaves the last known one and says so", () => {
  const world = new TurnWorld();
  world.submit({ id: "job" });
  world.start("job");
  const move = { actor: "liveness:job", sequence: 3, from: "running", to: "dreaming" };
  world.append(subjectOf("job"), [{ ...move, event: { type: "liveness.dreamt" } }]);
  expect(recordOf(world).liveness).toMatchObject({ state: "running", isKnown: false });
  world.observe("job", { type: "liveness.quietNoticed" });
  expect(recordOf(world).liveness).toMatchObject({ state: "quiet", isKnown: true });
});

it("J1: no transition of whatever shape makes a fold throw", () => {
  const world = new TurnWorld();
  world.submit({ id: "job" });
  const shapes = [null, 7, [], {}, { actor: "job:job" }, { actor: 7, event: 8, to: 9 }];
  const event = { type: "job.submitted", spec: { dependencies: [1, null, {}], metadata: [] } };
  world.append(subjectOf("job"), [...shapes, { actor: "job:job", to: "queued", event }]);
  const record = recordOf(world);
  expect(record.unknownCount).toBe(shapes.length);
  expect(ExecutionRecord.parse(record)).toEqual(record);
});

/** JSON writes each of its characters with six bytes. */
const dear = (length: number) => "\u0001".repeat(length);

it("E2: no task makes a record larger than its bound", () => {
  const world = new TurnWorld();
  // The longest id that the door lets in, of the dearest characters.
  const id = dear(200);
  const text = dear(700);
  const dependencies = Array.from({ length: 40 }, () => ({ id, workflow: id }));
  const spec = specOf({
    id,
    workflow: id,
    type: text,
    name: text,
    parent: id,
    user: id,
    key: text,
  });
  const subject = subjectOf(id, id);
  const actor = `job:${id}`;
  const failureOf = (cause?: object): object => ({
    code: text,
    message: text,
    details: { text },
    ...(cause === undefined ? {} : { cause }),
  });
  const deepFailure = Array.from({ length: 9 }).reduce<object>((cause) => failureOf(cause), {});
  const move = (event: object, from = text, to = text) => ({
    actor,
    sequence: Number.MAX_SAFE_INTEGER,
    event,
    from,
    to,
    reason: text,
    evidence: { text },
  });
  const submitted = { ...spec, input: { text }, dependencies };
  world.append(subject, [move({ type: "job.submitted", spec: submitted })]);
  for (let at = 0; at < 120; at += 1) {
    const name = `${at}${text}`;
    world.append(subject, [
      move({ type: "job.started", attempt: Number.MAX_SAFE_INTEGER }),
      move({ type: "job.stepRecorded", key: name, value: 1 }),
      move({ type: "job.waitDeclared", name, kind: text, reason: text }),
      move({ type: "job.rerunScheduled", reason: text }),
    ]);
  }
  const waiting = { type: "liveness.waitDeclared", reason: text };
  world.append(subject, [
    move({ type: "job.cancelRequested", reason: text, by: text }),
    { ...move(waiting, text, "external_wait"), actor: `liveness:${id}` },
  ]);
  const unended = recordOf(world);
  world.append(subject, [
    move({ type: "job.failed", failure: deepFailure, by: text }, text, "failed"),
  ]);
  const ended = recordOf(world);
  const sizes = [unended, ended].map(bytesOf);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(RECORD_BYTES_MAX);
  // It is the bound of this document, not of something far larger.
  expect(Math.min(...sizes)).toBeGreaterThan(RECORD_BYTES_MAX * 0.8);
  expect(unended.awaited).toMatchObject({ dropped: 120 - 32 });
  expect(unended.steps).toMatchObject({ dropped: 120 - 100 });
  expect(unended.identity.dependencies).toMatchObject({ dropped: 40 - 32 });
  expect(unended.identity.taskId).toBe(id);
  expect(ended.outcome?.failure?.causes).toHaveLength(5);
});

const bytesOf = (record: ExecutionRecord): number =>
  new TextEncoder().encode(JSON.stringify(record)).length;

it("[REC-7] an input and a result are shown whole when small, else by size and beginning", () => {
  const world = new TurnWorld();
  world.submit({ id: "job", input: { text: "x".repeat(5_000) } });
  world.start("job");
  expect(recordOf(world).input).toMatchObject({ kind: "cut", bytes: 5_011 });
  world.job("job", { type: "job.completed", attempt: 1, result: "y".repeat(8_190) });
  expect(recordOf(world).outcome?.result).toMatchObject({ kind: "whole", bytes: 8_192 });
});
