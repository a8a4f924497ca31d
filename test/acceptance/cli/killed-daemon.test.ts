/** The thin whole, by the command line alone: a workflow that survives kill -9 of its daemon and of its server. */
import { afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { serverFolder } from "../../../infra/nats-server/folder.ts";
import { readRecord } from "../../../infra/nats-server/record.ts";
import { killProcess } from "../../support/server.ts";
import { buildProgram, until, Workplace } from "./workplace.ts";

let place: Workplace;

beforeAll(() => {
  buildProgram();
});

beforeEach(async () => {
  place = new Workplace();
  await place.useServer("newest");
});

afterEach(() => place.clear());

interface Node {
  readonly id: string;
  readonly type: string;
  readonly state: string;
  readonly attempts: number;
  readonly ordinal: number | null;
}

async function nodesOf(job: string): Promise<readonly Node[]> {
  const { nodes } = (await place.run(["tree", job, "--json"])).json();
  return nodes as readonly Node[];
}

const stateOf = async (job: string): Promise<unknown> => {
  const { record } = (await place.run(["status", job, "--json"])).json();
  return (record as { job: { state: string } } | undefined)?.job.state;
};

it("[ES-4, TREE-6] a workflow is submitted, its daemon killed and started again, and it ends with nothing done twice", async () => {
  const daemon = await place.up();
  const gate = place.path("gate");
  const input = JSON.stringify({ until: gate });
  const submitted = await place.run(["submit", "import", input, "--id", "night", "--json"]);
  expect(submitted.json()).toMatchObject({ ok: true, decision: "submitted", job: "night" });
  await until(() => place.effects().length === 2);
  await until(
    async () => (await nodesOf("night")).filter(({ state }) => state === "COMPLETED").length === 2,
  );

  await daemon.kill();
  const asked = await place.run(["status", "night"]);
  expect(asked.code).toBe(6);
  expect(asked.stderr.replace(/\s+/g, " ")).toContain(
    `(pid ${daemon.pid}) is gone without having stopped`,
  );

  const next = await place.up();
  place.file("gate");
  const again = await place.run(["submit", "import", input, "--id", "night", "--wait", "--json"]);
  expect(again.code).toBe(0);
  expect(again.json()).toMatchObject({
    decision: "ended",
    outcome: { kind: "completed", result: 4 },
  });
  expect(place.effects().sort()).toEqual([
    "load one attempt 1",
    "load three attempt 2",
    "load two attempt 1",
  ]);
  const nodes = await nodesOf("night");
  expect(
    nodes.map(({ type, state, attempts, ordinal }) => [type, state, attempts, ordinal]),
  ).toEqual([
    ["import", "COMPLETED", 2, null],
    ["load", "COMPLETED", 1, 1],
    ["load", "COMPLETED", 1, 1],
    ["load", "COMPLETED", 2, 1],
    ["add", "COMPLETED", 1, 2],
  ]);
  const trajectory = await place.run(["trajectory", "night", "--json"]);
  const { entries } = trajectory.json();
  expect((entries as { path: string }[]).map(({ path }) => path)).toEqual([
    "1",
    "1.1",
    "1.1",
    "1.1",
    "1.2",
  ]);
  next.signal("SIGTERM");
  expect((await next.ended).code).toBe(0);
});

it("[RTY-2] a job that may not be run again waits for a person's word after a kill", async () => {
  const daemon = await place.up();
  const gate = place.path("gate");
  await place.run(["submit", "pay", JSON.stringify({ until: gate }), "--id", "pay-7"]);
  await until(async () => (await stateOf("pay-7")) === "RUNNING");
  await daemon.kill();
  await place.up();
  place.file("gate");
  expect(await stateOf("pay-7")).toBe("IDLE");
  const shown = await place.run(["tree", "pay-7"]);
  expect(shown.stdout).toContain("holdfast resolve pay-7");
  const resolved = await place.run([
    ...["resolve", "pay-7", "--completed", '{"paid":true}'],
    ...["--reason", "it is on the bank statement", "--json"],
  ]);
  expect(resolved.json()).toMatchObject({ ok: true, decision: "completed" });
  await until(async () => (await stateOf("pay-7")) === "COMPLETED");
});

it("whoever runs a workflow and waits gets its end across a kill of the server and of the daemon", async () => {
  const daemon = await place.up();
  const gate = place.path("gate");
  const file = place.file("night.json", JSON.stringify({ type: "import", input: { until: gate } }));
  const running = place.begin(["run", file]);
  await until(() => place.effects().length === 2);
  await until(() => running.stderr().includes("completed"));
  const server = readRecord(serverFolder(place.dataDir))?.running;
  if (server === null || server === undefined) throw new Error("there is no server");
  await killProcess(server.process);
  // The daemon starts its server again and answers as if nothing had been.
  await until(async () => {
    const health = await place.run(["status", "--json"]);
    return health.code === 0 && JSON.stringify(health.json()).includes('"journal":"open"');
  });
  await daemon.kill();
  await until(() => running.stderr().includes("Waiting for it to come back"));
  await place.up();
  place.file("gate");
  const ended = await running.ended;
  expect(ended.code).toBe(0);
  expect(ended.stdout).toContain("result: 4");
  expect(ended.stdout).toMatch(/^✓ import-\w+ completed attempt 2/m);
  expect(place.effects().filter((line) => line.startsWith("load one"))).toHaveLength(1);
});

it("a rejection that a job's code leaves behind is told and harms nobody; an exception ends the process, and nothing is lost", async () => {
  const daemon = await place.up();
  const rejected = await place.run(["submit", "stray", '"rejection"', "--wait"]);
  expect(rejected.code).toBe(0);
  expect(daemon.stderr()).toContain("a rejection that nobody handled");
  expect(daemon.stderr()).toContain("nobody waits for this");
  await place.run(["submit", "stray", '"exception"', "--id", "stray"]);
  expect((await daemon.ended).code).toBe(70);
  expect(daemon.stderr()).toContain("nobody catches this");
  await place.up();
  expect(await stateOf("stray")).toBe("IDLE");
});
