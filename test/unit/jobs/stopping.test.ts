/**
 * The end of an owner: detach, shutdown, and losing the partition to another one.
 */
import { describe, expect, it } from "vitest";

import { SHUTDOWN_WAIT_MS_DEFAULT } from "../../../actors/runtime/runtime.ts";
import { assertLiveIsFold } from "../../support/fold.ts";
import { codeOf, failureOf, flush, standingOf, TestRuntime } from "../../support/runtime.ts";
import { Workshop } from "../../support/workshop.ts";

const start = async () => {
  const shop = new Workshop();
  return { shop, test: await TestRuntime.start({ definitions: shop.all }) };
};

/** One running, one waiting on it, one whose type goes away. */
async function busy() {
  const { shop, test } = await start();
  const running = await test.runtime.submit(shop.safe, { label: "r" }, { id: "r" });
  const after = [running];
  const waiting = await test.runtime.submit(shop.quick, { label: "w" }, { id: "w", after });
  await flush();
  return { shop, test, running, waiting };
}

describe("detach", () => {
  it("[CAN-7] settles nothing: what is queued, waiting or running comes back, in its order", async () => {
    const { shop, test, running, waiting } = await busy();
    await test.runtime.detach();
    expect([standingOf(running), standingOf(waiting)]).toEqual(["pending", "pending"]);
    expect(test.history("r")).toEqual(["submitted", "started"]);
    await test.restart();
    expect([test.stateOf("r"), test.stateOf("w")]).toEqual(["running", "waiting"]);
    expect(shop.runs("r")).toBe(2);
    shop.end("r");
    await flush();
    expect(shop.runs("w")).toBe(1);
    expect(test.notices.filter(({ kind }) => kind === "ended")).toEqual([]);
  });

  it("[CAN-7] waits for running code as long as it was told, and starts nothing meanwhile", async () => {
    const { shop, test, running } = await busy();
    let isOver = false;
    const detaching = test.runtime.detach({ waitMs: 5_000 }).then(() => {
      isOver = true;
    });
    await test.advance(4_999);
    expect(isOver).toBe(false);
    shop.end("r", 1);
    await detaching;
    expect(standingOf(running)).toBe("completed 1");
    expect([shop.runs("w"), test.stateOf("w")]).toEqual([0, "queued"]);
    await test.restart();
    expect(shop.runs("w")).toBe(1);
  });

  it("[CAN-7] tells whoever waits here that the job goes on elsewhere, and running code to stop", async () => {
    const { shop, test, running } = await busy();
    const wait = running.result().catch(codeOf);
    await test.runtime.detach();
    expect(await wait).toBe("illegal_state");
    expect(running.settlement).toBeNull();
    expect(await running.result().catch(codeOf)).toBe("illegal_state");
    expect(shop.context("r").isCancelled()).toBe(true);
    expect(shop.context("r").isOver).toBe(true);
    const { length } = test.log.messages;
    shop.end("r", "late");
    await flush();
    expect(test.log.messages).toHaveLength(length);
  });

  it("[CAN-4, CAN-5] refuses every submission after it, and a second detach or shutdown does nothing", async () => {
    const { shop, test } = await busy();
    await test.runtime.detach();
    const late = await test.runtime.submit(shop.quick, { label: "late" });
    expect((await failureOf(late)).code).toBe("illegal_state");
    const { length } = test.log.messages;
    await test.runtime.detach();
    await test.runtime.shutdown({ waitMs: 1 });
    expect(test.log.messages).toHaveLength(length);
    expect(test.runtime.health().state).toBe("stopping");
  });

  it("[ES-4] waits for what is staged to be acknowledged", async () => {
    const { shop, test } = await busy();
    test.answers.hold();
    shop.end("r", 1);
    await flush();
    let isOver = false;
    const detaching = test.runtime.detach().then(() => {
      isOver = true;
    });
    await flush();
    expect(isOver).toBe(false);
    test.answers.release();
    await detaching;
    expect(test.history("r").at(-1)).toBe("completed");
  });
});

describe("shutdown", () => {
  it("[CAN-4, CAN-7] settles what has not started, waits for what runs, and ends", async () => {
    const { shop, test, running, waiting } = await busy();
    let isOver = false;
    const down = test.runtime.shutdown({ waitMs: 60_000 }).then(() => {
      isOver = true;
    });
    await flush();
    expect(standingOf(waiting)).toBe("job_cancelled");
    expect((await failureOf(waiting)).message).toContain("shuts down");
    expect([standingOf(running), isOver]).toEqual(["pending", false]);
    shop.end("r", 1);
    await down;
    expect(standingOf(running)).toBe("completed 1");
    expect(test.runtime.health()).toMatchObject({ liveJobs: 0, runningJobs: 0 });
    await test.restart();
    expect(test.runtime.health().liveJobs).toBe(0);
    expect(shop.counts).toEqual({ r: 1 });
  });

  it("[CAN-4] given no time waits 30 s, then cancels what still runs", async () => {
    expect(SHUTDOWN_WAIT_MS_DEFAULT).toBe(30_000);
    const { shop, test, running } = await busy();
    const down = test.runtime.shutdown({ waitMs: 0 });
    await test.advance(29_999);
    expect(shop.context("r").isCancelled()).toBe(false);
    await test.advance(1);
    expect(shop.context("r").isCancelled()).toBe(true);
    shop.end("r");
    await down;
    expect(standingOf(running)).toBe("job_cancelled");
  });

  it("[CAN-4, TO-3] gives up code that ignores its cancel: its handle is settled, and it is reported as leaked", async () => {
    const { test, running } = await busy();
    let isOver = false;
    const down = test.runtime.shutdown({ waitMs: 1_000 }).then(() => {
      isOver = true;
    });
    for (let second = 0; second < 60 && !isOver; second += 1) await test.advance(1_000);
    await down;
    expect(standingOf(running)).toBe("job_cancelled");
    expect(test.runtime.health()).toMatchObject({ liveJobs: 0, leakedJobs: 1 });
    expect(test.transitions("liveness:r").at(-1)?.event).toMatchObject({ sideEffect: "unknown" });
    await test.restart();
    expect(test.runtime.health().liveJobs).toBe(0);
  });

  it("[CAN-4] ends a tree: the doer gets its cancel, and so do its children", async () => {
    const { shop, test } = await start();
    shop.plan("root", async (context) =>
      (await context.submitInStep(shop.quick, { label: "never" }, { after: ["held"] })).result(),
    );
    await test.runtime.submit(shop.safe, { label: "held" }, { id: "held" });
    const root = await test.runtime.submit(shop.doer, { label: "root" });
    await flush();
    const down = test.runtime.shutdown({ waitMs: 10_000 });
    await flush();
    // Its child was cancelled while it waited, so the doer's own code fails with that.
    expect((await failureOf(root)).code).toBe("job_failed");
    shop.end("held");
    await down;
    expect(test.runtime.health().liveJobs).toBe(0);
  });

  it("[CAN-4] leaves a job whose end nobody saw where it is, for a person's word", async () => {
    const { shop, test } = await start();
    await test.runtime.submit(shop.unsure, { label: "a" }, { id: "a" });
    await flush();
    await test.restart();
    await test.runtime.shutdown({ waitMs: 1 });
    await test.restart();
    expect(test.stateOf("a")).toBe("interrupted");
  });
});

describe("another owner", () => {
  it("[ES-3, ES-10] ends this one at once: what was asked of it rejects as fenced, and what is asked from then on too", async () => {
    const { shop, test, running } = await busy();
    const old = test.runtime;
    test.answers.hold();
    const asked = [
      old.cancel("r", "enough", "ada"),
      old.submit(shop.quick, { label: "mine" }),
      running.result(),
      running.cancel(),
      old.find("r"),
    ].map((promise) => promise.then(() => "answered", codeOf));
    await flush();
    test.answers.drop();
    await test.restart();
    expect(old.ended?.code).toBe("fenced");
    expect(await Promise.all(asked)).toEqual(Array(5).fill("fenced"));
    expect(old.health().state).toBe("fenced");
    // The cancel was stored, so the next owner ended what it was for.
    expect([test.stateOf("r"), shop.runs("r")]).toEqual([null, 1]);
    const late = [
      old.cancel("r", "enough", "ada"),
      old.resolve("r", { kind: "retry" }, "ada", "x"),
      old.answer("r", "w", 1, "ada"),
      running.result(),
    ].map((promise) => promise.then(() => "answered", codeOf));
    expect(await Promise.all(late)).toEqual(Array(4).fill("fenced"));
    const refused = await old.submit(shop.quick, { label: "late" });
    expect(["fenced", "illegal_state"]).toContain((await failureOf(refused)).code);
    expect(test.notices.filter(({ kind }) => kind === "ended")).toHaveLength(1);
    expect(test.faults()).toEqual([]);
  });

  it("[ES-3] tells running code to stop; what it returns, asks or submits changes nothing any more", async () => {
    const { shop, test } = await start();
    const codes: string[] = [];
    shop.plan("root", async (context) => {
      if (context.attempt > 1) return context.waitFor("end");
      await new Promise<void>((resolve) => context.onCancel(resolve));
      for (const call of [
        () => context.step("s", () => 1),
        () => context.submitInStep(shop.quick, { label: "late" }),
        () => context.waitFor("w"),
      ])
        codes.push(await Promise.resolve().then<unknown>(call).then(String, codeOf));
      return "done";
    });
    await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" });
    await flush();
    await test.restart();
    const { length } = test.log.messages;
    await flush();
    expect(codes).toEqual(Array(3).fill("illegal_state"));
    expect(test.log.messages).toHaveLength(length);
    expect([test.stateOf("r"), shop.runs("late")]).toEqual(["running", 0]);
    expect(test.faults()).toEqual([]);
  });

  it("[ES-3] that comes while this one still starts makes the start fail, and does not hang it", async () => {
    const { shop, test } = await start();
    await test.runtime.submit(shop.safe, { label: "a" }, { id: "a" });
    await flush();
    test.answers.hold();
    const first = test.restart().then(() => "started", codeOf);
    // It has its fence and staged its decisions; before they are acknowledged the next one fences it.
    while (test.stateOfLog().filter((type) => type === "taken").length < 2) {
      test.answers.letThrough(1);
      await flush();
    }
    test.answers.drop();
    await test.restart();
    expect(await first).toBe("fenced");
    expect(test.runtime.health().state).toBe("ready");
    assertLiveIsFold(test.runtime, test.log.messages);
  });

  it("[ES-3] shutdown and detach of one that was fenced end at once", async () => {
    const { shop, test } = await busy();
    const old = test.runtime;
    shop.end("r");
    test.answers.hold();
    await flush();
    test.answers.drop();
    await test.restart();
    await old.detach({ waitMs: 60_000 });
    await old.shutdown({ waitMs: 60_000 });
    expect(old.health().state).toBe("fenced");
    expect(test.faults()).toEqual([]);
  });
});
