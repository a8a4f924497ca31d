/** The service itself: what is published about it, who may ask it, that it answers each request once, and how it stops. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FencedError } from "../../../actors/errors.ts";
import { connectClient } from "../../../infra/api/client.ts";
import type { ApiRuntime } from "../../../infra/api/endpoint.ts";
import { startTestServer, type TestServer } from "../../support/server.ts";
import { askRaw, startRig, until } from "./fixtures.ts";

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ version: "newest", durability: "process" });
});

afterAll(() => server.stop());

/** The runtime with some of its methods replaced. */
const withMethods =
  (methods: Partial<ApiRuntime>) =>
  (runtime: ApiRuntime): ApiRuntime => ({
    submitByType: (...args) => runtime.submitByType(...args),
    find: (job) => runtime.find(job),
    cancel: (...args) => runtime.cancel(...args),
    resolve: (...args) => runtime.resolve(...args),
    answer: (...args) => runtime.answer(...args),
    recordsOf: (workflow) => runtime.recordsOf(workflow),
    recordsOfJob: (job) => runtime.recordsOfJob(job),
    workflowOf: (job) => runtime.workflowOf(job),
    readTasks: (range) => runtime.readTasks(range),
    health: () => runtime.health(),
    lookAtRoom: () => runtime.lookAtRoom(),
    ...methods,
  });

describe("the service", () => {
  it("publishes what each endpoint takes and answers as JSON Schema", async () => {
    await using rig = await startRig(server);
    const connection = await rig.connection("operator");
    const info = await askRaw(connection, "$SRV.INFO.holdfast", "");
    expect(info).toMatchObject({ name: "holdfast", metadata: { namespace: rig.namespace } });
    const endpoints = info["endpoints"] as { subject: string; metadata: Record<string, string> }[];
    expect(endpoints.map((endpoint) => endpoint.subject)).toEqual(
      ["cmd.submit", "cmd.cancel", "cmd.resolve", "cmd.answer"]
        .concat(["get.record", "get.jobs", "get.tree", "get.trajectory", "get.health"])
        .map((endpoint) => `hf.${rig.namespace}.${endpoint}`),
    );
    for (const { metadata } of endpoints) {
      for (const name of ["schema", "answer_schema"]) {
        const schema = JSON.parse(metadata[name] ?? "");
        expect(schema).toMatchObject({ $schema: expect.any(String), type: "object" });
      }
      expect(JSON.parse(metadata["schema"] ?? "")).toMatchObject({ additionalProperties: false });
    }
  });

  it("[API-4] commands only from who may command, queries from observers too", async () => {
    await using rig = await startRig(server);
    const observer = await rig.client("observer");
    expect(await observer.health()).toMatchObject({ ok: true });
    await expect(observer.submit({ type: "echo" })).rejects.toMatchObject({ code: "forbidden" });
    await expect(observer.cancel({ job: "x" })).rejects.toMatchObject({ code: "forbidden" });
  });

  it("answers many requests at once, each one its own", async () => {
    await using rig = await startRig(server);
    const client = await rig.client();
    const answers = await Promise.all(
      Array.from({ length: 500 }, (_, index) =>
        client.submit({ type: "echo", input: index, wait: true }),
      ),
    );
    expect(answers.map((answer) => answer.ok && answer.outcome)).toEqual(
      answers.map((_, index) => ({ kind: "completed", result: index })),
    );
    expect(rig.api.commandsInFlight).toBe(0);
  });

  it("turns whatever a handler throws, at once or later, into a coded answer, and goes on", async () => {
    await using rig = await startRig(server, {
      wrap: withMethods({
        cancel: () => {
          throw new TypeError("at once");
        },
        recordsOfJob: () => Promise.reject(new RangeError("later")),
        health: () => {
          throw new TypeError("in a query");
        },
      }),
    });
    const client = await rig.client();
    for (const asked of [client.cancel({ job: "x" }), client.record("x"), client.health()]) {
      expect(await asked).toMatchObject({ ok: false, code: "system", retry: "never" });
    }
    expect(await client.submit({ type: "echo", wait: true })).toMatchObject({ ok: true });
    const told = rig.lines.filter((line) => line.includes("a request failed on a defect"));
    expect(told).toHaveLength(3);
    expect(told.join()).toContain("TypeError: at once");
  });

  it("binds the job's ids to the line that tells of a command", async () => {
    await using rig = await startRig(server);
    const client = await rig.client();
    await client.submit({ type: "echo", id: "bound" });
    const line = rig.lines.map((text) => JSON.parse(text)).find(({ job }) => job === "bound");
    expect(line).toMatchObject({
      level: "debug",
      verb: "submit",
      decision: "submitted",
      workflow: "bound",
    });
  });
});

describe("a stop", () => {
  it("answers those who wait that the job is pending, and lets it go on", async () => {
    await using rig = await startRig(server);
    const client = await rig.client();
    const waiting = client.submit({ type: "hold", input: "held", id: "held", wait: 60_000 });
    await until(() => rig.jobs.gates.has("held"));
    await rig.api.stop();
    expect(await waiting).toMatchObject({ ok: true, decision: "pending", job: "held" });
    expect((await rig.runtime.find("held"))?.settlement).toBeNull();
  });

  it("answers what is not decided by then that nobody knows, with the reason of the stop", async () => {
    await using rig = await startRig(server, {
      wrap: withMethods({ submitByType: () => new Promise(() => {}) }),
    });
    const client = await rig.client();
    const asked = client.submit({ type: "echo" });
    await until(() => rig.api.commandsInFlight === 1);
    await rig.api.stop(new FencedError("Another owner took the partition."));
    expect(await asked).toMatchObject({
      ok: false,
      code: "fenced",
      retry: "backoff",
      reason: expect.stringContaining("Whether this was carried out is not known"),
    });
  });

  it("leaves nobody who answers: whoever asks later is told at once", async () => {
    await using rig = await startRig(server);
    const client = await rig.client();
    await rig.api.stop();
    await rig.api.stop();
    const began = performance.now();
    await expect(client.health()).rejects.toMatchObject({
      code: "external_service",
      details: { outcome: "refused" },
    });
    expect(performance.now() - began).toBeLessThan(2_000);
    expect(rig.lines.filter((line) => line.startsWith("lost"))).toEqual([]);
  });
});

describe("a client", () => {
  it("is told at once that its connection was lost, and works again when the server is back", async () => {
    await using own = await startTestServer({ version: "newest", durability: "process" });
    await using rig = await startRig(own);
    const client = await rig.client();
    const waiting = client.submit({ type: "hold", input: "held", id: "held", wait: 60_000 });
    waiting.catch(() => {
      // It is looked at below; until then it must not count as unhandled.
    });
    await until(() => rig.jobs.gates.has("held"));
    const began = performance.now();
    await own.kill();
    await expect(waiting).rejects.toMatchObject({
      code: "external_service",
      details: { outcome: "unknown" },
    });
    expect(performance.now() - began).toBeLessThan(5_000);
    await expect(client.health()).rejects.toMatchObject({ details: { outcome: "refused" } });
    await own.restart();
    await until(() =>
      client.health().then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    rig.jobs.gate("held").open();
    const request = { type: "hold", input: "held", id: "held", wait: true };
    expect(await client.submit(request)).toMatchObject({ outcome: { kind: "completed" } });
  });

  it("says that nobody is there, and who refuses it", async () => {
    await using rig = await startRig(server);
    const other = await rig.client();
    await other.close();
    await expect(other.health()).rejects.toMatchObject({ code: "illegal_state" });
    await expect(connectClient({ url: "nats://127.0.0.1:1" })).rejects.toMatchObject({
      code: "external_service",
    });
    await expect(connectClient({ url: server.url })).rejects.toMatchObject({ code: "forbidden" });
  });
});
