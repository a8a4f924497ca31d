/**
 * Cancelling: what a running, waiting, queued or ended job makes of it, and who is told.
 */
import { describe, expect, it } from "vitest";
import type { JobHandle } from "../../../actors/jobs/handle.ts";
import { worldOf } from "../../../actors/runtime/runtime.ts";
import { assertLiveIsFold } from "../../support/fold.ts";
import { codeOf, failureOf, flush, standingOf, TestRuntime } from "../../support/runtime.ts";
import { Workshop } from "../../support/workshop.ts";

const start = async () => {
  const shop = new Workshop();
  return { shop, test: await TestRuntime.start({ definitions: shop.all }) };
};

/** The last move of a job and of its record. */
const endOf = (test: TestRuntime, job: string) => ({
  job: test.transitions(`job:${job}`).at(-1)?.to,
  record: test.transitions(`liveness:${job}`).at(-1)?.to,
});

describe("a running job", () => {
  it("[CAN-1] is signalled, and the answer says that it was found running", async () => {
    const { shop, test } = await start();
    const handle = await test.runtime.submit(shop.safe, { label: "a" }, { id: "a" });
    await flush();
    expect(shop.context("a").isCancelled()).toBe(false);
    expect(await handle.cancel("enough")).toEqual({ isCancelled: true, decision: "cancelling" });
    const context = shop.context("a");
    expect(context.isCancelled()).toBe(true);
    expect(context.hasTimedOut()).toBe(false);
    expect(context.signal.aborted).toBe(true);
    expect(standingOf(handle)).toBe("pending");
    expect(test.states("a").at(-1)).toBe("cancelling");
    expect(test.transitions("liveness:a").at(-1)?.reason).toBe("enough");
  });

  it("[CAN-2] finds the cancel at its next look, and the signal passes through as itself", async () => {
    const { shop, test } = await start();
    const seen: unknown[] = [];
    shop.plan("root", async (context) => {
      const child = await context.submitInStep(shop.quick, { label: "child" });
      try {
        return await child.result();
      } catch (error) {
        seen.push(codeOf((error as Error).cause));
        context.checkCancellation();
        return "not reached";
      }
    });
    shop.answer("child", async () => {
      const context = shop.context("child");
      await new Promise<void>((resolve) =>
        context.signal.addEventListener("abort", () => resolve()),
      );
      context.checkCancellation();
      return "not reached";
    });
    const root = await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" });
    await flush();
    await root.cancel("enough");
    const failure = await failureOf(root);
    expect(seen).toEqual(["job_cancelled"]);
    expect(failure.code).toBe("job_cancelled");
    expect(failure.message).toContain("enough");
    expect(failure.message).toContain("submitter");
    expect(codeOf(failure.cause)).toBe("job_cancelled");
    expect(endOf(test, "r")).toEqual({ job: "cancelled", record: "cancelled" });
    expect(test.runtime.health().liveJobs).toBe(0);
  });

  it("[CAN-3] that never looks and completes stays cancelled, and its effect is recorded as completed", async () => {
    const { shop, test } = await start();
    const handle = await test.runtime.submit(shop.safe, { label: "a" }, { id: "a" });
    await flush();
    await handle.cancel("enough");
    shop.end("a", "done");
    expect((await failureOf(handle)).code).toBe("job_cancelled");
    expect(endOf(test, "a")).toEqual({ job: "cancelled", record: "cancelled" });
    const end = test.transitions("liveness:a").at(-1)?.event;
    expect(end).toMatchObject({ outcome: "cancelled", sideEffect: "completed" });
  });

  it("[CAN-3] that then fails by its own error stays cancelled: one end, one settled handle, the error as cause", async () => {
    const { shop, test } = await start();
    const handle = await test.runtime.submit(shop.safe, { label: "a" }, { id: "a" });
    await flush();
    await handle.cancel("enough");
    await test.advance(50);
    shop.fail("a", new RangeError("no such page"));
    const failure = await failureOf(handle);
    expect(failure.code).toBe("job_cancelled");
    expect(failure.cause).toMatchObject({ code: "system", message: "RangeError: no such page" });
    expect(endOf(test, "a")).toEqual({ job: "cancelled", record: "cancelled" });
    const ends = test.transitions("job:a").filter(({ to }) => to === "cancelled");
    expect(ends).toHaveLength(1);
    expect(test.runtime.health().liveJobs).toBe(0);
  });

  it("[CAN-1] cancelled again is told that it is ending; what has ended, that it has; what never was, that it is not there", async () => {
    const { shop, test } = await start();
    const handle = await test.runtime.submit(shop.safe, { label: "a" }, { id: "a" });
    await flush();
    await handle.cancel("once");
    expect(await handle.cancel("twice")).toEqual({ isCancelled: true, decision: "cancelling" });
    test.answers.hold();
    shop.end("a");
    await flush();
    const late = handle.cancel("late");
    await flush();
    test.answers.release();
    expect(await late).toEqual({ isCancelled: false, decision: "ended" });
    expect(await handle.cancel("later")).toEqual({ isCancelled: false, decision: "not_found" });
    expect(await test.runtime.cancel("nobody", "x", "ada")).toMatchObject({ isCancelled: false });
    expect((await failureOf(handle)).message).toContain("once");
  });

  it("[CTX-5] whose cancel and completion race has one winner in every order, and no error on either side", async () => {
    for (const order of ["cancel first", "end first", "cancel staged", "end staged"]) {
      const { shop, test } = await start();
      const handle = await test.runtime.submit(shop.safe, { label: "a" }, { id: "a" });
      await flush();
      if (order.endsWith("staged")) test.answers.hold();
      let cancel: Promise<unknown> | null = null;
      const steps = [
        () => {
          cancel = handle.cancel("race");
        },
        () => shop.end("a", "done"),
      ];
      if (order.startsWith("end")) steps.reverse();
      for (const step of steps) {
        step();
        if (order.endsWith("staged")) await flush();
      }
      await flush();
      test.answers.release();
      await flush();
      const answer = (await (cancel as unknown as Promise<unknown>)) as { isCancelled: boolean };
      const standing = standingOf(handle);
      expect([`completed "done"`, "job_cancelled"]).toContain(standing);
      expect(answer.isCancelled).toBe(standing === "job_cancelled");
      const finals = test
        .transitions("job:a")
        .filter(({ to }) => ["completed", "cancelled"].includes(to));
      expect(finals).toHaveLength(1);
      expect(test.faults()).toEqual([]);
      assertLiveIsFold(test.runtime, test.log.messages);
    }
  });
});

describe("a job that has not started", () => {
  it("[CAN-1] is settled on the spot: waiting on a dependency", async () => {
    const { shop, test } = await start();
    const held = await test.runtime.submit(shop.safe, { label: "held" }, { id: "held" });
    const waiting = await test.runtime.submit(
      shop.quick,
      { label: "w" },
      { id: "w", after: [held] },
    );
    expect(test.stateOf("w")).toBe("waiting");
    expect(await waiting.cancel("enough")).toEqual({ isCancelled: true, decision: "cancelled" });
    expect(standingOf(waiting)).toBe("job_cancelled");
    expect(endOf(test, "w")).toEqual({ job: "cancelled", record: "cancelled" });
    expect(test.transitions("liveness:w").at(-1)?.event).toMatchObject({ sideEffect: "none" });
    expect(worldOf(test.runtime).kinship.dependents("held")).toBeUndefined();
    shop.end("held");
    await flush();
    expect(shop.runs("w")).toBe(0);
    expect(test.stateOf("held")).toBeNull();
  });

  it("[CAN-1] is settled on the spot: queued, blocked, and interrupted", async () => {
    const { shop, test } = await start();
    await test.runtime.submit(shop.unsure, { label: "lost" }, { id: "lost" });
    const held = await test.runtime.submit(shop.unsure, { label: "held" }, { id: "held" });
    await test.runtime.submit(shop.quick, { label: "q" }, { id: "q", after: [held] });
    await flush();
    // The line is closed while a runtime stops: what becomes ready then stays queued.
    const stopping = test.runtime.detach({ waitMs: 10_000 });
    shop.end("held");
    await flush();
    expect(test.stateOf("q")).toBe("queued");
    await test.advance(10_000);
    await stopping;
    await test.restart({ definitions: [shop.unsure] });
    expect([test.stateOf("lost"), test.stateOf("q")]).toEqual(["interrupted", "blocked"]);
    for (const job of ["lost", "q"]) {
      const handle = (await test.runtime.find(job)) as JobHandle<unknown>;
      expect(await handle.cancel("enough")).toMatchObject({ decision: "cancelled" });
      expect(standingOf(handle)).toBe("job_cancelled");
      expect(endOf(test, job)).toEqual({ job: "cancelled", record: "cancelled" });
    }
    const effects = ["lost", "q"].map((job) => test.transitions(`liveness:${job}`).at(-1)?.event);
    expect(effects).toMatchObject([{ sideEffect: "unknown" }, { sideEffect: "none" }]);
  });

  it("[CAN-1] is settled on the spot: queued while the runtime stops", async () => {
    const { shop, test } = await start();
    const held = await test.runtime.submit(shop.safe, { label: "held" });
    const busy = await test.runtime.submit(shop.safe, { label: "busy" });
    const queued = await test.runtime.submit(shop.quick, { label: "q" }, { after: [held] });
    await flush();
    void test.runtime.detach({ waitMs: 10_000 });
    shop.end("held");
    await flush();
    expect(test.stateOf(queued.id)).toBe("queued");
    expect(await queued.cancel("enough")).toEqual({ isCancelled: true, decision: "cancelled" });
    expect(standingOf(queued)).toBe("job_cancelled");
    expect(standingOf(busy)).toBe("pending");
  });
});

describe("a parent's cancel", () => {
  it("[CAN-1] reaches every descendant of three levels, running and waiting, and each ends once", async () => {
    const { shop, test } = await start();
    shop.plan("root", async (context) => {
      const middles = await Promise.all(
        ["m1", "m2"].map((label) => context.submitInStep(shop.doer, { label })),
      );
      return Promise.all(middles.map((middle) => middle.result())) as never;
    });
    for (const label of ["m1", "m2"]) {
      shop.plan(label, async (context) => {
        const leaf = await context.submitInStep(shop.safe, { label: `${label}.leaf` });
        const late = await context.submitInStep(
          shop.quick,
          { label: `${label}.late` },
          { after: [leaf] },
        );
        return late.result();
      });
    }
    const root = await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" });
    await flush();
    expect(test.runtime.health().liveJobs).toBe(7);
    await root.cancel("enough");
    await flush();
    for (const label of ["m1.leaf", "m2.leaf"]) {
      expect(shop.context(label).isCancelled()).toBe(true);
      shop.end(label);
    }
    await flush();
    expect(standingOf(root)).toBe("job_cancelled");
    expect(test.runtime.health().liveJobs).toBe(0);
    expect(shop.runs("m1.late")).toBe(0);
    const ends = test
      .transitions()
      .filter(
        ({ actor, from, to }) => actor.startsWith("job:") && to === "cancelled" && from !== to,
      );
    expect(ends).toHaveLength(7);
    expect(test.faults()).toEqual([]);
  });

  it("[CAN-1, TREE-6] leaves children alone that their parent's policy keeps", async () => {
    const { shop, test } = await start();
    shop.plan("root", async (context) => {
      await context.submitInStep(shop.safe, { label: "kept" });
      return context.waitFor("end");
    });
    const root = await test.runtime.submit(shop.keeper, { label: "root" });
    await flush();
    await root.cancel("enough");
    await flush();
    expect(standingOf(root)).toBe("job_cancelled");
    expect(shop.context("kept").isCancelled()).toBe(false);
    shop.end("kept");
    await flush();
    expect(test.runtime.health().liveJobs).toBe(0);
  });

  it("[CAN-1] reaches a child whose submission was under way when it came", async () => {
    const { shop, test } = await start();
    shop.plan("root", async (context) => {
      const done = await context.submitInStep(shop.quick, { label: "done" });
      await done.result();
      await context.waitFor("go");
      const late = await context.submitInStep(shop.safe, { label: "late" }, { after: [done.id] });
      return late.result();
    });
    const root = await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" });
    await flush();
    await test.runtime.answer("r", "go", null, "ada");
    // The door looks the dependency up; the cancel's turn comes before its answer.
    const cancelled = root.cancel("enough");
    await cancelled;
    await flush();
    expect(standingOf(root)).toBe("job_cancelled");
    expect(shop.runs("late")).toBe(0);
    expect(test.runtime.health().liveJobs).toBe(0);
  });

  it("[CAN-1] is survived by nothing after three restarts, and nothing of it is started again", async () => {
    const { shop, test } = await start();
    shop.plan("root", async (context) => {
      context.nextStep();
      const children = await Promise.all(
        ["x", "y"].map((label) => context.submitInCurrentStep(shop.safe, { label })),
      );
      return Promise.all(children.map((child) => child.result())) as never;
    });
    const root = await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" });
    await flush();
    await root.cancel("enough");
    await flush();
    for (let restart = 0; restart < 3; restart += 1) {
      await test.restart();
      expect(shop.counts).toEqual({ root: 1, x: 1, y: 1 });
      expect(test.runtime.health().liveJobs).toBe(0);
      assertLiveIsFold(test.runtime, test.log.messages);
    }
    expect(endOf(test, "r")).toEqual({ job: "cancelled", record: "cancelled" });
    const children = test.transitions().flatMap(({ event }) => {
      const spec = event.type === "job.submitted" && "spec" in event ? event.spec : null;
      return [spec as { id: string; parent: string | null } | null];
    });
    for (const child of children)
      if (child?.parent === "r") expect(endOf(test, child.id).job).toBe("cancelled");
  });

  it("[TREE-6] end whose process died before it went round reaches the children at the reload, without starting them again", async () => {
    const { shop, test } = await start();
    let end = (): void => undefined;
    shop.plan("root", async (context) => {
      await context.submitInStep(shop.safe, { label: "x" });
      return new Promise((resolve) => {
        end = () => resolve(1);
      });
    });
    await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" });
    await flush();
    // The end is stored; its acknowledgement never comes, so nobody tells the child.
    test.answers.hold();
    end();
    await flush();
    expect(shop.context("x").isCancelled()).toBe(false);
    test.answers.drop();
    await test.restart();
    expect(endOf(test, "r").job).toBe("completed");
    expect(shop.counts).toEqual({ root: 1, x: 1 });
    expect(endOf(test, shop.context("x").id)).toEqual({ job: "cancelled", record: "cancelled" });
  });

  it("[CAN-1] lost with its process before it went round reaches the children at the reload, without starting them again", async () => {
    const { shop, test } = await start();
    shop.plan("root", async (context) => {
      await context.submitInStep(shop.safe, { label: "x" });
      return context.waitFor("end");
    });
    await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" });
    await flush();
    // The cancel is stored; its acknowledgement never comes, so nothing of it has left the process.
    test.answers.hold();
    const answer = test.runtime.cancel("r", "enough", "ada").catch(codeOf);
    await flush();
    expect(shop.context("x").isCancelled()).toBe(false);
    test.answers.drop();
    await test.restart();
    expect(await answer).toBe("fenced");
    expect(shop.counts).toEqual({ root: 1, x: 1 });
    expect(test.runtime.health().liveJobs).toBe(0);
  });
});
