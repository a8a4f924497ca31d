import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ApiClient } from "../../../infra/api/client.ts";
import type { FlatNode } from "../../../infra/api/contract/answers.ts";
import { foldExecutionRecord } from "../../../projections/execution-record/fold.ts";
import { JobTreeFold, type TreeNode } from "../../../projections/job-tree.ts";
import { trajectoryOf } from "../../../projections/trajectory.ts";
import { startTestServer, type TestServer } from "../../support/server.ts";
import { askRaw, type Rig, startRig, until } from "./fixtures.ts";

let server: TestServer;
let rig: Rig;
let client: ApiClient;

beforeAll(async () => {
  server = await startTestServer({ version: "newest", durability: "process" });
  rig = await startRig(server);
  client = await rig.client();
  await client.submit({ type: "family", input: { width: 5 }, id: "w", wait: true });
});

afterAll(async () => {
  await rig[Symbol.asyncDispose]();
  await server.stop();
});

async function treeInProcess() {
  const fold = new JobTreeFold();
  for (const record of await rig.runtime.recordsOf("w")) fold.apply(record);
  return fold.tree();
}

/** The list as the API gives it, made the plain way. */
const flat = (nodes: readonly TreeNode[], depth = 0): object[] =>
  nodes.flatMap(({ children, ...node }) => [{ depth, ...node }, ...flat(children, depth + 1)]);

describe("the tree", () => {
  it("[API-1, TREE-4] is what the library folds, depth first", async () => {
    const answer = await client.tree("w");
    const { roots, unknown, recordsDropped } = await treeInProcess();
    expect(answer).toMatchObject({ ok: true, workflow: "w", total: 7, unknown, recordsDropped });
    expect(answer.ok && answer.nodes).toEqual(flat(roots));
    expect(answer.ok && answer.nodes.map(({ ordinal }) => ordinal)).toEqual([
      null,
      1,
      1,
      1,
      1,
      1,
      2,
    ]);
  });

  it("of a job inside a workflow is what stands below it", async () => {
    const whole = await client.tree("w");
    const child = whole.ok ? whole.nodes[3]?.id : undefined;
    const answer = await client.tree(child ?? "");
    expect(answer).toMatchObject({ ok: true, workflow: "w", total: 1 });
    expect(answer.ok && answer.nodes[0]).toMatchObject({ id: child, depth: 0, parent: "w" });
  });

  it("comes in pages that put together are the whole, of one moment", async () => {
    const connection = await rig.connection("observer");
    const subject = `hf.${rig.namespace}.get.tree`;
    const page = (request: object) => askRaw(connection, subject, JSON.stringify(request));
    await client.submit({ type: "approval", id: "growing" });
    const first = await page({ job: "w", limit: 3 });
    const nodes: unknown[] = [];
    for (let next = first; ; next = await page({ job: "w", limit: 3, cursor: next["next"] })) {
      expect(next).toMatchObject({ ok: true, total: 7, position: first["position"] });
      nodes.push(...(next["nodes"] as FlatNode[]));
      if (next["next"] === null) break;
    }
    const whole = await client.tree("w");
    expect(nodes).toEqual(whole.ok ? whole.nodes : []);
    await client.cancel({ job: "growing" });
  });

  it("a page shows what the first one saw, whatever has happened since", async () => {
    const connection = await rig.connection("observer");
    const subject = `hf.${rig.namespace}.get.tree`;
    await client.submit({ type: "approval", id: "changing" });
    await until(async () => {
      const answer = await client.record("changing");
      return answer.ok && answer.record.awaited.list.length === 1;
    });
    const before = await askRaw(connection, subject, JSON.stringify({ job: "changing" }));
    await client.cancel({ job: "changing" });
    await until(async () => {
      const answer = await client.record("changing");
      return answer.ok && answer.record.outcome !== null;
    });
    const cursor = `${String(before["position"])}.0`;
    const again = await askRaw(connection, subject, JSON.stringify({ job: "changing", cursor }));
    expect(again).toEqual(before);
  });

  it("of a wide workflow is larger than any one message, and comes whole", async () => {
    const width = 3_000;
    await client.submit({ type: "family", input: { width }, id: "wide", wait: 60_000 });
    const answer = await client.tree("wide");
    expect(answer).toMatchObject({ ok: true, total: width + 2 });
    expect(answer.ok && new Set(answer.nodes.map(({ id }) => id)).size).toBe(width + 2);
    expect(JSON.stringify(answer).length).toBeGreaterThan(1024 ** 2);
  });
});

describe("the trajectory", () => {
  it("[API-1, TREE-4] is what the library folds", async () => {
    const answer = await client.trajectory("w");
    const entries = trajectoryOf(await treeInProcess());
    expect(answer.ok && answer.entries).toEqual(entries);
    expect(answer.ok && answer.entries.map(({ path }) => path)).toEqual([
      "1",
      "1.1",
      "1.1",
      "1.1",
      "1.1",
      "1.1",
      "1.2",
    ]);
  });
});

describe("the record", () => {
  it("[API-1, REC-8] is what the library folds, of a job that runs too", async () => {
    await client.submit({ type: "hold", input: "live", id: "live" });
    await until(() => rig.jobs.gates.has("live"));
    for (const job of ["w", "live"]) {
      const answer = await client.record(job);
      const folded = foldExecutionRecord(await rig.runtime.recordsOfJob(job));
      expect(answer).toEqual({ ok: true, record: JSON.parse(JSON.stringify(folded)) });
    }
    const live = await client.record("live");
    expect(live).toMatchObject({ record: { job: { state: "RUNNING" }, outcome: null } });
    rig.jobs.gate("live").open();
  });
});

describe("health", () => {
  it("says how the runtime, its journal and its server are", async () => {
    expect(await client.health()).toMatchObject({
      ok: true,
      health: {
        namespace: rig.namespace,
        state: "ready",
        journal: "open",
        durability: "process",
        types: { list: ["echo", "add", "fail", "hold", "family", "approval", "grow"], dropped: 0 },
        setAside: { list: [], dropped: 0 },
        stream: { lastSequence: expect.any(Number) },
      },
    });
  });
});

it.each(["record", "tree", "trajectory"] as const)(
  "the %s of a job that never was is not found",
  async (view) => {
    expect(await client[view]("never-was")).toMatchObject({
      ok: false,
      code: "not_found",
      reason: "There is no job never-was.",
    });
  },
);
