import { beforeEach, describe, expect, it } from "vitest";
import type { ListedJob } from "../../../infra/api/contract/answers.ts";
import { PAGE_BYTES_MAX } from "../../../infra/api/contract/limits.ts";
import { JobsRequest } from "../../../infra/api/contract/requests.ts";
import type { ApiRuntime } from "../../../infra/api/endpoint.ts";
import { jobsHandler } from "../../../infra/api/handlers/jobs.ts";
import { TestRuntime } from "../../support/runtime.ts";
import { Workshop } from "../../support/workshop.ts";

let shop: Workshop;
let test: TestRuntime;

beforeEach(async () => {
  shop = new Workshop();
  test = await TestRuntime.start({ definitions: shop.all });
});

interface Listed {
  readonly jobs: readonly ListedJob[];
  readonly next: string | null;
}

const SMALL = { window: 3, scanned: 7 };

async function page(request: object, bounds = SMALL): Promise<Listed> {
  const answer = await jobsHandler(test.runtime, bounds)(JobsRequest.parse(request));
  return answer as unknown as Listed; // Of a good answer; a refusal has no jobs, and fails below.
}

/** Every page, put together. */
async function all(request: object, bounds = SMALL): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const { jobs, next } = await page({ ...request, ...(cursor ? { cursor } : {}) }, bounds);
    ids.push(...jobs.map(({ id }) => id));
    if (next === null) return ids;
    cursor = next;
  }
}

async function submit(type: "quick" | "safe", id: string, user = "ann"): Promise<void> {
  const definition = type === "quick" ? shop.quick : shop.safe;
  await test.runtime.submit(definition, { label: id }, { id, user });
  await test.settle();
}

/** Ten jobs a second apart: q0 has ended, s1 runs, q2 has ended … of two users in turn. */
async function submitTen(): Promise<number> {
  const start = test.machine.wallMs;
  for (let index = 0; index < 10; index += 1) {
    const user = index % 3 === 0 ? "bea" : "ann";
    await submit(
      index % 2 === 0 ? "quick" : "safe",
      `${index % 2 === 0 ? "q" : "s"}${index}`,
      user,
    );
    await test.advance(1_000);
  }
  return start;
}

describe("[API-1] a list of jobs", () => {
  it("has every job once, the newest first, however small its windows and pages are", async () => {
    await submitTen();
    const ids = ["s9", "q8", "s7", "q6", "s5", "q4", "s3", "q2", "s1", "q0"];
    expect(await all({})).toEqual(ids);
    expect(await all({ limit: 1 })).toEqual(ids);
    expect(await all({ limit: 4 }, { window: 1, scanned: 1 })).toEqual(ids);
    expect(await all({}, { window: 4_096, scanned: 32_768 })).toEqual(ids);
  });

  it("tells of each job what the tree tells", async () => {
    await submit("quick", "q", "bea");
    const { jobs } = await page({});
    expect(jobs).toMatchObject([
      {
        id: "q",
        workflow: "q",
        user: "bea",
        parent: null,
        type: "quick",
        kind: "tool",
        state: "COMPLETED",
        liveness: "completed",
        attempts: 1,
        outcome: { kind: "completed", code: null, message: null },
      },
    ]);
  });

  it("is narrowed by state, type, user and time together", async () => {
    const start = await submitTen();
    expect(await all({ state: ["RUNNING"] })).toEqual(["s9", "s7", "s5", "s3", "s1"]);
    expect(await all({ state: ["COMPLETED", "FAILED"] })).toEqual(["q8", "q6", "q4", "q2", "q0"]);
    expect(await all({ type: "safe", user: "bea" })).toEqual(["s9", "s3"]);
    expect(await all({ since: start + 3_000, until: start + 6_000 })).toEqual(["s5", "q4", "s3"]);
    expect(await all({ type: "nobody" })).toEqual([]);
  });

  it("shows the state that a job has come to long after the window of its submission", async () => {
    await submit("safe", "early");
    for (let index = 0; index < 9; index += 1) await submit("quick", `q${index}`);
    expect(await all({ state: ["RUNNING"] })).toEqual(["early"]);
    shop.end("early", "done");
    await test.settle();
    expect(await all({ state: ["RUNNING"] })).toEqual([]);
    expect(await all({ type: "safe", state: ["COMPLETED"] })).toEqual(["early"]);
  });

  it("goes on where it was, whatever was submitted meanwhile", async () => {
    await submitTen();
    const first = await page({ limit: 4 });
    expect(first.jobs.map(({ id }) => id)).toEqual(["s9", "q8", "s7", "q6"]);
    await submit("quick", "later");
    const rest = await all({ cursor: first.next ?? "" });
    expect(rest).not.toContain("later");
    expect(new Set([...first.jobs.map(({ id }) => id), ...rest]).size).toBe(10);
    expect(first.jobs.length + rest.length).toBe(10);
  });

  it("reads so many positions a page and no more, and says where it stopped", async () => {
    await submitTen();
    const reads: number[] = [];
    const counting: Pick<ApiRuntime, "health" | "readTasks"> = {
      health: () => test.runtime.health(),
      readTasks: (range) => {
        if (range.tasks === undefined) reads.push((range.through ?? 0) - range.from + 1);
        return test.runtime.readTasks(range);
      },
    };
    const answer = await jobsHandler(counting, SMALL)(JobsRequest.parse({ type: "nobody" }));
    expect(answer).toMatchObject({ ok: true, jobs: [], next: expect.stringMatching(/^b\d+$/) });
    expect(reads).toEqual([3, 3, 1]);
  });

  it("ends a page before it passes its bytes", async () => {
    await submitTen();
    const long = "x".repeat(PAGE_BYTES_MAX);
    const bulky: Pick<ApiRuntime, "health" | "readTasks"> = {
      health: () => test.runtime.health(),
      readTasks: async (range) =>
        JSON.parse(
          JSON.stringify(await test.runtime.readTasks(range)).replaceAll(
            '"user":"bea"',
            `"user":"${long}"`,
          ),
        ),
    };
    const whole = { window: 4_096, scanned: 32_768 };
    const first = await jobsHandler(bulky, whole)(JobsRequest.parse({}));
    expect((first as unknown as Listed).jobs.map(({ id }) => id)).toEqual(["s9"]); // As in `page`.
    expect(first["next"]).not.toBeNull();
  });
});

describe("a request for a list", () => {
  it.each([
    ["a state that there is not", { state: ["DONE"] }],
    ["no state", { state: [] }],
    ["a page of none", { limit: 0 }],
    ["a page beyond the bound", { limit: 1_001 }],
    ["a cursor of another kind", { cursor: "9.2" }],
    ["a time that is none", { since: "yesterday" }],
  ])("with %s is refused", (_what, request) => {
    expect(JobsRequest.safeParse(request).success).toBe(false);
  });
});
