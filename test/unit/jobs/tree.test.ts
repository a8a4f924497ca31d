/**
 * The job tree records call order: what a child is stamped with, and who may stamp it.
 */
import { describe, expect, it } from "vitest";

import type { DoerContext } from "../../../actors/attempt/doer-context.ts";
import { type JobSpec, ordinalOf } from "../../../machines/job/spec.ts";
import { assertLiveIsFold } from "../../support/fold.ts";
import { flush, TestRuntime } from "../../support/runtime.ts";
import { Workshop } from "../../support/workshop.ts";

const start = async () => {
  const shop = new Workshop();
  const test = await TestRuntime.start({ definitions: shop.all });
  return { shop, test };
};

/** The ordinals of a parent's children, by label. */
const ordinals = (test: TestRuntime, parent: string): Record<string, number | null> =>
  Object.fromEntries(
    test.transitions().flatMap(({ event }) => {
      if (event.type !== "job.submitted" || !("spec" in event)) return [];
      const spec = event.spec as {
        parent: string | null;
        input: { label: string };
        metadata: JobSpec["metadata"];
      };
      return spec.parent === parent ? [[spec.input.label, ordinalOf(spec)]] : [];
    }),
  );

describe("a child", () => {
  it("[TREE-1] carries its parent's id, its workflow's and its user's, at every depth", async () => {
    const { shop, test } = await start();
    shop.plan("root", async (context) => {
      await (await context.submitInStep(shop.doer, { label: "middle" })).result();
      return null;
    });
    shop.plan("middle", async (context) => {
      await (await context.submitInStep(shop.quick, { label: "leaf" })).result();
      return null;
    });
    const root = await test.runtime.submit(shop.doer, { label: "root" }, { id: "r", user: "ada" });
    await root.result();
    const [top, middle, leaf] = ["root", "middle", "leaf"].map((label) => shop.context(label));
    expect([top?.parent, top?.workflow, top?.user]).toEqual([null, "r", "ada"]);
    expect([middle?.parent, middle?.workflow, middle?.user]).toEqual(["r", "r", "ada"]);
    expect([leaf?.parent, leaf?.workflow, leaf?.user]).toEqual([middle?.id, "r", "ada"]);
  });

  it("[TREE-2, DOOR-5] has its ordinal, its caller's type and what its caller gave on its context and in the journal", async () => {
    const { shop, test } = await start();
    shop.plan("root", async (context) => {
      context.nextStep();
      const metadata = { note: "mine", iteration_number: 77 };
      await context.submitInCurrentStep(shop.safe, { label: "a" }, { metadata });
      return null;
    });
    await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" });
    await flush();
    const expected = { note: "mine", iteration_number: 1, "obs.caller_class": "plan" };
    expect(shop.context("a").metadata).toEqual(expected);
    const submitted = test.transitions(`job:${shop.context("a").id}`)[0]?.event;
    expect(submitted).toMatchObject({ type: "job.submitted", spec: { metadata: expected } });
  });

  it("[DOOR-5] of nobody has no caller on it; a root that a doer submits has the doer's type", async () => {
    const { shop, test } = await start();
    shop.plan("root", async () => {
      await test.runtime.submit(shop.quick, { label: "other" });
      return null;
    });
    await (await test.runtime.submit(shop.doer, { label: "root" })).result();
    expect(shop.context("root").metadata).toEqual({});
    expect(shop.context("other").metadata).toEqual({ "obs.caller_class": "plan" });
    expect(shop.context("other").parent).toBeNull();
  });
});

describe("a parent", () => {
  const one = async (context: DoerContext, shop: Workshop, label: string) =>
    (await context.submitInStep(shop.quick, { label })).result();

  it("[TREE-3] that runs A, then B, then C stamps 1, 2, 3", async () => {
    const { shop, test } = await start();
    shop.plan("root", async (context) => {
      for (const label of ["A", "B", "C"]) await one(context, shop, label);
      return null;
    });
    await (await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" })).result();
    expect(ordinals(test, "r")).toEqual({ A: 1, B: 2, C: 3 });
  });

  it("[TREE-3] gives the children of one step the same ordinal, and the next step the next", async () => {
    const { shop, test } = await start();
    shop.plan("root", async (context) => {
      await one(context, shop, "first");
      context.nextStep();
      const labels = ["x", "y", "z"];
      const fan = await Promise.all(
        labels.map((label) => context.submitInCurrentStep(shop.quick, { label })),
      );
      await Promise.all(fan.map((handle) => handle.result()));
      await one(context, shop, "last");
      return null;
    });
    await (await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" })).result();
    expect(ordinals(test, "r")).toEqual({ first: 1, x: 2, y: 2, z: 2, last: 3 });
  });

  it("[TREE-3] counts from 1 for each parent, whatever another one counts at the same time", async () => {
    const { shop, test } = await start();
    for (const label of ["p", "q"]) {
      shop.plan(label, async (context) => {
        for (const step of [1, 2]) await one(context, shop, `${label}${step}`);
        return null;
      });
    }
    const parents = await Promise.all(
      ["p", "q"].map((label) => test.runtime.submit(shop.doer, { label }, { id: label })),
    );
    await Promise.all(parents.map((parent) => parent.result()));
    expect(ordinals(test, "p")).toEqual({ p1: 1, p2: 2 });
    expect(ordinals(test, "q")).toEqual({ q1: 1, q2: 2 });
  });

  it("[TREE-5, ES-2] is the same family folded as live, with 200 jobs in three levels", async () => {
    const { shop, test } = await start();
    shop.plan("root", async (context) => {
      context.nextStep();
      const middles = Array.from({ length: 8 }, (_, at) => `m${at}`);
      for (const label of middles) {
        shop.plan(label, async (inner) => {
          inner.nextStep();
          const leaves = Array.from({ length: 24 }, (_, at) => `${label}.${at}`);
          await Promise.all(
            leaves.map((leaf, at) =>
              inner.submitInCurrentStep(at === 0 ? shop.safe : shop.quick, { label: leaf }),
            ),
          );
          return inner.waitFor("go");
        });
      }
      await Promise.all(
        middles.map((label) => context.submitInCurrentStep(shop.doer, { label }, { key: label })),
      );
      return context.waitFor("go");
    });
    await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" });
    await flush();
    expect(test.runtime.health().liveJobs).toBe(1 + 8 + 8);
    assertLiveIsFold(test.runtime, test.log.messages);
    expect(test.faults()).toEqual([]);
  });
});
