/**
 * A doer that runs again finds what it left: results of its steps, and words from outside.
 */
import { describe, expect, it } from "vitest";

import { assertLiveIsFold } from "../../support/fold.ts";
import { codeOf, flush, standingOf, TestRuntime } from "../../support/runtime.ts";
import { forever, twice } from "../../support/second-run.ts";
import { type Plan, Workshop } from "../../support/workshop.ts";

describe("a step", () => {
  it("[TREE-6] runs once, and a later run gets what it left, null and nested values too", async () => {
    const shop = new Workshop();
    const effects: string[] = [];
    const plan: Plan = async (context) => {
      const value = await context.step("value", () => {
        effects.push("value");
        return { deep: [1, { at: "x" }] };
      });
      const nothing = await context.step("nothing", () => {
        effects.push("nothing");
        return null;
      });
      return context.attempt === 1 ? forever() : [value, nothing];
    };
    const { handle } = await twice(shop, plan, plan);
    expect(await handle.result()).toEqual([{ deep: [1, { at: "x" }] }, null]);
    expect(effects).toEqual(["value", "nothing"]);
  });

  it("[TREE-6] asked for twice in one run runs once", async () => {
    const shop = new Workshop();
    const test = await TestRuntime.start({ definitions: shop.all });
    let count = 0;
    shop.plan("root", (context) =>
      Promise.all(
        [1, 2].map(() =>
          context.step("s", () => {
            count += 1;
            return Promise.resolve(count);
          }),
        ),
      ),
    );
    const root = await test.runtime.submit(shop.doer, { label: "root" });
    expect(await root.result()).toEqual([1, 1]);
    expect(count).toBe(1);
  });

  it("[TREE-6] whose result was not journaled when its process was lost runs again", async () => {
    const shop = new Workshop();
    let count = 0;
    const plan: Plan = (context) =>
      context.step("s", () => {
        count += 1;
        return context.attempt === 1 ? forever() : "done";
      });
    const { handle } = await twice(shop, plan, plan);
    expect(await handle.result()).toBe("done");
    expect(count).toBe(2);
  });

  it("[TREE-6, CAN-2] of a cancelled job is not taken; the signal comes out of it", async () => {
    const shop = new Workshop();
    const test = await TestRuntime.start({ definitions: shop.all });
    const thrown: string[] = [];
    shop.plan("root", async (context) => {
      try {
        await context.step("s", async () => {
          await test.runtime.cancel("r", "enough", "ada");
          return 1;
        });
      } catch (error) {
        thrown.push(codeOf(error));
        throw error;
      }
      return null;
    });
    const root = await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" });
    await flush();
    expect(thrown).toEqual(["job_cancelled"]);
    expect(standingOf(root)).toBe("job_cancelled");
    expect(test.history("r")).not.toContain("stepRecorded");
  });

  it("[TREE-6] keys may be anything a person would write, and none that is derived", async () => {
    const shop = new Workshop();
    const keys = ["__proto__", "constructor", "a.b", "a b", "ключ", "💧", "*", ">", "../x", "0"];
    const plan: Plan = async (context) => {
      const values: string[] = [];
      for (const key of keys)
        values.push(await context.step(key, () => `${key} ${context.attempt}`));
      const refused = await Promise.allSettled(
        ["", " ", "#x", "\ud800", "x".repeat(201)].map(async (key) => context.step(key, () => 1)),
      );
      if (context.attempt === 1) return forever();
      return [
        values,
        refused.map((each) => (each.status === "rejected" ? codeOf(each.reason) : "taken")),
      ];
    };
    const { handle } = await twice(shop, plan, plan);
    expect(await handle.result()).toEqual([
      keys.map((key) => `${key} 1`),
      Array(5).fill("invalid_argument"),
    ]);
  });
});

describe("a wait", () => {
  const wait: Plan = async (context) => [await context.waitFor("word"), context.attempt];

  it("[TREE-6] goes on with an answer, without a restart", async () => {
    const shop = new Workshop();
    const test = await TestRuntime.start({ definitions: shop.all });
    shop.plan("root", wait);
    const root = await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" });
    await flush();
    expect(test.states("r")).toEqual(["queued", "running", "external_wait"]);
    await test.runtime.answer("r", "word", { yes: true }, "ada");
    expect(await root.result()).toEqual([{ yes: true }, 1]);
    expect(test.states("r")).toEqual([
      "queued",
      "running",
      "external_wait",
      "running",
      "completed",
    ]);
  });

  it("[TREE-6] outlives three restarts, and takes the answer after them", async () => {
    const shop = new Workshop();
    const { test } = await twice(shop, wait, wait);
    await test.restart();
    await test.restart();
    await test.runtime.answer("r", "word", 1, "ada");
    const handle = await test.runtime.find("r");
    expect(await handle?.result()).toEqual([1, 4]);
    expect(test.faults()).toEqual([]);
  });

  it("[TREE-6] answered before the restart is not waited for again", async () => {
    const shop = new Workshop();
    const plan: Plan = async (context) => {
      const word = await context.waitFor("word");
      return context.attempt === 1 ? forever() : [word, await context.waitFor("word")];
    };
    const test = await TestRuntime.start({ definitions: shop.all });
    shop.plan("root", plan);
    await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" });
    await flush();
    await test.runtime.answer("r", "word", "given", "ada");
    await flush();
    await test.restart();
    const handle = await test.runtime.find("r");
    expect(await handle?.result()).toEqual(["given", "given"]);
  });

  it("[TREE-6, STA-3] takes an answer that comes before the second run asks for it", async () => {
    const shop = new Workshop();
    let ask = (): void => undefined;
    const { test, handle } = await twice(shop, wait, async (context) => {
      await new Promise<void>((resolve) => {
        ask = resolve;
      });
      return wait(context);
    });
    expect(test.states("r").at(-1)).toBe("running");
    await test.runtime.answer("r", "word", "early", "ada");
    expect(test.states("r").at(-1)).toBe("running");
    ask();
    expect(await handle.result()).toEqual(["early", 2]);
    assertLiveIsFold(test.runtime, test.log.messages);
  });

  it("[STA-3] that a run before asked for and this one does not is no wait of this one's record", async () => {
    const shop = new Workshop();
    const { test, handle } = await twice(
      shop,
      async (context) => context.waitFor("old"),
      async (context) => [
        await context.waitFor("new"),
        await context.waitFor("newer"),
        await context.waitFor("old"),
      ],
    );
    await test.runtime.answer("r", "new", 2, "ada");
    expect(test.states("r").slice(-2)).toEqual(["running", "external_wait"]);
    await test.runtime.answer("r", "old", 1, "ada");
    expect(test.states("r").at(-1)).toBe("external_wait");
    await test.runtime.answer("r", "newer", 3, "ada");
    expect(await handle.result()).toEqual([2, 3, 1]);
    expect(test.states("r").slice(-3)).toEqual(["external_wait", "running", "completed"]);
  });

  it("[TREE-6] for two words ends its record's wait with the last one", async () => {
    const shop = new Workshop();
    const test = await TestRuntime.start({ definitions: shop.all });
    shop.plan("root", (context) =>
      Promise.all([context.waitFor("a", { kind: "upstream" }), context.waitFor("b")]),
    );
    const root = await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" });
    await flush();
    await test.runtime.answer("r", "a", 1, "ada");
    expect(test.states("r").at(-1)).toBe("external_wait");
    await test.runtime.answer("r", "b", 2, "ada");
    expect(await root.result()).toEqual([1, 2]);
  });

  it("[API-2] refuses an answer that nobody waits for, and one for a job that is not there", async () => {
    const shop = new Workshop();
    const test = await TestRuntime.start({ definitions: shop.all });
    shop.plan("root", wait);
    await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" });
    await flush();
    const { runtime } = test;
    await expect(runtime.answer("r", "other", 1, "ada")).rejects.toMatchObject({
      code: "conflict",
    });
    await expect(runtime.answer("no", "word", 1, "ada")).rejects.toMatchObject({
      code: "not_found",
    });
  });

  it("[ES-10] asked for again gets its answer when the log has it, not before", async () => {
    const shop = new Workshop();
    const test = await TestRuntime.start({ definitions: shop.all });
    const got: unknown[] = [];
    let again = (): void => undefined;
    shop.plan("root", async (context) => {
      void context.waitFor("word").then((value) => got.push(value));
      await new Promise<void>((resolve) => {
        again = resolve;
      });
      got.push(await context.waitFor("word"));
      return null;
    });
    await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" });
    await flush();
    test.answers.hold();
    const answering = test.runtime.answer("r", "word", 1, "ada");
    again();
    await flush();
    expect(got).toEqual([]);
    test.answers.release();
    await answering;
    await flush();
    expect(got).toEqual([1, 1]);
  });

  it("[ES-2] of an unknown kind is refused where it is asked for, and poisons no fold", async () => {
    const shop = new Workshop();
    const test = await TestRuntime.start({ definitions: shop.all });
    shop.plan("root", async (context) => {
      const kind = "aproval" as never;
      const refusal = await Promise.resolve()
        .then(() => context.waitFor("word", { kind }))
        .then(() => "taken", codeOf);
      return refusal;
    });
    const root = await test.runtime.submit(shop.doer, { label: "root" });
    await flush();
    expect(standingOf(root)).toBe('completed "invalid_argument"');
  });
});
