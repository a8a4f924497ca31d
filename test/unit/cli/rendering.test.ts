import { beforeAll, describe, expect, it } from "vitest";
import type { Entry, FlatNode, Health } from "../../../infra/api/contract/answers.ts";
import { renderHealth, renderRecord } from "../../../infra/cli/render-status.ts";
import { renderTrajectory } from "../../../infra/cli/render-trajectory.ts";
import { type RenderOptions, renderCounts, renderTree } from "../../../infra/cli/render-tree.ts";
import { LINES_MAX, Progress } from "../../../infra/cli/running/progress.ts";
import { widthOf } from "../../../infra/cli/text.ts";
import { emptyRecord } from "../../../projections/execution-record/fold.ts";

const NOW = 1_700_000_100_000;
const options: RenderOptions = { columns: 80, paint: (_style, text) => text, now: NOW };

beforeAll(() => {
  process.env["TZ"] = "UTC";
});

const node = (id: string, given: Partial<FlatNode> = {}): FlatNode => ({
  depth: 0,
  id,
  workflow: "w",
  user: "local",
  parent: null,
  isOrphan: false,
  type: "load",
  kind: "tool",
  name: "load",
  key: null,
  ordinal: null,
  state: "COMPLETED",
  liveness: "completed",
  attempts: 1,
  submittedAt: NOW - 5_000,
  startedAt: NOW - 4_000,
  endedAt: NOW - 1_000,
  outcome: { kind: "completed", code: null, message: null },
  waitingOn: { ids: [], dropped: 0 },
  ...given,
});

const live = { outcome: null, endedAt: null } as const;

describe("a tree", () => {
  it("shows who stands below whom, in order, with ordinals, attempts and times", () => {
    const nodes = [
      node("w", { type: "import", ...live, state: "RUNNING", liveness: "running" }),
      node("load-a", { depth: 1, ordinal: 1 }),
      node("load-b", { depth: 1, ordinal: 1, attempts: 2 }),
      node("part-1", { depth: 2, ordinal: 1 }),
      node("load-c", {
        depth: 1,
        ordinal: 2,
        ...live,
        state: "QUEUED",
        attempts: 0,
        startedAt: null,
      }),
    ];
    expect(renderTree(nodes, options)).toEqual([
      "● w import running 4.0 s",
      "├─ ✓ 1 load-a completed 3.0 s",
      "├─ ✓ 1 load-b completed attempt 2 3.0 s",
      "│  └─ ✓ 1 part-1 load completed 3.0 s",
      "└─ ○ 2 load-c queued",
    ]);
    expect(renderCounts(nodes)).toBe("5 jobs: 3 completed, 1 running, 1 queued");
  });

  it.each([
    [
      { state: "SCHEDULED", waitingOn: { ids: ["a", "b", "c", "d", "e"], dropped: 3 } },
      "waits on a, b, c, d and 4 more",
    ],
    [
      { state: "IDLE", liveness: "observer_unknown", attempts: 3 },
      "nobody saw attempt 3 end. Say what became of it: holdfast resolve 'j 1'",
    ],
    [
      { state: "IDLE", liveness: "blocked" },
      "is blocked: its type is not among the daemon's job modules",
    ],
    [
      { state: "IDLE", liveness: "retrying", attempts: 1 },
      "attempt 1 was lost; the next one stands in the line",
    ],
    [
      { state: "RUNNING", liveness: "external_wait" },
      "waits for a word from outside: holdfast status 'j 1' says for which",
    ],
    [{ state: "RUNNING", liveness: "stale_suspected" }, "is stale suspected"],
  ] as const)("says why a job stands where it stands: %j", (given, expected) => {
    const lines = renderTree(
      [
        node("j 1", {
          ...live,
          ...given,
          waitingOn: { ids: [], dropped: 0 },
          ...("waitingOn" in given
            ? { waitingOn: { ids: [...given.waitingOn.ids], dropped: given.waitingOn.dropped } }
            : {}),
        }),
      ],
      options,
    );
    expect(
      lines
        .slice(1)
        .map((line) => line.trim())
        .join(" "),
    ).toBe(expected);
  });

  it("shows a time only of what runs or has ended", () => {
    const idle = node("w", { ...live, state: "IDLE", liveness: "observer_unknown" });
    expect(renderTree([idle], options)[0]).toBe("◌ w load idle");
  });

  it("wraps a failure's text beside its branch, at 80 columns", () => {
    const message = `the upstream said ${"no ".repeat(60)}`;
    const failed = { kind: "failed", code: "external_service", message } as const;
    const lines = renderTree(
      [
        node("w"),
        node("load-a", { depth: 1, state: "FAILED", outcome: failed }),
        node("load-b", { depth: 1 }),
      ],
      options,
    );
    expect(lines.filter((line) => widthOf(line) > 80)).toEqual([]);
    expect(lines[2]).toMatch(/^│ {6}external_service: the upstream said no/);
    expect(lines.join(" ").replace(/[│\s]+/g, " ")).toContain(message.trim());
  });

  it("cannot be steered by what a job is called or says", () => {
    const message = "\u001b[1A\u001b[2Kall is well";
    const failed = { kind: "failed", code: "system", message } as const;
    const text = renderTree([node("a\n└─ b", { state: "FAILED", outcome: failed })], options).join(
      "\n",
    );
    expect(text).not.toContain("\u001b");
    expect(text.split("\n")).toHaveLength(2);
    expect(text).toContain("a\\u{a}└─ b");
  });

  it("begins its branches anew where the depth would leave no room, and never cuts an id", () => {
    const nodes = Array.from({ length: 200 }, (_, depth) =>
      node(`load-${"x".repeat(22)}${depth}`, { depth }),
    );
    const lines = renderTree(nodes, options);
    expect(lines.filter((line) => widthOf(line) > 80)).toEqual([]);
    expect(lines.at(-1)).toContain("‥199 ");
    expect(lines.at(-1)).toContain(`load-${"x".repeat(22)}199`);
  });

  it("draws a wide level after a deep one right", () => {
    const depths = [0, 1, 2, 3, 1, 2, 1];
    const lines = renderTree(
      depths.map((depth, index) => node(`load-${index}`, { depth })),
      options,
    );
    expect(lines.map((line) => line.split("✓")[0])).toEqual([
      "",
      "├─ ",
      "│  └─ ",
      "│     └─ ",
      "├─ ",
      "│  └─ ",
      "└─ ",
    ]);
  });
});

const entry = (id: string, given: Partial<Entry> = {}): Entry => ({
  depth: 0,
  path: "1",
  id,
  parent: null,
  isOrphan: false,
  type: "load",
  name: "load",
  key: null,
  state: "COMPLETED",
  attempts: 1,
  startedAt: NOW - 4_000,
  endedAt: NOW - 1_000,
  waitMs: 12,
  durationMs: 3_000,
  outcome: { kind: "completed", code: null, message: null },
  ...given,
});

describe("a trajectory", () => {
  it("is one line a job: path, state, attempts, waiting and running", () => {
    const entries = [
      entry("w", { durationMs: null, endedAt: null, outcome: null, state: "RUNNING" }),
      entry("load-a", { path: "1.1" }),
      entry("load-b", {
        path: "1.2",
        state: "QUEUED",
        attempts: 0,
        startedAt: null,
        endedAt: null,
        waitMs: null,
        durationMs: null,
        outcome: null,
      }),
    ];
    expect(renderTrajectory(entries, options)).toEqual([
      "PATH  JOB       STATE        TRY     WAITED        RAN",
      "1     w         ● running      1      12 ms     4.0 s…",
      "1.1   load-a    ✓ completed    1      12 ms      3.0 s",
      "1.2   load-b    ○ queued",
    ]);
  });

  it("keeps 80 columns whatever the ids, and cuts none", () => {
    const long = `load-${"x".repeat(60)}`;
    const lines = renderTrajectory(
      [entry(long, { path: "1.2.3.4.5.6.7.8.9.10" }), entry("load-a")],
      options,
    );
    expect(lines.filter((line) => widthOf(line) > 90)).toEqual([]);
    expect(lines.join("\n")).toContain(long);
  });

  it("says what failed", () => {
    const outcome = { kind: "failed", code: "job_timeout", message: "too slow" } as const;
    expect(renderTrajectory([entry("a", { state: "TIMED_OUT", outcome })], options).at(-1)).toBe(
      "      job_timeout: too slow",
    );
  });
});

describe("progress", () => {
  it("tells what moved since the last look, and nothing when nothing did", () => {
    const progress = new Progress();
    const look = (...entries: Entry[]) => progress.look(entries, options);
    const running = entry("a", { state: "RUNNING", durationMs: null });
    expect(look(running)).toEqual(["● 1 a running", "1 job: 1 running"]);
    expect(look(running)).toEqual([]);
    expect(look(entry("a"))).toEqual(["✓ 1 a completed 3.0 s", "1 job: 1 completed"]);
    expect(look(entry("a", { attempts: 2 }))[0]).toBe("✓ 1 a completed attempt 2 3.0 s");
  });

  it("counts what is too much to be told one by one", () => {
    const many = Array.from({ length: 500 }, (_, index) => entry(`a${index}`));
    const lines = new Progress().look(many, options);
    expect(lines).toHaveLength(LINES_MAX + 1);
    expect(lines.at(-1)).toBe(`… ${500 - LINES_MAX} more. 500 jobs: 500 completed`);
  });
});

describe("the status", () => {
  it("of a job says what is known, and what to do where nothing goes on by itself", () => {
    const empty = emptyRecord({ taskId: "pay-7", workflow: "w" });
    const text = renderRecord(
      {
        ...empty,
        identity: { ...empty.identity, type: "pay", kind: "tool", user: "ann", parent: "w" },
        job: { ...empty.job, state: "IDLE", value: "interrupted", reason: "its process is gone" },
        liveness: { ...empty.liveness, state: "observer_unknown", reason: "no end was recorded" },
        attempt: 1,
        recovery: { ...empty.recovery, action: "escalate", sideEffect: "unknown" },
        times: { ...empty.times, submittedAt: NOW - 9_000, startedAt: NOW - 8_000 },
      },
      options,
    ).join("\n");
    expect(text).toContain("pay-7  pay (tool)  ◌ idle");
    expect(text).toContain("workflow     w");
    expect(text).toContain("why          its process is gone");
    expect(text).toContain("liveness     observer_unknown: no end was recorded");
    expect(text).toContain("what to do   escalate: holdfast resolve pay-7");
    expect(text).toContain("submitted    2023-11-14 22:14:51");
    expect(text).not.toContain("runs for");
  });

  it("of the daemon fits into 80 columns whatever it lists", () => {
    const health: Health = {
      namespace: "default",
      version: "0.1.0",
      startedAt: NOW - 65_000,
      owner: "host:17",
      state: "ready",
      journal: "resyncing",
      durability: "fsync",
      fence: 1,
      acknowledged: 44,
      pendingMessages: 3,
      liveJobs: 2,
      runningJobs: 1,
      leakedJobs: 0,
      setAside: {
        list: [{ job: "bad", position: 7, kind: "damaged", reason: "does not match its checksum" }],
        dropped: 0,
      },
      types: {
        list: Array.from({ length: 100 }, (_, index) => `type.of.jobs.${index}`),
        dropped: 9,
      },
      server: { version: "2.15.1", isEmbedded: true, pid: 18 },
      stream: { lastSequence: 44, bytes: 45_586, bytesMax: 1_048_576 },
      room: {
        what: "disk",
        usedBytes: 950_000,
        limitBytes: 1_000_000,
        reserveBytes: 100_000,
        isFull: true,
      },
      commandsInFlight: 0,
    };
    const lines = renderHealth(health, options);
    const text = lines.join("\n");
    expect(lines.filter((line) => widthOf(line) > 80)).toEqual([]);
    expect(text).toContain("holdfast 0.1.0  ready, journal resyncing");
    expect(text).toContain("and 101 more");
    expect(text).toContain("bad: does not match its checksum");
    expect(text).toContain("at position 44, 44.5 KiB of at most 1.0 MiB, 3 not acknowledged");
    expect(text).toContain("FULL: 48.8 KiB left (disk), 97.7 KiB are kept for work that runs");
  });
});

it("shows a job that its parent named by type and key, in the trajectory, and by id and key in the tree", () => {
  const [, row = ""] = renderTrajectory([entry("load-9f3a", { key: "minutes/june.md" })], options);
  expect(row).toContain("load minutes/june.md");
  const [line = ""] = renderTree([node("load-9f3a", { key: "minutes/june.md" })], options);
  expect(line).toContain("load-9f3a minutes/june.md");
});
