/**
 * Recovery: what becomes of every live job when its process is gone.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool } from "../../../actors/attempt/definition.ts";
import type { JobHandle } from "../../../actors/jobs/handle.ts";
import { parseFrame } from "../../../actors/journal/frame.ts";
import { worldOf } from "../../../actors/runtime/runtime.ts";
import { DEPENDENTS_PER_TURN } from "../../../actors/turn/routes.ts";
import { JsonSchema } from "../../../machines/json.ts";
import { assertLiveIsFold } from "../../support/fold.ts";
import {
  codeOf,
  copyLog,
  failureOf,
  flush,
  standingOf,
  TestRuntime,
  wholePrefixes,
} from "../../support/runtime.ts";
import { Workshop } from "../../support/workshop.ts";

const start = async () => {
  const shop = new Workshop();
  return { shop, test: await TestRuntime.start({ definitions: shop.all }) };
};

/** A handle on a job that must be there. */
const find = async (test: TestRuntime, job: string): Promise<JobHandle<unknown>> => {
  const handle = await test.runtime.find(job);
  if (handle === null) throw new Error(`${job} is not there`);
  return handle;
};

describe("a job that is safe to retry", () => {
  it("[RTY-1, RTY-3] runs again within its budget, passes `retrying`, and says why", async () => {
    const { shop, test } = await start();
    await test.runtime.submit(shop.safe, { label: "a" }, { id: "a" });
    await flush();
    await test.restart();
    expect(shop.runs("a")).toBe(2);
    expect(shop.context("a").attempt).toBe(2);
    expect(test.states("a")).toEqual([
      "queued",
      "running",
      "observer_unknown",
      "retrying",
      "running",
    ]);
    const rerun = test
      .transitions("job:a")
      .find(({ event }) => event.type === "job.rerunScheduled");
    expect(rerun?.reason).toContain("attempt 1");
    const lost = test.transitions("liveness:a").find(({ to }) => to === "observer_unknown");
    expect(lost?.evidence).toMatchObject({ owner: "test-2" });
    expect(worldOf(test.runtime).cells.task("a")?.liveness.now.context.retries).toBe(1);
    shop.end("a", 1);
    expect(await (await find(test, "a")).result()).toBe(1);
  });

  it("[RTY-3] that takes its process with it each time starts at most once more than its budget, then fails as worker_lost", async () => {
    const { shop, test } = await start();
    await test.runtime.submit(shop.safe, { label: "a" }, { id: "a" });
    await flush();
    for (let restart = 0; restart < 6; restart += 1) await test.restart();
    expect(shop.runs("a")).toBe(3);
    const failure = await failureOf(await find(test, "a"));
    expect(failure.message).toContain("worker_lost");
    expect(failure).toMatchObject({
      details: { reason: "worker_lost", attempts: 3, retryBudget: 2 },
    });
    expect(test.states("a").at(-1)).toBe("failed");
    expect(test.runtime.health().liveJobs).toBe(0);
  });

  it("[RTY-3] with a budget of none is not run again", async () => {
    const { shop, test } = await start();
    const once = defineTool({
      type: "once",
      input: z.null(),
      output: JsonSchema,
      retry: { class: "safe_to_retry", budget: 0 },
      run: () => {
        shop.order.push("once");
        return new Promise<null>(() => undefined);
      },
    });
    await test.restart({ definitions: [once] });
    await test.runtime.submit(once, null, { id: "a" });
    await flush();
    await test.restart();
    expect(shop.order).toEqual(["once"]);
    expect(test.states("a").at(-1)).toBe("failed");
  });

  it("[RTY-5, CAN-1] can be cancelled during its second attempt, and is not run a third time", async () => {
    const { shop, test } = await start();
    await test.runtime.submit(shop.safe, { label: "a" }, { id: "a" });
    await flush();
    await test.restart();
    const handle = await find(test, "a");
    expect(await handle.cancel("enough")).toMatchObject({ decision: "cancelling" });
    await test.restart();
    expect(shop.runs("a")).toBe(2);
    expect(standingOf(await find(test, "a"))).toBe("job_cancelled");
  });

  it("[RTY-3] whose owner died between its interruption and its new attempt is run again by the next one", async () => {
    const { shop, test } = await start();
    await test.runtime.submit(shop.safe, { label: "a" }, { id: "a" });
    await flush();
    await test.restart();
    const { messages } = test.log;
    for (const length of wholePrefixes(messages)) {
      const log = await copyLog(messages.slice(0, length));
      const again = await TestRuntime.start({ definitions: shop.all, log });
      const isOpened = again.history("a").length > 0;
      expect(again.stateOf("a")).toBe(isOpened ? "running" : null);
      assertLiveIsFold(again.runtime, log.messages);
    }
  });
});

describe("a job of another class", () => {
  const classes = [
    "unknown_no_automatic_retry",
    "non_idempotent_no_automatic_retry",
    "retry_from_checkpoint",
    "retry_requires_reconciliation",
  ] as const;

  it.each(classes)(
    "[RTY-1, RTY-2, RTY-6] %s: nobody saw its end, so it is not run again, however often the daemon restarts",
    async (retryClass) => {
      const { shop, test } = await start();
      const tool = defineTool({
        type: "append",
        input: z.null(),
        output: JsonSchema,
        retry: { class: retryClass, budget: 1_000 },
        run: () => {
          shop.order.push("line");
          return new Promise<null>(() => undefined);
        },
      });
      await test.restart({ definitions: [tool, ...shop.all] });
      const job = await test.runtime.submit(tool, null, { id: "a" });
      await test.runtime.submit(shop.quick, { label: "dependent" }, { id: "d", after: [job] });
      await flush();
      for (let restart = 0; restart < 5; restart += 1) {
        await test.restart();
        expect(test.stateOf("a")).toBe("interrupted");
        expect(test.stateOf("d")).toBe("waiting");
        assertLiveIsFold(test.runtime, test.log.messages);
      }
      expect(shop.order).toEqual(["line"]);
      expect(test.history("a")).toEqual(["submitted", "started", "interrupted"]);
      expect(test.states("a")).toEqual(["queued", "running", "observer_unknown"]);
      const record = worldOf(test.runtime).cells.task("a")?.liveness.now.context;
      expect(record).toMatchObject({ sideEffect: "unknown", retries: 0 });
    },
  );

  it("[RTY-2, GATE-2] resolved as completed frees its dependents once", async () => {
    const { shop, test } = await start();
    const job = await test.runtime.submit(shop.unsure, { label: "a" }, { id: "a" });
    await test.runtime.submit(shop.quick, { label: "d" }, { id: "d", after: [job] });
    await flush();
    await test.restart();
    await test.runtime.resolve("a", { kind: "completed", result: 7 }, "ada", "the line is there");
    expect(await (await find(test, "a")).result()).toBe(7);
    await flush();
    expect(shop.counts).toEqual({ a: 1, d: 1 });
    expect(shop.context("d").dependencies.singleResult()).toBe(7);
    const move = test.transitions("job:a").at(-1);
    expect(move).toMatchObject({ reason: "the line is there", evidence: { by: "ada" } });
  });

  it("[RTY-2, ATT-1] resolved as failed fails its dependents, naming it", async () => {
    const { shop, test } = await start();
    const job = await test.runtime.submit(shop.unsure, { label: "a" }, { id: "a" });
    await test.runtime.submit(shop.quick, { label: "d" }, { id: "d", after: [job] });
    await flush();
    await test.restart();
    const dependent = await find(test, "d");
    await test.runtime.resolve("a", { kind: "failed", message: "no line" }, "ada", "looked");
    expect((await failureOf(await find(test, "a"))).message).toContain("ada said");
    expect(await failureOf(dependent)).toMatchObject({ details: { rootCause: "a" } });
    expect(shop.counts).toEqual({ a: 1 });
  });

  it("[RTY-1] is run again by a person's recorded command, and by nothing else", async () => {
    const { shop, test } = await start();
    await test.runtime.submit(shop.unsure, { label: "a" }, { id: "a" });
    await flush();
    await test.restart();
    await test.runtime.resolve("a", { kind: "retry" }, "ada", "it is fine");
    await flush();
    expect(shop.runs("a")).toBe(2);
    expect(shop.context("a").attempt).toBe(2);
    await test.restart();
    expect(test.stateOf("a")).toBe("interrupted");
    expect(shop.runs("a")).toBe(2);
    const rerun = test
      .transitions("job:a")
      .find(({ event }) => event.type === "job.rerunScheduled");
    expect(rerun?.reason).toContain("ada ordered");
  });

  it("[API-2] is resolved only where nobody saw its end; everything else refuses by its code", async () => {
    const { shop, test } = await start();
    await test.runtime.submit(shop.unsure, { label: "a" }, { id: "a" });
    await flush();
    const done = { kind: "completed", result: null } as const;
    const { runtime } = test;
    await expect(runtime.resolve("a", done, "ada", "x")).rejects.toMatchObject({
      code: "illegal_state",
    });
    await expect(runtime.resolve("b", done, "ada", "x")).rejects.toMatchObject({
      code: "not_found",
    });
    await test.restart();
    await test.runtime.resolve("a", done, "ada", "x");
    await expect(test.runtime.resolve("a", done, "ada", "x")).rejects.toMatchObject({
      code: "not_found",
    });
  });
});

describe("a finished job", () => {
  it("[ES-2, ES-11] never runs again, and a fold runs none of its effects", async () => {
    const { shop, test } = await start();
    shop.answer("broken", () => {
      throw new Error("no");
    });
    for (const label of ["a", "broken"])
      await test.runtime.submit(shop.quick, { label }, { id: label });
    await flush();
    for (let restart = 0; restart < 3; restart += 1) {
      await test.restart();
      expect(standingOf(await find(test, "a"))).toBe('completed "a"');
      expect(standingOf(await find(test, "broken"))).toBe("system");
    }
    expect(shop.counts).toEqual({ a: 1, broken: 1 });
    expect(test.runtime.health().liveJobs).toBe(0);
  });

  it("[ES-4] whose end was stored but never acknowledged has ended: it does not run again", async () => {
    const { shop, test } = await start();
    const handle = await test.runtime.submit(shop.safe, { label: "a" }, { id: "a" });
    await flush();
    test.answers.hold();
    shop.end("a", 5);
    await flush();
    test.answers.drop();
    await test.restart();
    expect(standingOf(handle)).not.toBe("completed 5");
    expect(standingOf(await find(test, "a"))).toBe("completed 5");
    expect(shop.runs("a")).toBe(1);
  });
});

describe("a job that has not started", () => {
  it("[CAN-7] is one job after twenty restarts without its type, its journal does not grow, and it starts once", async () => {
    const { shop, test } = await start();
    const held = await test.runtime.submit(shop.safe, { label: "held" });
    await test.runtime.submit(shop.quick, { label: "q" }, { id: "q", after: [held] });
    await flush();
    void test.runtime.detach({ waitMs: 1_000 });
    shop.end("held");
    await test.advance(1_000);
    expect(test.history("q")).toEqual(["submitted", "dependencySettled"]);
    for (let restart = 0; restart < 20; restart += 1) {
      await test.restart({ definitions: [] });
      expect(test.runtime.health().liveJobs).toBe(1);
      expect(test.history("q")).toEqual(["submitted", "dependencySettled", "blocked"]);
    }
    expect(test.states("q")).toEqual(["queued", "blocked"]);
    for (let restart = 0; restart < 3; restart += 1) await test.restart({ definitions: shop.all });
    expect(shop.runs("q")).toBe(1);
    expect(test.states("q")).toEqual(["queued", "blocked", "queued", "running", "completed"]);
  });

  it("[CAN-7] of a safe type that is away is blocked after its interruption, and runs when the type is back", async () => {
    const { shop, test } = await start();
    await test.runtime.submit(shop.safe, { label: "a" }, { id: "a" });
    await flush();
    await test.restart({ definitions: [] });
    expect(test.stateOf("a")).toBe("blocked");
    expect(test.transitions("liveness:a").at(-1)?.reason).toContain("safe");
    await test.restart();
    expect(test.stateOf("a")).toBe("blocked");
    await test.restart({ definitions: shop.all });
    expect([test.stateOf("a"), shop.runs("a")]).toEqual(["running", 2]);
    expect(test.states("a").slice(-3)).toEqual(["blocked", "retrying", "running"]);
    expect(test.faults()).toEqual([]);
  });

  it("[CAN-7] starts in the order in which it was submitted, whatever was run again beside it", async () => {
    const { shop, test } = await start();
    const labels = ["s1", "q1", "s2", "q2", "q3"];
    const held = await test.runtime.submit(shop.safe, { label: "held" });
    for (const label of labels) {
      const options = { id: label, after: label.startsWith("q") ? [held] : [] };
      await test.runtime.submit(shop.safe, { label }, options);
    }
    await flush();
    void test.runtime.detach({ waitMs: 1_000 });
    shop.end("held");
    await test.advance(1_000);
    await test.restart();
    const starts = test.transitions().filter(({ event }) => event.type === "job.started");
    expect(starts.slice(-labels.length).map(({ actor }) => actor.slice("job:".length))).toEqual(
      labels,
    );
  });
});

describe("before the acknowledgement", () => {
  it("[REC-0, ES-1] nothing of a job starts before its record is in the log, with its start", async () => {
    const { shop, test } = await start();
    test.answers.hold();
    let isAnswered = false;
    void test.runtime.submit(shop.safe, { label: "a" }).then(() => {
      isAnswered = true;
    });
    await flush();
    const moves = test.transitions().filter(({ actor }) => actor.startsWith("liveness:"));
    expect(moves.map(({ event }) => event.type)).toEqual(["liveness.opened", "liveness.started"]);
    expect([shop.runs("a"), isAnswered]).toEqual([0, false]);
    // One acknowledgement: the group is one message, and everything that names it follows.
    test.answers.release();
    await flush();
    expect([shop.runs("a"), isAnswered]).toEqual([1, true]);
  });

  it("[ES-1, ES-10] no answer, no code, no settlement leaves; and all of it does, in order, when the log answers", async () => {
    const { shop, test } = await start();
    const running = await test.runtime.submit(shop.safe, { label: "r" }, { id: "r" });
    const seen: string[] = [];
    await flush();
    void running.result().then(
      () => seen.push("settled"),
      () => seen.push("settled"),
    );
    test.answers.hold();
    void test.runtime.cancel("r", "enough", "ada").then(() => seen.push("cancel answered"));
    shop.context("r").onCancel(() => seen.push("signalled"));
    await flush();
    void test.runtime.submit(shop.quick, { label: "n" }).then(() => seen.push("submitted"));
    void test.runtime.find("r").then(() => seen.push("found"));
    await flush();
    expect(seen).toEqual([]);
    expect(shop.runs("n")).toBe(0);
    test.answers.release();
    await flush();
    expect(seen.slice(0, 2)).toEqual(["signalled", "cancel answered"]);
    expect(seen.slice(2).sort()).toEqual(["found", "submitted"]);
    test.answers.hold();
    shop.end("r");
    await flush();
    expect(seen).toHaveLength(4);
    test.answers.release();
    await flush();
    expect(seen.at(-1)).toBe("settled");
    expect(shop.runs("n")).toBe(1);
  });

  it("[ES-4] what was stored and never acknowledged is decided by the log: the job is there once", async () => {
    const { shop, test } = await start();
    test.answers.hold();
    const answer = test.runtime.submit(shop.safe, { label: "a" }).then(standingOf, codeOf);
    await flush();
    test.answers.drop();
    await test.restart();
    expect(await answer).toBe("fenced");
    // Its start was stored, so nobody can know that it did not run: it counts as an attempt.
    const submitted = test.transitions().filter(({ event }) => event.type === "job.submitted");
    expect(submitted).toHaveLength(1);
    expect(shop.runs("a")).toBe(1);
    expect(shop.context("a").attempt).toBe(2);
  });
});

describe("an end with more dependents than one turn tells", () => {
  const many = DEPENDENTS_PER_TURN + 40;

  it("[D3, ATT-1] tells all of them, whole wherever the log is cut, and every one exactly once", async () => {
    const { shop, test } = await start();
    const root = await test.runtime.submit(shop.unsure, { label: "root" });
    const labels = Array.from({ length: many }, (_, at) => `d${at}`);
    for (const label of labels) void test.runtime.submit(shop.quick, { label }, { after: [root] });
    await flush();
    const before = test.log.messages.length;
    shop.end("root", 1);
    await flush();
    expect(Object.keys(shop.counts)).toHaveLength(many + 1);
    assertLiveIsFold(test.runtime, test.log.messages);
    const { messages } = test.log;
    // Wherever the owner died in the middle of it, the next one tells those that were not told.
    const cuts = wholePrefixes(messages).filter((length) => length > before);
    for (const length of [cuts[0], cuts[1], cuts.at(-1)]) {
      const log = await copyLog(messages.slice(0, length));
      const again = await TestRuntime.start({ definitions: shop.all, log });
      expect(again.runtime.health().liveJobs).toBe(0);
      const settled = again
        .transitions()
        .filter(({ event }) => event.type === "job.dependencySettled");
      expect(settled).toHaveLength(many);
      expect(again.faults()).toEqual([]);
    }
  });

  it("[D3] that fails fails a cascade of any depth and width, in turns that are bounded", async () => {
    const { shop, test } = await start();
    const root = await test.runtime.submit(shop.unsure, { label: "root" }, { id: "root" });
    let level: readonly JobHandle<unknown>[] = [root];
    let count = 0;
    for (const width of [20, 200, 400]) {
      const next: Promise<JobHandle<unknown>>[] = [];
      for (let at = 0; at < width; at += 1) {
        const above = level[at % level.length];
        if (above === undefined) continue;
        count += 1;
        next.push(test.runtime.submit(shop.quick, { label: "never" }, { after: [above] }));
      }
      level = await Promise.all(next);
    }
    expect(test.runtime.health().liveJobs).toBe(count + 1);
    const before = test.log.messages.length;
    shop.fail("root");
    await flush();
    expect(test.runtime.health().liveJobs).toBe(0);
    // The end itself is one message, and so is each dependent that is told in its turn.
    const groups = test.log.messages
      .slice(before)
      .map(({ frame }) => parseFrame(frame)?.parts ?? 0);
    expect(Math.max(...groups)).toBe(DEPENDENTS_PER_TURN + 1);
    expect(test.notices.filter(({ kind }) => kind === "fault")).toEqual([]);
    const leaf = level[0] as JobHandle<unknown>;
    expect(await failureOf(leaf)).toMatchObject({ details: { rootCause: "root" } });
    expect(shop.runs("never")).toBe(0);
  });
});
