/**
 * Scenarios in which nothing of the journal is hurt: trees, waits, dependencies, timeouts, cancels.
 */
import { flush } from "../../support/runtime.ts";
import { detached, ignoreFailure, type Scenario, stage, submitStill } from "./stage.ts";

const plainTree: Scenario = {
  name: "plain-tree",
  make: async () => {
    const scene = await stage();
    const { shop, test } = scene;
    shop.plan("root", async (context) => {
      await (await context.submitInStep(shop.quick, { label: "first" })).result();
      context.nextStep();
      const pair = await Promise.all([
        context.submitInCurrentStep(shop.safe, { label: "left" }, { key: "left" }),
        context.submitInCurrentStep(shop.doer, { label: "below" }, { key: "right" }),
      ]);
      return await Promise.all(pair.map((handle) => handle.result()));
    });
    shop.plan("below", async (context) => {
      const child = await context.submitInStep(shop.quick, { label: "deepest, ünïcødé" });
      return await child.result();
    });
    await test.runtime.submit(shop.doer, { label: "root" }, { id: "tree", user: "ada" });
    await test.advance(1_250);
    shop.end("left", { rows: [1, 2.5, "three", null, true] });
    await flush();
    return await detached(scene);
  },
};

const waitsAndSteps: Scenario = {
  name: "waits-and-steps",
  make: async () => {
    const scene = await stage();
    const { shop, test } = scene;
    shop.plan("flow", async (context) => {
      const draft = await context.step("draft", () => ({ text: "one" }));
      const approval = await context.waitFor("approval", { reason: "a person reads the draft" });
      const [stock, price] = await Promise.all([
        context.waitFor("stock", { kind: "upstream" }),
        context.waitFor("price", { kind: "other" }),
      ]);
      return { draft, approval, stock, price };
    });
    ignoreFailure(await test.runtime.submit(shop.doer, { label: "flow" }, { id: "flow" }));
    await test.advance(2_000);
    // The process dies while it waits; the answer comes to the next attempt.
    await test.restart();
    await test.advance(500);
    await test.runtime.answer("flow", "approval", true, "ada");
    await test.advance(500);
    await test.runtime.answer("flow", "price", 12.5, "a price list");
    await test.runtime.answer("flow", "stock", { left: 3 }, "the warehouse");
    await flush();
    return await detached(scene);
  },
};

const dependencies: Scenario = {
  name: "dependency-failure",
  make: async () => {
    const scene = await stage();
    const { shop, test } = scene;
    await submitStill(scene, "unsure", "good");
    await submitStill(scene, "unsure", "bad");
    await submitStill(scene, "unsure", "both", { after: ["good", "bad"] });
    await submitStill(scene, "unsure", "behind", { after: ["both"] });
    const tolerant = { id: "tolerant", after: ["bad", "good"], toleratesFailures: true };
    await test.runtime.submit(shop.quick, { label: "tolerant" }, tolerant);
    await submitStill(scene, "unsure", "only-good", { after: ["good"] });
    await test.advance(100);
    shop.end("good", "well");
    await test.advance(100);
    shop.fail("bad", new Error("the disk is gone"));
    await flush();
    shop.end("only-good");
    await flush();
    return await detached(scene);
  },
};

const timeouts: Scenario = {
  name: "timeouts",
  make: async () => {
    const scene = await stage();
    const { shop, test } = scene;
    for (const id of ["returns", "throws", "ignores", "dies"])
      await submitStill(scene, "safe", id, { timeoutMs: id === "dies" ? 60_000 : 10_000 });
    await submitStill(scene, "safe", "in-time", { timeoutMs: 20_000 });
    await test.advance(10_100);
    shop.end("returns");
    shop.fail("throws", new Error("too late"));
    shop.end("in-time");
    await test.advance(50_000);
    await test.restart(); // `dies` is in its grace.
    await flush();
    return await detached(scene);
  },
};

const cancels: Scenario = {
  name: "cancels",
  make: async () => {
    const scene = await stage();
    const { shop, test } = scene;
    for (const id of ["throws", "returns", "ignores", "dies"])
      await submitStill(scene, "unsure", id, { timeoutMs: 100_000 });
    await submitStill(scene, "safe", "never-started", { after: ["ignores"] });
    shop.plan("parent", async (context) => {
      const child = await context.submitInStep(shop.unsure, { label: "child" }, { key: "child" });
      return await child.result();
    });
    ignoreFailure(await test.runtime.submit(shop.doer, { label: "parent" }, { id: "parent" }));
    await test.advance(100);
    await test.runtime.cancel("dies", "a mistake", "ada");
    await test.advance(100);
    await test.restart(); // All that ran are interrupted; `dies` was on its way out.
    for (const id of ["throws", "returns", "ignores"])
      await test.runtime.resolve(id, { kind: "retry" }, "ada", "it left no trace");
    await flush();
    await test.advance(100);
    for (const id of ["never-started", "throws", "returns", "ignores", "parent"])
      await test.runtime.cancel(id, `no ${id} any more`, "ada");
    shop.fail("throws", new Error("interrupted"));
    shop.end("returns", "done all the same");
    await flush();
    const over = test.runtime.shutdown({ waitMs: 1_000 });
    await test.advance(60_000);
    await over;
    return test.log.messages;
  },
};

export const ORDINARY: readonly Scenario[] = [
  plainTree,
  waitsAndSteps,
  dependencies,
  timeouts,
  cancels,
];
