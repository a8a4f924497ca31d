import { beforeAll, expect, it } from "vitest";
import type { ListedJob } from "../../../infra/api/contract/answers.ts";
import { widthOf } from "../../../infra/cli/text.ts";
import { renderJobs } from "../../../infra/cli/verbs/jobs.ts";

const NOW = 1_700_000_100_000;
const options = { columns: 80, paint: (_style: string, text: string) => text, now: NOW };

beforeAll(() => {
  process.env["TZ"] = "UTC";
});

const job = (id: string, given: Partial<ListedJob> = {}): ListedJob => ({
  id,
  workflow: id,
  user: "local",
  parent: null,
  type: "load",
  kind: "tool",
  name: "load",
  key: null,
  state: "COMPLETED",
  liveness: "completed",
  attempts: 1,
  submittedAt: NOW - 5_000,
  startedAt: NOW - 4_000,
  endedAt: NOW - 1_000,
  outcome: { kind: "completed", code: null, message: null },
  position: 7,
  ...given,
});

it("a list of jobs is one line a job: state, submission, running time, type, id", () => {
  const running = { state: "RUNNING", endedAt: null, outcome: null } as const;
  expect(renderJobs([job("a"), job("b", running)], options)).toEqual([
    "STATE       SUBMITTED                  RAN  TYPE  JOB",
    "✓ completed 2023-11-14 22:14:55      3.0 s  load  a",
    "● running   2023-11-14 22:14:55     4.0 s…  load  b",
  ]);
});

it("a list of jobs keeps 80 columns whatever the types and ids, and cuts none", () => {
  const lines = renderJobs(
    [job("i".repeat(70)), job("short", { type: "t".repeat(30) }), job("x\u001b[2Jy")],
    options,
  );
  expect(lines.filter((line) => widthOf(line) > 80)).toEqual([]);
  expect(lines.join("\n")).toContain("i".repeat(70));
  expect(lines.join("\n")).toContain("t".repeat(30));
  expect(lines.join("\n")).not.toContain("\u001b");
});
