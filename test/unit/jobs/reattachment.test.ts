/**
 * A doer that runs again finds what it left: children, steps, answers.
 */
import { describe, expect, it } from "vitest";

import type { DoerContext } from "../../../actors/jobs/doer-context.ts";
import { assertLiveIsFold } from "../../support/fold.ts";
import { codeOf, failureOf, flush, standingOf, TestRuntime } from "../../support/runtime.ts";
import { type Plan, Workshop } from "../../support/workshop.ts";

const forever = () => new Promise<never>(() => undefined);

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

/** One runtime whose root runs `first`, is lost with its process, and runs `second`. */
async function twice(
  shop: Workshop,
  first: Plan,
  second: Plan,
  options: { readonly definition?: "doer" | "keeper" } = {},
) {
  const test = await TestRuntime.start({ definitions: shop.all });
  shop.plan("root", (context) => (context.attempt === 1 ? first(context) : second(context)));
  const definition = shop[options.definition ?? "doer"];
  await test.runtime.submit(definition, { label: "root" }, { id: "r" });
  await flush();
  assertLiveIsFold(test.runtime, test.log.messages);
  await test.restart();
  assertLiveIsFold(test.runtime, test.log.messages);
  const handle = await test.runtime.find("r");
  if (handle === null) throw new Error("the root is gone");
  return { test, handle };
}

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
      Promise.all([1, 2].map(() => context.step("s", () => Promise.resolve((count += 1))))),
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
