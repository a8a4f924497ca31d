/**
 * Timeouts: of an attempt in two phases, and of who waits for a result.
 */
import { describe, expect, it } from "vitest";

import { graceOf } from "../../../actors/jobs/commands.ts";
import { JobHandle } from "../../../actors/jobs/handle.ts";
import { SimulatedClock } from "../../../infra/simulated/clock.ts";
import { assertLiveIsFold } from "../../support/fold.ts";
import { failureOf, flush, standingOf, TestRuntime } from "../../support/runtime.ts";
import { Workshop } from "../../support/workshop.ts";

const start = async (timeoutMs: number | null = 10_000) => {
  const shop = new Workshop();
  const test = await TestRuntime.start({ definitions: shop.all });
  const handle = await test.runtime.submit(shop.safe, { label: "a" }, { id: "a", timeoutMs });
  await flush();
  return { shop, test, handle };
};

const sideEffectOf = (test: TestRuntime, job: string) =>
  (test.transitions(`liveness:${job}`).at(-1)?.event as { sideEffect?: string } | undefined)
    ?.sideEffect;

describe("the grace between the two phases", () => {
  it.each([
    [100, 500],
    [5_000, 500],
    [5_001, 500.1],
    [100_000, 10_000],
    [300_000, 30_000],
    [3_600_000, 30_000],
  ])("[TO-1] of a timeout of %d ms is %d ms", (timeoutMs, graceMs) => {
    expect(graceOf(timeoutMs)).toBeCloseTo(graceMs);
  });
});

describe("an attempt that runs past its timeout", () => {
  it("[TO-2] has its flags set and its callbacks run at the timeout, not before", async () => {
    const { shop, test, handle } = await start();
    const seen: string[] = [];
    const context = shop.context("a");
    context.onCancel(() => seen.push("cancel"));
    context.onTimeout(() => seen.push("timeout"));
    await test.advance(9_999);
    expect([context.isCancelled(), context.hasTimedOut(), seen]).toEqual([false, false, []]);
    await test.advance(1);
    expect([context.isCancelled(), context.hasTimedOut()]).toEqual([true, true]);
    expect(seen.sort()).toEqual(["cancel", "timeout"]);
    expect(context.signal.aborted).toBe(true);
    expect(context.remainingTimeMs()).toBe(0);
    expect([test.stateOf("a"), standingOf(handle)]).toEqual(["expiring", "pending"]);
    expect(test.states("a").at(-1)).toBe("cancelling");
  });

  it("[TO-2, STA-8, RTY-6] ends TIMED_OUT whether it returns or throws in its grace; the caller gets the timeout, with its own error as cause", async () => {
    for (const how of ["returns", "throws"]) {
      const { shop, test, handle } = await start();
      await test.advance(10_000);
      if (how === "returns") shop.end("a");
      else shop.fail("a", new Error("too late"));
      const failure = await failureOf(handle);
      expect(failure.code).toBe("job_timeout");
      if (how === "throws") expect(failure.cause).toMatchObject({ message: "Error: too late" });
      const end = test.transitions("job:a").at(-1);
      expect(end?.to).toBe("timed_out");
      expect(test.transitions("liveness:a").at(-1)).toMatchObject({ to: "failed" });
      expect(test.transitions("liveness:a").at(-1)?.reason).toContain("timed_out");
      expect(sideEffectOf(test, "a")).toBe(how === "returns" ? "completed" : "unknown");
      expect(test.runtime.health()).toMatchObject({ liveJobs: 0, runningJobs: 0, leakedJobs: 0 });
    }
  });

  it("[TO-3] and ignores its abort for ever settles for its caller after the grace, and is reported as leaked", async () => {
    const { shop, test, handle } = await start();
    await test.advance(10_999);
    expect(standingOf(handle)).toBe("pending");
    await test.advance(1);
    expect(standingOf(handle)).toBe("job_timeout");
    expect((await failureOf(handle)).message).toContain("has not returned");
    expect(sideEffectOf(test, "a")).toBe("unknown");
    expect(test.runtime.health()).toMatchObject({ liveJobs: 0, runningJobs: 0, leakedJobs: 1 });
    const { length } = test.log.messages;
    shop.end("a", "at last");
    await flush();
    expect(test.runtime.health().leakedJobs).toBe(0);
    expect(test.log.messages).toHaveLength(length);
    expect(test.faults()).toEqual([]);
  });

  it("[TO-3, CTX-6] and is leaked runs outside any job from then on", async () => {
    const shop = new Workshop();
    const test = await TestRuntime.start({ definitions: shop.all });
    const seen: (string | null)[] = [];
    let goOn = (): void => undefined;
    shop.answer("a", async () => {
      seen.push(test.runtime.currentJob()?.id ?? null);
      await new Promise<void>((resolve) => {
        goOn = resolve;
      });
      seen.push(test.runtime.currentJob()?.id ?? null);
      return null;
    });
    const options = { id: "a", timeoutMs: 1_000 };
    await test.runtime.submit(shop.quick, { label: "a" }, options);
    await test.advance(1_500);
    goOn();
    await flush();
    expect(seen).toEqual(["a", null]);
  });

  it("[TO-2, CAN-3] and was cancelled before stays cancelled, also when it ignores that for ever", async () => {
    const { shop, test, handle } = await start();
    await handle.cancel("enough");
    await test.advance(10_000);
    expect(shop.context("a").hasTimedOut()).toBe(true);
    expect(test.stateOf("a")).toBe("cancelling");
    await test.advance(1_000);
    expect(standingOf(handle)).toBe("job_cancelled");
    expect(sideEffectOf(test, "a")).toBe("unknown");
    expect(test.runtime.health()).toMatchObject({ liveJobs: 0, leakedJobs: 1 });
  });

  it("[TO-2, CTX-5] and completes at the same instant has one end", async () => {
    const { shop, test, handle } = await start();
    test.answers.hold();
    shop.end("a", "in time");
    await test.advance(10_000);
    test.answers.release();
    await flush();
    expect(standingOf(handle)).toBe('completed "in time"');
    expect(test.history("a")).toEqual(["submitted", "started", "completed"]);
  });

  it("[TO-2] reaches its children", async () => {
    const shop = new Workshop();
    const test = await TestRuntime.start({ definitions: shop.all });
    shop.plan("root", async (context) =>
      (await context.submitInStep(shop.safe, { label: "child" })).result(),
    );
    const options = { id: "r", timeoutMs: 1_000 };
    const root = await test.runtime.submit(shop.doer, { label: "root" }, options);
    await test.advance(1_000);
    expect(shop.context("child").isCancelled()).toBe(true);
    shop.end("child");
    await flush();
    expect(standingOf(root)).toBe("job_timeout");
  });

  it("[ATT-3] gets its whole timeout anew on each attempt, and none of it while it waits or is away", async () => {
    const { shop, test } = await start();
    await test.advance(9_000);
    await test.restart();
    expect(shop.context("a").remainingTimeMs()).toBe(10_000);
    await test.advance(9_000);
    expect(test.stateOf("a")).toBe("running");
    await test.advance(1_000);
    expect(test.stateOf("a")).toBe("expiring");
    assertLiveIsFold(test.runtime, test.log.messages);
  });

  it("[TO-2] whose process dies in its grace is timed out at the reload, and does not run again", async () => {
    const { shop, test } = await start();
    await test.advance(10_000);
    await test.restart();
    const found = await test.runtime.find("a");
    expect(found && standingOf(found)).toBe("job_timeout");
    expect(shop.runs("a")).toBe(1);
  });
});

describe("who waits for a result", () => {
  it("[WAIT-5] and runs out of time is told so; the job goes on, and a later wait gets its result", async () => {
    const { shop, test, handle } = await start(null);
    const wait = handle.result({ timeoutMs: 500 });
    const seen = wait.then(
      () => "result",
      (error) => error,
    );
    await test.advance(499);
    const again = handle.result({ timeoutMs: 5_000 });
    await test.advance(1);
    expect(await seen).toMatchObject({ code: "wait_timeout", retry: "now" });
    expect(test.stateOf("a")).toBe("running");
    shop.end("a", 3);
    expect(await again).toBe(3);
    expect(await handle.result({ timeoutMs: 1 })).toBe(3);
  });

  it("[WAIT-5] may wait longer than the platform's timers", async () => {
    const month = 30 * 24 * 3_600_000;
    const clock = new SimulatedClock();
    const cancel = () => Promise.reject(new Error("nobody cancels"));
    const handle = new JobHandle("a", "a", { clock, cancel });
    let isOver = false;
    const wait = handle.result({ timeoutMs: month }).catch((error) => {
      isOver = true;
      return error.code;
    });
    await clock.advance(month - 1);
    expect(isOver).toBe(false);
    await clock.advance(1);
    expect(await wait).toBe("wait_timeout");
    const settled = handle.result({ timeoutMs: month });
    await clock.advance(month - 1);
    handle.settle({ kind: "completed", result: 1 });
    expect(await settled).toBe(1);
    await clock.runUntilIdle();
  });

  it.each([0, -1, Number.NaN, "5"])("[WAIT-5] refuses a timeout of %s", async (timeoutMs) => {
    const { handle } = await start(null);
    const wait = handle.result({ timeoutMs: timeoutMs as number });
    await expect(wait).rejects.toMatchObject({ code: "invalid_argument" });
  });

  it("[WAIT-5] for a job whose end nobody saw stays pending, and so does the handle of a blocked one", async () => {
    const shop = new Workshop();
    const test = await TestRuntime.start({ definitions: shop.all });
    await test.runtime.submit(shop.unsure, { label: "a" }, { id: "a" });
    await test.runtime.submit(shop.safe, { label: "b" }, { id: "b" });
    await flush();
    await test.restart({ definitions: [shop.unsure] });
    for (const [job, state] of [
      ["a", "observer_unknown"],
      ["b", "blocked"],
    ] as const) {
      const handle = await test.runtime.find(job);
      const wait = handle?.result({ timeoutMs: 60_000 }).catch((error) => error.code);
      await test.advance(60_000);
      expect(await wait).toBe("wait_timeout");
      expect(handle?.settlement).toBeNull();
      expect(test.states(job).at(-1)).toBe(state);
    }
  });
});
