/**
 * Dependencies: awaited first, holding nothing; what they left, and what their failure does.
 */
import { describe, expect, it } from "vitest";

import type { ToolContext } from "../../../actors/attempt/context.ts";
import type { JobHandle } from "../../../actors/jobs/handle.ts";
import type { SubmitOptions } from "../../../actors/jobs/submission.ts";
import { DEPENDENCIES_MAX } from "../../../actors/jobs/submission.ts";
import { DEPENDENTS_PER_TURN } from "../../../actors/turn/routes.ts";
import { assertLiveIsFold } from "../../support/fold.ts";
import { codeOf, failureOf, flush, standingOf, TestRuntime } from "../../support/runtime.ts";
import { Workshop } from "../../support/workshop.ts";

const start = async () => {
  const shop = new Workshop();
  const test = await TestRuntime.start({ definitions: shop.all });
  const submit = (label: string, options: SubmitOptions = {}) =>
    test.runtime.submit(shop.safe, { label }, { id: label, ...options });
  return { shop, test, submit };
};

/** What the job's code saw of its dependencies. */
const seenBy = ({ dependencies }: ToolContext) => ({
  results: dependencies.all.map(({ id, result }) => [id, result]),
  errors: dependencies.errors().map(({ id, error }) => [id, error.code]),
});

describe("a job with dependencies", () => {
  it("[ATT-1] waits for all of them, and gets their results in the order in which it named them", async () => {
    const { shop, test, submit } = await start();
    for (const label of ["a", "b", "c"]) await submit(label);
    await submit("d", { after: ["c", "a", "b"] });
    for (const label of ["b", "c", "a"]) {
      expect(test.stateOf("d")).toBe("waiting");
      shop.end(label, `${label}!`);
      await flush();
    }
    expect(seenBy(shop.context("d")).results).toEqual([
      ["c", "c!"],
      ["a", "a!"],
      ["b", "b!"],
    ]);
    expect(shop.context("d").dependencies.result("a")).toBe("a!");
    expect(() => shop.context("d").dependencies.result("x")).toThrow(/x is no dependency/);
  });

  it("[ATT-1] finds results of dependencies that ended long before, one run twice over a restart included", async () => {
    const { shop, test, submit } = await start();
    await submit("a");
    await flush();
    shop.end("a", { big: [1] });
    await flush();
    await test.restart();
    await submit("b", { after: ["a"] });
    await flush();
    expect(seenBy(shop.context("b")).results).toEqual([["a", { big: [1] }]]);
    await test.restart();
    expect(shop.runs("b")).toBe(2);
    expect(seenBy(shop.context("b")).results).toEqual([["a", { big: [1] }]]);
  });

  it("[ATT-1] that asks for a single result of none or several is refused", async () => {
    const { shop, submit } = await start();
    for (const label of ["a", "b"]) await submit(label);
    await submit("none");
    await submit("one", { after: ["a"] });
    await submit("two", { after: ["a", "b"] });
    await flush();
    for (const label of ["a", "b"]) shop.end(label, label);
    await flush();
    const ask = (label: string) => {
      try {
        return shop.context(label).dependencies.singleResult();
      } catch (error) {
        return codeOf(error);
      }
    };
    expect(["none", "one", "two"].map(ask)).toEqual(["illegal_state", "a", "illegal_state"]);
  });

  it("[ATT-1] fails before it runs when one of them fails, and says which one, with the failure as cause", async () => {
    const { shop, test, submit } = await start();
    for (const label of ["a", "b"]) await submit(label);
    const job = await submit("d", { after: ["a", "b"] });
    await flush();
    shop.fail("b", new RangeError("no page 7"));
    const failure = await failureOf(job);
    expect(failure.code).toBe("dependency_failed");
    expect(failure.message).toContain("b failed");
    expect(failure.cause).toMatchObject({ message: "RangeError: no page 7" });
    expect(failure).toMatchObject({ details: { job: "d", dependency: "b", rootCause: "b" } });
    expect([shop.runs("d"), test.stateOf("a")]).toEqual([0, "running"]);
    // The other one ends later, and nobody waits for it any more.
    shop.end("a");
    await flush();
    expect(test.history("d")).toEqual(["submitted", "dependencyFailed"]);
    assertLiveIsFold(test.runtime, test.log.messages);
  });

  it("[ATT-1] that tolerates failures runs with a null result and the failure beside it", async () => {
    const { shop, test, submit } = await start();
    await submit("a");
    await submit("b");
    await submit("c", { timeoutMs: 1_000 });
    await submit("d", { after: ["a", "b", "c"], toleratesFailures: true });
    await flush();
    shop.fail("a");
    await (await test.runtime.find("b"))?.cancel("enough");
    shop.end("b");
    await test.advance(1_000);
    shop.end("c");
    await flush();
    expect(seenBy(shop.context("d"))).toEqual({
      results: [
        ["a", null],
        ["b", null],
        ["c", null],
      ],
      errors: [
        ["a", "system"],
        ["b", "job_cancelled"],
        ["c", "job_timeout"],
      ],
    });
    await test.restart();
    expect(seenBy(shop.context("d")).results).toHaveLength(3);
  });

  it("[ATT-1] fails with a chain's root cause: B and C promptly, D runs, E is told of a cancel", async () => {
    const { shop, test, submit } = await start();
    const a = await submit("a");
    const f = await submit("f");
    const b = await submit("b", { after: [a] });
    const c = await submit("c", { after: [b] });
    await submit("d", { after: [a, c], toleratesFailures: true });
    const e = await submit("e", { after: [f] });
    await flush();
    shop.fail("a", new Error("out of paper"));
    void f.cancel("enough");
    shop.end("f");
    await flush();
    for (const [handle, rootCause, dependency] of [
      [b, "a", "a"],
      [c, "a", "b"],
      [e, "f", "f"],
    ] as const) {
      const failure = await failureOf(handle);
      expect(failure).toMatchObject({
        code: "dependency_failed",
        details: { rootCause, dependency },
      });
      expect(failure.message).toContain(rootCause);
    }
    expect((await failureOf(e)).cause).toMatchObject({ code: "job_cancelled" });
    expect((await failureOf(c)).cause).toMatchObject({ code: "dependency_failed" });
    expect(seenBy(shop.context("d")).errors).toEqual([
      ["a", "system"],
      ["c", "dependency_failed"],
    ]);
    expect(["b", "c", "e"].map((label) => shop.runs(label))).toEqual([0, 0, 0]);
    shop.end("d");
    await flush();
    expect(test.runtime.health().liveJobs).toBe(0);
  });

  it("[ATT-1] submitted behind a failure fails at once; behind a completion it runs at once", async () => {
    const { shop, test, submit } = await start();
    const bad = await submit("bad");
    const good = await submit("good");
    await flush();
    shop.fail("bad");
    shop.end("good", 1);
    await flush();
    const late = await submit("late", { after: [good, bad] });
    expect(standingOf(late)).toBe("dependency_failed");
    await submit("on", { after: [good] });
    await flush();
    expect([shop.runs("late"), shop.runs("on")]).toEqual([0, 1]);
    // Nothing of it stays in memory, and nothing in the indexes.
    shop.end("on");
    await flush();
    assertLiveIsFold(test.runtime, test.log.messages);
    expect(test.runtime.health().liveJobs).toBe(0);
  });

  it("[ATT-1, ES-10] submitted behind an end that is staged and not yet acknowledged takes it into account", async () => {
    const { shop, test, submit } = await start();
    const a = await test.runtime.submit(shop.safe, { label: "a" });
    const b = await test.runtime.submit(shop.safe, { label: "b" });
    await flush();
    test.answers.hold();
    shop.end("a", 1);
    shop.fail("b");
    await flush();
    const on = test.runtime.submit(shop.safe, { label: "on" }, { after: [a] });
    const off = test.runtime.submit(shop.safe, { label: "off" }, { after: [b] });
    await flush();
    test.answers.release();
    expect(standingOf(await off)).toBe("dependency_failed");
    await on;
    await flush();
    expect(seenBy(shop.context("on")).results).toEqual([[a.id, 1]]);
    expect(submit).toBeDefined();
  });

  it("[GATE-1] stays gated while one of them is interrupted, over restarts and cancels of others", async () => {
    const { shop, test } = await start();
    const options = { id: "lost" };
    const lost = await test.runtime.submit(shop.unsure, { label: "lost" }, options);
    const other = await test.runtime.submit(shop.safe, { label: "other" }, { id: "other" });
    const after: readonly JobHandle<unknown>[] = [lost, other];
    await test.runtime.submit(shop.quick, { label: "d" }, { id: "d", after });
    await flush();
    await test.restart();
    shop.end("other");
    await flush();
    for (let restart = 0; restart < 2; restart += 1) {
      expect(test.stateOf("d")).toBe("waiting");
      expect(test.contextOf("d").pending).toEqual(["lost"]);
      await test.restart();
    }
    expect(shop.runs("d")).toBe(0);
    const dependent = await test.runtime.find("d");
    await (await test.runtime.find("lost"))?.cancel("give it up");
    expect(dependent && (await failureOf(dependent)).code).toBe("dependency_failed");
  });

  it("[DOOR-4] names at most so many, each once, and only jobs that are there", async () => {
    const { shop, test, submit } = await start();
    const a = await submit("a");
    await submit("d", { after: [a, "a", a] });
    await flush();
    expect(test.contextOf("d").spec?.dependencies).toEqual([{ id: "a", workflow: "a" }]);
    const after = Array.from({ length: DEPENDENCIES_MAX + 1 }, (_, at) => `x${at}`);
    const many = await submit("many", { after });
    expect((await failureOf(many)).message).toContain(String(DEPENDENCIES_MAX));
    const none = await submit("none", { after: ["nowhere"] });
    const refusal = await failureOf(none);
    expect([refusal.code, refusal.message.includes("nowhere")]).toEqual(["not_found", true]);
    expect(shop.counts).toEqual({ a: 1 });
  });
});

describe("a job that tolerates failures, behind one whose side effect is unknown", () => {
  /** `a` runs past its timeout and its grace, and its code goes on; `d` tolerates that, `e` does not. */
  const leaked = async () => {
    const begun = await start();
    await begun.submit("a", { timeoutMs: 1_000 });
    const d = await begun.submit("d", { after: ["a"], toleratesFailures: true });
    const e = await begun.submit("e", { after: ["a"] });
    await begun.test.advance(1_500);
    expect(begun.test.stateOf("a")).toBeNull();
    return { ...begun, d, e };
  };

  it("[TO-3, GATE-1] stays gated while its code runs on, over restarts, and so does one that is submitted later", async () => {
    const { shop, test, submit, e } = await leaked();
    expect([test.stateOf("d"), standingOf(e)]).toEqual(["waiting", "dependency_failed"]);
    await submit("late", { after: ["a"], toleratesFailures: true });
    await test.restart();
    for (const job of ["d", "late"]) {
      expect([test.stateOf(job), shop.runs(job)]).toEqual(["waiting", 0]);
      expect(test.contextOf(job).pending).toEqual(["a"]);
    }
    assertLiveIsFold(test.runtime, test.log.messages);
  });

  it.each(["returns", "throws"])("[TO-3, GATE-2] runs when its code %s at last", async (how) => {
    const { shop, test } = await leaked();
    if (how === "returns") shop.end("a", "at last");
    else shop.fail("a");
    await flush();
    expect(shop.runs("d")).toBe(1);
    expect(seenBy(shop.context("d")).results).toEqual([["a", null]]);
    expect(test.transitions("job:d").find(({ from }) => from === "waiting")?.reason).toContain(
      "returned",
    );
    expect(test.faults()).toEqual([]);
    assertLiveIsFold(test.runtime, test.log.messages);
  });

  it("[TO-3] is not kept waiting when it comes after the code has returned, and is after its process is gone", async () => {
    const { shop, test, submit } = await leaked();
    shop.end("a", "at last");
    await flush();
    await submit("late", { after: ["a"], toleratesFailures: true });
    await flush();
    expect(shop.runs("late")).toBe(1);
    await test.restart();
    await submit("later", { after: ["a"], toleratesFailures: true });
    await flush();
    expect([test.stateOf("later"), shop.runs("later")]).toEqual(["waiting", 0]);
  });

  it("[GATE-1, GATE-2] runs by a person's word, which stands in its history, and by nobody's before", async () => {
    const { shop, test, submit } = await start();
    await test.runtime.submit(shop.unsure, { label: "lost" }, { id: "lost" });
    await submit("d", { after: ["lost"], toleratesFailures: true });
    await flush();
    await test.restart();
    const say = () => test.runtime.resolve("lost", { kind: "known" }, "ada", "the bank says no");
    await expect(say()).rejects.toMatchObject({ code: "illegal_state" });
    await test.runtime.cancel("lost", "give it up", "ada");
    await test.restart();
    expect([test.stateOf("d"), shop.runs("d")]).toEqual(["waiting", 0]);
    await say();
    await flush();
    expect(shop.runs("d")).toBe(1);
    const word = test.transitions("job:d").find(({ from }) => from === "waiting");
    expect(word).toMatchObject({ reason: "the bank says no", evidence: { by: "ada" } });
    await expect(say()).rejects.toMatchObject({ code: "illegal_state" });
    const nobody = test.runtime.resolve("nobody", { kind: "known" }, "ada", "no idea");
    await expect(nobody).rejects.toMatchObject({ code: "not_found" });
    assertLiveIsFold(test.runtime, test.log.messages);
  });

  it("[ATT-1] runs at once where the end was seen, whatever its code had done before it threw", async () => {
    const { shop, test, submit } = await start();
    await test.runtime.submit(shop.unsure, { label: "a" }, { id: "a" });
    await submit("d", { after: ["a"], toleratesFailures: true });
    await flush();
    shop.fail("a");
    await flush();
    await submit("late", { after: ["a"], toleratesFailures: true });
    await flush();
    expect([shop.runs("d"), shop.runs("late")]).toEqual([1, 1]);
  });

  it("[GATE-1] of which there are more than one turn tells, all of them wait and all of them go on", async () => {
    const { shop, test } = await start();
    await test.runtime.submit(shop.safe, { label: "a" }, { id: "a", timeoutMs: 1_000 });
    const options = { after: ["a"], toleratesFailures: true };
    for (let count = 0; count < DEPENDENTS_PER_TURN + 1; count += 1)
      void test.runtime.submit(shop.quick, { label: "d" }, options);
    await test.advance(1_500);
    expect(shop.runs("d")).toBe(0);
    shop.end("a");
    await flush();
    await flush();
    expect(shop.runs("d")).toBe(DEPENDENTS_PER_TURN + 1);
  });
});
