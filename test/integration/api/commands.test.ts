import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApiClient } from "../../../infra/api/client.ts";
import { startTestServer, type TestServer } from "../../support/server.ts";
import { type Rig, startRig, until } from "./fixtures.ts";

let server: TestServer;
let rig: Rig;
let client: ApiClient;

beforeAll(async () => {
  server = await startTestServer({ version: "newest", durability: "process" });
  rig = await startRig(server);
  client = await rig.client();
});

afterAll(async () => {
  await rig[Symbol.asyncDispose]();
  await server.stop();
});

describe("submit", () => {
  it("[API-2] says what was decided, and which job and workflow it is", async () => {
    const answer = await client.submit({ type: "add", input: { a: 1, b: 2 } });
    expect(answer).toMatchObject({ ok: true, decision: "submitted" });
    if (!answer.ok) return;
    expect(answer.job).toMatch(/^add-[0-9A-Z]{26}$/);
    expect(answer.workflow).toBe(answer.job);
    const handle = await rig.runtime.find(answer.job);
    expect(await handle?.result()).toBe(3);
  });

  it("[DOOR-7] joins a job that is there, live or ended, and refuses its id with other content", async () => {
    const request = { type: "hold", input: "joined", id: "joined" };
    expect(await client.submit(request)).toMatchObject({ decision: "submitted", job: "joined" });
    expect(await client.submit(request)).toMatchObject({ decision: "joined", job: "joined" });
    rig.jobs.gate("joined").open();
    expect(await client.submit({ ...request, wait: true })).toMatchObject({ decision: "ended" });
    expect(await client.submit(request)).toMatchObject({ ok: true, decision: "joined" });
    expect(await client.submit({ ...request, input: "other" })).toMatchObject({
      ok: false,
      decision: "refused",
      code: "conflict",
      job: "joined",
    });
  });

  it("[API-2] is one job however often a command is repeated, at once and later", async () => {
    const command = { type: "echo", input: { n: 1 }, commandId: "command-1" };
    const answers = await Promise.all(Array.from({ length: 20 }, () => client.submit(command)));
    expect(answers.map((answer) => answer.ok && answer.job)).toEqual(
      answers.map(() => "command-1"),
    );
    expect(answers.filter((answer) => answer.decision === "submitted")).toHaveLength(1);
    await until(() => rig.jobs.runs.get("command-1") === 1);
    expect(await client.submit({ ...command, wait: true })).toMatchObject({
      outcome: { kind: "completed", result: { n: 1 } },
    });
    expect(rig.jobs.runs.get("command-1")).toBe(1);
  });

  it("an id that is given goes before the command's", async () => {
    const answer = await client.submit({ type: "echo", id: "own", commandId: "command-2" });
    expect(answer).toMatchObject({ ok: true, job: "own" });
    expect(await rig.runtime.find("command-2")).toBeNull();
  });

  it("waits for the end when it is asked to, and tells it", async () => {
    expect(await client.submit({ type: "add", input: { a: 2, b: 3 }, wait: 5_000 })).toMatchObject({
      ok: true,
      decision: "ended",
      outcome: { kind: "completed", result: 5 },
    });
    expect(await client.submit({ type: "fail", input: "no luck", wait: true })).toMatchObject({
      ok: true,
      decision: "ended",
      outcome: { kind: "failed", error: { code: "system", message: "TypeError: no luck" } },
    });
  });

  it("answers that it is pending when the time is over, and the job goes on", async () => {
    const request = { type: "hold", input: "slow", id: "slow" };
    expect(await client.submit({ ...request, wait: 30 })).toEqual({
      ok: true,
      decision: "pending",
      job: "slow",
      workflow: "slow",
    });
    const waiting = client.submit({ ...request, wait: true });
    rig.jobs.gate("slow").open();
    expect(await waiting).toMatchObject({ outcome: { kind: "completed", result: "slow" } });
  });

  it("passes on what else a job can be given", async () => {
    await client.submit({ type: "fail", input: "first", id: "first" });
    const answer = await client.submit({
      type: "echo",
      input: 7,
      id: "second",
      user: "ann",
      after: ["first"],
      toleratesFailures: true,
      timeoutMs: null,
      metadata: { ticket: "T-1" },
      wait: true,
    });
    expect(answer).toMatchObject({ outcome: { kind: "completed", result: 7 } });
    const record = await client.record("second");
    expect(record).toMatchObject({
      ok: true,
      record: { identity: { user: "ann", dependencies: { list: [{ id: "first" }] } } },
    });
  });

  it("a dependency that failed is the outcome of a job that does not tolerate it", async () => {
    await client.submit({ type: "fail", input: "first", id: "first" });
    expect(await client.submit({ type: "echo", after: ["first"], wait: true })).toMatchObject({
      outcome: { kind: "failed", error: { code: "dependency_failed" } },
    });
  });
});

describe("cancel", () => {
  it("[CAN-1, CAN-2] tells a running job, and its end is a cancellation with the asker's reason", async () => {
    const request = { type: "hold", input: "cancelled", id: "cancelled" };
    await client.submit(request);
    await until(() => rig.jobs.gates.has("cancelled"));
    expect(
      await client.cancel({ job: "cancelled", reason: "wrong file", by: "ann" }),
    ).toMatchObject({
      ok: true,
      decision: "cancelling",
      job: "cancelled",
    });
    expect(await client.submit({ ...request, wait: true })).toMatchObject({
      outcome: {
        kind: "cancelled",
        error: { code: "job_cancelled", details: { by: "ann", reason: "wrong file" } },
      },
    });
  });

  it("[CAN-1] ends at once a job that has not started", async () => {
    await client.submit({ type: "hold", input: "before", id: "before" });
    await client.submit({ type: "echo", id: "parked", after: ["before"] });
    expect(await client.cancel({ job: "parked" })).toMatchObject({
      ok: true,
      decision: "cancelled",
    });
    expect(rig.jobs.runs.has("parked")).toBe(false);
    rig.jobs.gate("before").open();
  });

  it("[API-2] repeated, is no error; of a job that ended otherwise it is, and says how that ended", async () => {
    expect(await client.cancel({ job: "parked" })).toMatchObject({ ok: true, decision: "ended" });
    await client.submit({ type: "echo", id: "done", wait: true });
    expect(await client.cancel({ job: "done" })).toMatchObject({
      ok: false,
      decision: "ended",
      code: "illegal_state",
      reason: "The job done has ended: completed.",
    });
    expect(await client.cancel({ job: "never-was" })).toMatchObject({
      ok: false,
      code: "not_found",
    });
  });
});

describe("answer", () => {
  it("gives a job the word that it waits for, by its name", async () => {
    const request = { type: "approval", id: "release" };
    await client.submit(request);
    await until(async () => {
      const answer = await client.record("release");
      return answer.ok && answer.record.awaited.list.length === 1;
    });
    expect(await client.answer({ job: "release", name: "words", value: 1 })).toMatchObject({
      ok: false,
      code: "conflict",
      reason: expect.stringContaining("it waits for word"),
    });
    expect(
      await client.answer({ job: "release", name: "word", value: { go: true } }),
    ).toMatchObject({
      ok: true,
      decision: "answered",
    });
    expect(await client.submit({ ...request, wait: true })).toMatchObject({
      outcome: { kind: "completed", result: { go: true } },
    });
    expect(await client.answer({ job: "release", name: "word", value: 1 })).toMatchObject({
      ok: false,
      code: "illegal_state",
      reason: "The job release has ended: completed.",
    });
    expect(await client.answer({ job: "never-was", name: "word", value: 1 })).toMatchObject({
      code: "not_found",
    });
  });

  it("keeps the bound of values", async () => {
    await client.submit({ type: "approval", id: "large" });
    const answer = await client.answer({ job: "large", name: "word", value: "x".repeat(200_000) });
    expect(answer).toMatchObject({ ok: false, code: "invalid_argument" });
    await client.cancel({ job: "large" });
  });
});

describe("resolve", () => {
  const resolution = { kind: "retry" } as const;

  it("is refused while a job's end may still be seen, and for one that never was or has ended", async () => {
    await client.submit({ type: "hold", input: "held", id: "held" });
    expect(await client.resolve({ job: "held", resolution, reason: "x" })).toMatchObject({
      ok: false,
      code: "illegal_state",
      reason: expect.stringContaining("only one whose end nobody saw"),
    });
    rig.jobs.gate("held").open();
    await client.submit({ type: "hold", input: "held", id: "held", wait: true });
    expect(await client.resolve({ job: "held", resolution, reason: "x" })).toMatchObject({
      code: "illegal_state",
      reason: "The job held has ended: completed.",
    });
    expect(await client.resolve({ job: "never-was", resolution, reason: "x" })).toMatchObject({
      code: "not_found",
    });
  });

  it("[RTY-1, API-2] settles what a lost process left open, as the person says, and keeps their word", async () => {
    await using lost = await startRig(server);
    const { namespace } = lost;
    const before = await lost.client();
    const ids = ["a", "b", "c"];
    for (const id of ids) await before.submit({ type: "hold", input: id, id });
    await until(() => lost.jobs.gates.size === ids.length);
    await lost.api.stop();
    // Another owner takes the partition over, as after a crash: what ran there is not seen to its end.
    await using next = await startRig(server, { namespace });
    const asker = await next.client();
    const word = { reason: "I looked", by: "ann" };
    expect(await asker.record("a")).toMatchObject({ record: { job: { value: "interrupted" } } });
    expect(
      await asker.resolve({ job: "a", resolution: { kind: "completed", result: "A" }, ...word }),
    ).toMatchObject({ ok: true, decision: "completed" });
    expect(
      await asker.resolve({ job: "b", resolution: { kind: "failed", message: "broke" }, ...word }),
    ).toMatchObject({ ok: true, decision: "failed" });
    expect(await asker.resolve({ job: "c", resolution, ...word })).toMatchObject({
      ok: true,
      decision: "retry",
    });
    next.jobs.gate("c").open();
    const outcomes = await Promise.all(
      ids.map((id) => asker.submit({ type: "hold", input: id, id, wait: true })),
    );
    expect(outcomes.map((answer) => answer.ok && answer.outcome)).toMatchObject([
      { kind: "completed", result: "A" },
      { kind: "failed", error: { message: "ann said that b failed: broke" } },
      { kind: "completed", result: "c" },
    ]);
    const record = await asker.record("a");
    const moves = record.ok ? [...record.record.history.first, ...record.record.history.last] : [];
    expect(moves.find(({ event }) => event === "job.resolvedCompleted")).toMatchObject({
      reason: "I looked",
    });
  });
});
