/** Every verb of the built program against a daemon that runs: exit codes, what is said, and that `--json` is JSON and nothing else. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildProgram, JOBS, RUN_MODULE, type Running, until, Workplace } from "./workplace.ts";

let place: Workplace;
let daemon: Running;

beforeAll(async () => {
  buildProgram();
  place = new Workplace();
  await place.useServer("newest");
  daemon = await place.up();
});

afterAll(() => place.clear());

describe("up", () => {
  it("says as one document where it is and what it runs, and goes on", () => {
    expect(JSON.parse(daemon.stdout())).toMatchObject({
      ok: true,
      pid: daemon.pid,
      namespace: "default",
      dataDir: place.dataDir,
      durability: "process",
      types: expect.arrayContaining(["add", "approve", "import", "fail", "load", "pay", "wide"]),
    });
  });

  it("[ES-3] is refused on a folder that a living daemon owns, with its number", async () => {
    const second = await place.run(["up", "--jobs", JOBS, "--durability", "process", "--json"]);
    expect(second.code).toBe(5);
    expect(second.json()).toMatchObject({
      ok: false,
      code: "ownership",
      details: { folder: place.dataDir, pid: daemon.pid },
    });
    const told = await place.run(["up", "--jobs", JOBS]);
    expect(told.code).toBe(5);
    expect(told.stdout).toBe("");
    expect(told.stderr).toContain(String(daemon.pid));
  });

  it("logs JSON lines to stderr", () => {
    const lines = daemon.stderr().trim().split("\n");
    for (const line of lines) {
      expect(JSON.parse(line)).toMatchObject({
        level: "info",
        pid: daemon.pid,
        msg: expect.any(String),
      });
    }
    expect(lines.length).toBeGreaterThanOrEqual(3);
  });
});

describe("submit", () => {
  it("says which job it is, and with --wait its result and how it ended", async () => {
    const submitted = await place.run(["submit", "add", '{"a":1,"b":2}', "--id", "sum"]);
    expect([submitted.code, submitted.stdout]).toEqual([0, "submitted sum\n"]);
    const joined = await place.run(["submit", "add", '{"a":1,"b":2}', "--id", "sum"]);
    expect([joined.code, joined.stdout]).toEqual([0, "joined sum\n"]);
    const waited = await place.run(["submit", "add", '{"a":1,"b":2}', "--wait"]);
    expect([waited.code, waited.stdout, waited.stderr]).toEqual([0, "3\n", ""]);
    const failed = await place.run(["submit", "fail", '"no luck"', "--wait"]);
    expect([failed.code, failed.stdout]).toEqual([10, ""]);
    expect(failed.stderr).toContain("Error: no luck");
  });

  it("waits for other jobs, and keeps metadata; status shows several jobs at once", async () => {
    const failed = await place.run(["submit", "fail", '"no luck"', "--id", "unlucky", "--wait"]);
    expect(failed.code).toBe(10);
    const after = ["--after", "sum", "--after", "unlucky", "--metadata", '{"ticket":"T-1"}'];
    const add = ["submit", "add", '{"a":1,"b":1}', "--wait", ...after];
    expect((await place.run([...add, "--id", "strict"])).code).toBe(10);
    const tolerant = await place.run([...add, "--id", "tolerant", "--tolerate-failures"]);
    expect([tolerant.code, tolerant.stdout]).toEqual([0, "2\n"]);
    const both = await place.run(["status", "tolerant", "strict", "--json"]);
    expect([both.code, both.json()]).toMatchObject([
      0,
      {
        ok: true,
        records: [
          { record: { job: { state: "COMPLETED" } } },
          { record: { job: { state: "FAILED" } } },
        ],
      },
    ]);
    const told = await place.run(["status", "tolerant", "nowhere"]);
    expect([told.code, told.stdout]).toEqual([1, expect.stringMatching(/tolerant .*nowhere/s)]);
  });

  it("reads its input from a file and from stdin", async () => {
    const file = place.file("input.json", '{"a": 20, "b": 22}');
    expect((await place.run(["submit", "add", `@${file}`, "--wait"])).stdout).toBe("42\n");
    const piped = await place.run(["submit", "add", "-", "--wait"], { stdin: '{"a":1,"b":1}' });
    expect(piped.stdout).toBe("2\n");
  });

  it.concurrent.each([
    [["submit", "add", '{"a":1}'], 1, /invalid_argument.*b: Invalid input/],
    [["submit", "nope"], 1, /not_found.*No job type "nope" is known/],
    [["submit", "add", '{"a":1,"b":2}', "--id", "  "], 1, /id: an id is not blank/],
    [["submit", "add", '{"a":1,"b":3}', "--id", "sum"], 1, /conflict/],
    [["submit", "add", "{"], 64, /INPUT is not JSON/],
    [["submit", "add", "@nowhere.json"], 64, /nowhere\.json cannot be read: ENOENT/],
    [["submit", "add", "{}", "--wat"], 64, /no option --wat \(did you mean --wait\?\)/],
    [["sumbit"], 64, /Did you mean submit\?/],
  ])("%j ends with code %i and says why", async (words, code, expected) => {
    const ended = await place.run(words);
    expect(ended.code).toBe(code);
    expect(ended.stdout).toBe("");
    expect(ended.stderr.replace(/\s+/g, " ")).toMatch(expected);
    const json = await place.run([...words, "--json"]);
    expect(json.code).toBe(code);
    expect(json.json()).toMatchObject({
      ok: false,
      code: expect.any(String),
      reason: expect.any(String),
    });
    expect(json.stderr).toBe("");
  });
});

describe("run", () => {
  it("shows the tree at the end, and its exit code is the outcome", async () => {
    const ended = await place.run(["run", RUN_MODULE]);
    expect(ended.code).toBe(0);
    expect(ended.stdout.replace(/\d+(?:\.\d)? m?s/g, "T").replace(/-[\w-]{22}/g, "-ID")).toBe(
      [
        "✓ from-module import completed T",
        "├─ ✓ 1 load-ID completed T",
        "├─ ✓ 1 load-ID completed T",
        "├─ ✓ 1 load-ID completed T",
        "└─ ✓ 2 add-ID completed T",
        "5 jobs: 5 completed",
        "result: 4",
        "",
      ].join("\n"),
    );
    const file = place.file("fails.json", '{"type":"fail","input":"no luck"}');
    const failed = await place.run(["run", file, "--json"]);
    expect(failed.code).toBe(10);
    expect(failed.json()).toMatchObject({
      ok: true,
      decision: "ended",
      outcome: { kind: "failed" },
      tree: { ok: true, total: 1 },
    });
  });

  it("tells progress while it runs; Ctrl-C ends the watching, not the job", async () => {
    const gate = place.path("gate");
    const file = place.file(
      "slow.json",
      JSON.stringify({ type: "load", id: "slow", input: { name: "slow", until: gate } }),
    );
    const running = place.begin(["run", file]);
    await until(
      () =>
        running.stderr().includes("● 1 slow load running") ||
        running.stderr().includes("● 1 slow running"),
    );
    running.signal("SIGINT");
    const ended = await running.ended;
    expect(ended.code).toBe(130);
    expect(ended.stderr).toContain("slow goes on: holdfast status slow");
    place.file("gate");
    expect((await place.run(["run", file])).code).toBe(0);
  });
});

describe("cancel and answer", () => {
  it("[CAN-2] a running job is cancelled, and whoever waits for it is told by the exit code", async () => {
    const input = JSON.stringify({ name: "held", until: place.path("never") });
    const waiting = place.begin(["submit", "load", input, "--id", "held", "--wait"]);
    await until(async () => (await place.run(["tree", "held"])).stdout.includes("running"));
    const cancelled = await place.run(["cancel", "held", "--reason", "wrong file", "--json"]);
    expect(cancelled.json()).toMatchObject({ ok: true, decision: "cancelling", job: "held" });
    const ended = await waiting.ended;
    expect(ended.code).toBe(11);
    expect(ended.stderr).toContain("wrong file");
    const again = await place.run(["cancel", "sum"]);
    expect(again.code).toBe(1);
    expect(again.stderr).toContain("has ended: completed");
  });

  it("a job gets the word it waits for", async () => {
    await place.run(["submit", "approve", "--id", "release"]);
    await until(async () =>
      (await place.run(["status", "release"])).stdout.includes("word: somebody"),
    );
    expect((await place.run(["answer", "release", "word", '{"go":true}'])).stdout).toBe(
      "answered release: the job has it\n",
    );
    await until(async () => (await place.run(["tree", "release"])).stdout.includes("completed"));
  });
});

describe("--json", () => {
  it.concurrent.each([
    [["status"]],
    [["status", "sum"]],
    [["tree", "sum"]],
    [["trajectory", "sum"]],
    [["jobs"]],
    [["jobs", "--state", "completed", "--type", "add", "--since", "1h", "--limit", "2"]],
    [["jobs", "--since", "soon"]],
    [["doctor", "--durability", "process"]],
    [["submit", "add", '{"a":1,"b":2}']],
    [["submit", "add", '{"a":1,"b":2}', "--wait"]],
    [["answer", "sum", "word", "1"]],
    [["resolve", "sum", "--retry", "--reason", "x"]],
    [["cancel", "never-was"]],
    [["tree", "never-was"]],
    [["status", "--data", "/nowhere/at/all"]],
    [["--version"]],
    [["--help"]],
    [["tree", "--help"]],
    [["tree"]],
    [["up", "--jobs", "/nowhere/at/all.mjs"]],
    [["up", "--durability", "maybe"]],
    [["run", "/nowhere/at/all.json"]],
  ])("of %j is one document on stdout and nothing else", async (words) => {
    const ended = await place.run([...words, "--json"]);
    expect(ended.json()).toMatchObject({ ok: expect.any(Boolean) });
    expect(ended.stdout.trimEnd().split("\n")).toHaveLength(1);
    expect(ended.json()["ok"]).toBe(ended.code === 0);
    expect(ended.stderr).toBe("");
  });
});

it("output that its reader is slow to take comes whole", async () => {
  const width = 1_500;
  await place.run(["submit", "wide", JSON.stringify({ width }), "--id", "wide", "--wait"]);
  const ended = await place.run(["tree", "wide", "--json"], { readAfterMs: 2_000 });
  expect(ended.stdout.length).toBeGreaterThan(512 * 1024);
  expect(ended.json()).toMatchObject({ ok: true, total: width + 1 });
});

describe("for people", () => {
  it.concurrent.each([
    [["status"]],
    [["status", "sum"]],
    [["tree", "from-module"]],
    [["trajectory", "from-module"]],
    [["jobs"]],
    [["doctor", "--durability", "process"]],
    [["--help"]],
    [["up", "--help"]],
  ])("%j fits into 80 columns and has no colour when it is piped", async (words) => {
    const ended = await place.run(words);
    expect(ended.code).toBe(0);
    expect(ended.stdout).not.toContain("\u001b");
    const isPath = (line: string) => /\/\S{40}/.test(line);
    const wide = ended.stdout.split("\n").filter((line) => line.length > 80 && !isPath(line));
    expect(wide).toEqual([]);
  });
});

it("a daemon that is asked to stop goes down in order, and the next client is told", async () => {
  const own = new Workplace();
  try {
    await own.useServer("newest");
    const other = await own.up("--namespace", "other");
    expect((await own.run(["status"])).stdout).toMatch(/namespace +other/);
    other.signal("SIGINT");
    expect((await other.ended).code).toBe(0);
    const asked = await own.run(["status", "--json"]);
    expect(asked.code).toBe(6);
    expect(asked.json()).toMatchObject({ code: "external_service" });
  } finally {
    await own.clear();
  }
});

it("a second signal stops a daemon at once, and the next one takes over its folder and its server", async () => {
  const own = new Workplace();
  try {
    await own.useServer("newest");
    const first = await own.up();
    const server = (JSON.parse(first.stdout()) as { server: { pid: number } }).server.pid;
    const input = JSON.stringify({ name: "held", until: own.path("never") });
    await own.run(["submit", "load", input, "--id", "held"]);
    await until(async () => (await own.run(["tree", "held"])).stdout.includes("running"));
    first.signal("SIGTERM");
    await until(() => first.stderr().includes("asked to stop"));
    first.signal("SIGTERM");
    expect((await first.ended).code).toBe(143);
    const next = await own.up();
    expect(JSON.parse(next.stdout())).toMatchObject({ server: { pid: server } });
    expect((await own.run(["tree", "held"])).stdout).toContain("attempt 2");
  } finally {
    await own.clear();
  }
});

it("a server that is too old for the durability is refused with what is needed, and nothing is left behind", async () => {
  const own = new Workplace();
  try {
    await own.useServer("floor");
    const refused = await own.run(["up", "--jobs", JOBS, "--durability", "fsync", "--json"]);
    expect(refused.code).toBe(2);
    expect(refused.json()).toMatchObject({
      ok: false,
      code: "config",
      reason: expect.stringContaining('too old for durability "fsync"'),
      details: { needed: "2.12.0" },
    });
    // The same server, and what it can keep.
    const daemon = await own.up();
    expect(JSON.parse(daemon.stdout())).toMatchObject({ durability: "process" });
    expect((await own.run(["submit", "add", '{"a":1,"b":2}', "--wait"])).stdout).toBe("3\n");
    const doctor = await own.run(["doctor", "--durability", "process", "--json"]);
    expect(doctor.json()).toMatchObject({ ok: true });
  } finally {
    await own.clear();
  }
});
