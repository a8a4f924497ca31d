/**
 * A doer that runs again finds the children it left.
 */
import { describe, expect, it } from "vitest";

import type { DoerContext } from "../../../actors/attempt/doer-context.ts";
import { failureOf, flush, standingOf, TestRuntime } from "../../support/runtime.ts";
import { forever, twice } from "../../support/second-run.ts";
import { type Plan, Workshop } from "../../support/workshop.ts";

interface Opened {
  readonly id: string;
  readonly key: string;
  readonly parent: string | null;
  readonly input: { readonly label: string };
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Every child that was ever opened, as its submission stands in the log. */
const opened = (test: TestRuntime): readonly Opened[] =>
  test.transitions().flatMap(({ event }) => {
    if (event.type !== "job.submitted" || !("spec" in event)) return [];
    const spec = event.spec as Opened;
    return spec.parent === null ? [] : [spec];
  });

const ordinals = (test: TestRuntime): Record<string, unknown> =>
  Object.fromEntries(
    opened(test).map(({ input, metadata }) => [input.label, metadata["iteration_number"]]),
  );

describe("children", () => {
  const labels = ["a", "b", "c", "d"];

  it("[TREE-6] are the same ones when the second run asks in another order; none runs twice, ordinals stay", async () => {
    const shop = new Workshop();
    const ask = async (context: DoerContext, order: readonly string[]) => {
      const results: Record<string, unknown> = {};
      for (const label of order) {
        const child = await context.submitInStep(shop.quick, { label });
        results[label] = [child.id, await child.result()];
      }
      return JSON.parse(JSON.stringify(results));
    };
    const seen: unknown[] = [];
    const { test, handle } = await twice(
      shop,
      async (context) => {
        seen.push(await ask(context, labels));
        return forever();
      },
      (context) => ask(context, ["c", "a", "d", "b"]),
    );
    expect(await handle.result()).toEqual(seen[0]);
    expect(shop.counts).toEqual({ root: 2, a: 1, b: 1, c: 1, d: 1 });
    expect(opened(test)).toHaveLength(4);
    expect(ordinals(test)).toEqual({ a: 1, b: 2, c: 3, d: 4 });
  });

  it("[TREE-6] that still live are joined, not opened again", async () => {
    const shop = new Workshop();
    const ask: Plan = async (context) => {
      const held = await context.submitInStep(shop.unsure, { label: "held" });
      const late = await context.submitInStep(shop.quick, { label: "late" }, { after: [held] });
      return [held.id, late.id, await late.result()];
    };
    const { test, handle } = await twice(shop, ask, ask);
    expect(opened(test)).toHaveLength(2);
    const [held] = opened(test);
    expect(test.stateOf(held?.id ?? "")).toBe("interrupted");
    await test.runtime.resolve(held?.id ?? "", { kind: "completed", result: 1 }, "ada", "seen");
    expect(await handle.result()).toEqual([...opened(test).map(({ id }) => id), "late"]);
    expect(shop.counts).toEqual({ root: 2, held: 1, late: 1 });
  });

  it("[TREE-6] new to the second run get ordinals above all recorded ones, and recorded ones keep theirs", async () => {
    const shop = new Workshop();
    const ask = async (context: DoerContext, order: readonly string[]) => {
      for (const label of order) await (await context.submitInStep(shop.quick, { label })).result();
      return null;
    };
    const { test, handle } = await twice(
      shop,
      async (context) => {
        await ask(context, ["a", "b"]);
        return forever();
      },
      (context) => ask(context, ["new", "b", "newer", "a"]),
    );
    await handle.result();
    expect(ordinals(test)).toEqual({ a: 1, b: 2, new: 3, newer: 4 });
  });

  it("[TREE-6] in one step share its ordinal on the second run too, a new one among them included", async () => {
    const shop = new Workshop();
    const fan = async (context: DoerContext, order: readonly string[]) => {
      context.nextStep();
      await Promise.all(order.map((label) => context.submitInCurrentStep(shop.quick, { label })));
      context.nextStep();
      await context.submitInCurrentStep(shop.quick, { label: "after" });
      return null;
    };
    const { test, handle } = await twice(
      shop,
      async (context) => {
        await fan(context, ["a", "b"]);
        return forever();
      },
      (context) => fan(context, ["b", "new", "a"]),
    );
    await handle.result();
    expect(ordinals(test)).toEqual({ a: 1, b: 1, after: 2, new: 1 });
  });

  it("[TREE-6] of the same type and input are told apart by how often they were asked for", async () => {
    const shop = new Workshop();
    const ask: Plan = async (context) => {
      const pair = [
        await context.submitInStep(shop.quick, { label: "same" }),
        await context.submitInStep(shop.quick, { label: "same" }),
      ];
      if (context.attempt === 1) return forever();
      return pair.map(({ id }) => id);
    };
    const { test, handle } = await twice(shop, ask, ask);
    expect(await handle.result()).toEqual(opened(test).map(({ id }) => id));
    expect(new Set(opened(test).map(({ id }) => id)).size).toBe(2);
    expect(shop.runs("same")).toBe(2);
  });

  it("[TREE-6] with other input under the same key are a conflict that names both, and the others go on", async () => {
    const shop = new Workshop();
    const ask = async (context: DoerContext, changed: string) => {
      const a = await context.submitInStep(shop.quick, { label: changed }, { key: "k" });
      const b = await context.submitInStep(shop.quick, { label: "b" }, { key: "l" });
      const failure = standingOf(a) === "pending" ? null : await failureOf(a).catch(() => null);
      return [failure === null ? null : [failure.code, failure.message], await b.result()];
    };
    const { test, handle } = await twice(
      shop,
      async (context) => {
        await ask(context, "old");
        return forever();
      },
      (context) => ask(context, "changed"),
    );
    const [refusal, b] = (await handle.result()) as [[string, string], string];
    expect(b).toBe("b");
    expect(refusal[0]).toBe("conflict");
    expect(refusal[1]).toContain("k");
    expect(refusal[1]).toContain(opened(test)[0]?.id);
    expect(refusal[1]).toContain("quick");
    expect(shop.counts).toEqual({ root: 2, old: 1, b: 1 });
  });

  it("[TREE-6] with one input changed and no key are other children; what nobody asks for is listed and cancelled", async () => {
    const shop = new Workshop();
    const ask = async (context: DoerContext, order: readonly string[]) => {
      await Promise.all(order.map((label) => context.submitInStep(shop.safe, { label })));
      return context.attempt === 1 ? forever() : null;
    };
    const { test, handle } = await twice(
      shop,
      (context) => ask(context, ["a", "b"]),
      (context) => ask(context, ["a", "b2"]),
    );
    await handle.result();
    await flush();
    const end = test.transitions("job:r").at(-1);
    const unasked = opened(test).find(({ input }) => input.label === "b");
    expect(end?.evidence).toEqual({ unaskedChildren: [unasked?.key], unaskedCount: 1 });
    expect(test.history(unasked?.id ?? "")).toContain("cancelRequested");
    expect(ordinals(test)).toEqual({ a: 1, b: 2, b2: 3 });
    for (const label of ["a", "b", "b2"]) shop.end(label);
    await flush();
    expect(test.runtime.health().liveJobs).toBe(0);
  });

  it("[TREE-6] that nobody asks for live on where the parent's policy keeps them", async () => {
    const shop = new Workshop();
    const { test, handle } = await twice(
      shop,
      async (context) => {
        await context.submitInStep(shop.safe, { label: "left" });
        return forever();
      },
      () => null,
      { definition: "keeper" },
    );
    await handle.result();
    await flush();
    const [left] = opened(test);
    expect(test.transitions("job:r").at(-1)?.evidence).toMatchObject({ unaskedCount: 1 });
    expect(test.stateOf(left?.id ?? "")).toBe("running");
    await test.restart();
    expect(test.stateOf(left?.id ?? "")).toBe("running");
    shop.end("left");
    await flush();
    expect(test.history(left?.id ?? "").at(-1)).toBe("completed");
  });

  it("[TREE-6] that failed are told again as they failed, from the journal", async () => {
    const shop = new Workshop();
    shop.answer("bad", () => {
      throw new TypeError("out of paper");
    });
    const ask: Plan = async (context) => {
      const child = await context.submitInStep(shop.quick, { label: "bad" });
      const failure = await failureOf(child);
      return context.attempt === 1 ? forever() : [failure.code, failure.message];
    };
    const { handle } = await twice(shop, ask, ask);
    expect(await handle.result()).toEqual(["system", "TypeError: out of paper"]);
    expect(shop.runs("bad")).toBe(1);
  });

  it("[TREE-6, ATT-1] that ended in the turn of their own submission are known like any other", async () => {
    const shop = new Workshop();
    shop.answer("bad", () => {
      throw new TypeError("out of paper");
    });
    const ask: Plan = async (context) => {
      const bad = await context.submitInStep(shop.quick, { label: "bad" });
      await failureOf(bad);
      const codes: string[] = [];
      for (const _ of [1, 2]) {
        const options = { key: "never", after: [bad] };
        const never = await context.submitInStep(shop.quick, { label: "never" }, options);
        codes.push((await failureOf(never)).code, never.id);
      }
      return context.attempt === 1 ? forever() : codes;
    };
    const { test, handle } = await twice(shop, ask, ask);
    const [, never] = opened(test);
    expect(await handle.result()).toEqual([
      "dependency_failed",
      never?.id,
      "dependency_failed",
      never?.id,
    ]);
    expect(opened(test)).toHaveLength(2);
    expect(shop.runs("never")).toBe(0);
  });

  it("[TREE-6, ES-10] asked for twice at once are one, and neither answer comes before the log has it", async () => {
    const shop = new Workshop();
    const test = await TestRuntime.start({ definitions: shop.all });
    const answered: string[] = [];
    shop.plan("root", async (context) => {
      test.answers.hold();
      const options = { key: "k" };
      const ask = async () => {
        answered.push((await context.submitInStep(shop.quick, { label: "a" }, options)).id);
      };
      await Promise.all([ask(), ask()]);
      return null;
    });
    await test.runtime.submit(shop.doer, { label: "root" });
    await flush();
    expect(answered).toEqual([]);
    test.answers.release();
    await flush();
    expect(new Set(answered).size).toBe(1);
    expect(answered).toHaveLength(2);
    expect(opened(test)).toHaveLength(1);
  });
});

it("[TREE-6] gives two children two ids, wherever a line break stands in a parent's id or a key", async () => {
  const shop = new Workshop();
  const test = await TestRuntime.start({ definitions: shop.all });
  const children: string[] = [];
  const parents = [
    ["a", "b\nc"],
    ["a\nb", "c"],
  ] as const;
  for (const [id, key] of parents) {
    shop.plan(id, async (context) => {
      const child = await context.submitInStep(shop.quick, { label: id }, { key });
      children.push(child.id);
      return child.result();
    });
    const handle = await test.runtime.submit(shop.doer, { label: id }, { id });
    expect(await handle.result()).toBe(id);
  }
  expect(new Set(children).size).toBe(2);
});
