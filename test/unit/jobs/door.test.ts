/**
 * The door: who may submit what, and what becomes of a submission that is refused, repeated, or not sound.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { ToolContext } from "../../../actors/attempt/context.ts";
import { defineDoer, defineTool } from "../../../actors/attempt/definition.ts";
import type { DoerContext } from "../../../actors/attempt/doer-context.ts";
import { VALUE_BYTES_MAX } from "../../../actors/attempt/json-value.ts";
import type { JobHandle } from "../../../actors/jobs/handle.ts";
import { worldOf } from "../../../actors/runtime/runtime.ts";
import { type Json, JsonSchema } from "../../../machines/json.ts";
import { assertLiveIsFold } from "../../support/fold.ts";
import { codeOf, failureOf, flush, standingOf, TestRuntime } from "../../support/runtime.ts";
import { Workshop } from "../../support/workshop.ts";

const start = async (shop = new Workshop()) => ({
  shop,
  test: await TestRuntime.start({ definitions: shop.all }),
});

/** What JavaScript lets a caller pass, whatever the types say. */
const anything = (value: unknown) => value as never;

describe("a refused submission", () => {
  it("[DOOR-1] is a handle born failed, and nothing of it is journaled", async () => {
    const { shop, test } = await start();
    const before = test.log.messages.length;
    const submitted = await test.runtime.submitByType("no.such", {}, { id: "x" });
    expect(submitted.decision).toBe("refused");
    expect(submitted.handle.id).toBe("x");
    expect(submitted.handle.settlement?.kind).toBe("failed");
    await expect(submitted.handle.result()).rejects.toMatchObject({
      code: "job_failed",
      cause: { code: "not_found" },
    });
    expect(test.log.messages).toHaveLength(before);
    expect(test.runtime.health().liveJobs).toBe(0);
    expect(await test.runtime.find("x")).toBeNull();
    expect(shop.counts).toEqual({});
  });

  it("[DOOR-1, ES-10] is told when what was staged before it is acknowledged, and not before", async () => {
    const { shop, test } = await start();
    test.answers.hold();
    const taken = test.runtime.submit(shop.quick, { label: "a" });
    let refusal: string | null = null;
    void test.runtime.submitByType("no.such", {}).then(({ decision }) => {
      refusal = decision;
    });
    await flush();
    expect(refusal).toBeNull();
    test.answers.release();
    await taken;
    await flush();
    expect(refusal).toBe("refused");
  });

  it("[DOOR-1] of a child is a handle born failed too, and its parent goes on", async () => {
    const { shop, test } = await start();
    const big = "x".repeat(VALUE_BYTES_MAX);
    shop.plan("root", async (context) => {
      const standings: Json[] = [];
      const ask = async (submit: () => Promise<JobHandle<unknown>>) =>
        standings.push(standingOf(await submit()));
      await ask(() => context.submitInStep(shop.quick, anything({ label: 5 })));
      await ask(() => context.submitInStep(shop.quick, { label: big }));
      await ask(() => context.submitInStep(shop.quick, anything({ label: "a", more: 1n })));
      await ask(() => context.submitInStep(shop.quick, { label: "a" }, { key: "#mine" }));
      await ask(() => context.submitInStep(shop.quick, { label: "a" }, { after: ["nowhere"] }));
      await ask(() => context.submitInStep(shop.quick, { label: "a" }, { timeoutMs: -1 }));
      const unknown = { ...shop.quick, type: "no.such" };
      await ask(() => context.submitInStep(unknown, { label: "a" }));
      return standings;
    });
    const root = await test.runtime.submit(shop.doer, { label: "root" });
    expect(await root.result()).toEqual([
      ...Array(4).fill("invalid_argument"),
      "not_found",
      "invalid_argument",
      "not_found",
    ]);
    expect(shop.counts).toEqual({ root: 1 });
  });
});

describe("who submits", () => {
  it("[DOOR-2, SCP-1] is nobody inside a tool: not a root, and not through another job's context", async () => {
    const { shop, test } = await start();
    const standings: string[] = [];
    let parent: DoerContext | null = null;
    shop.plan("root", async (context) => {
      parent = context;
      return (await context.submitInStep(shop.quick, { label: "tool" })).result();
    });
    shop.answer("tool", async () => {
      const root = await test.runtime.submit(shop.quick, { label: "sneaked" });
      standings.push(standingOf(root));
      const child = await parent?.submitInStep(shop.quick, { label: "sneaked" });
      standings.push(child === undefined ? "none" : standingOf(child));
      return null;
    });
    await (await test.runtime.submit(shop.doer, { label: "root" })).result();
    expect(standings).toEqual(["system", "system"]);
    expect(shop.runs("sneaked")).toBe(0);
  });

  it("[SCP-1] a tool's context has no way to submit, step or wait", async () => {
    const { shop, test } = await start();
    await (await test.runtime.submit(shop.quick, { label: "a" })).result();
    const context = shop.context("a");
    for (const call of ["submitInStep", "submitInCurrentStep", "nextStep", "step", "waitFor"])
      expect(call in context).toBe(false);
  });

  it("[DOOR-2] names a live job as parent only from its own code, never from outside any job or from another one", async () => {
    const { shop, test } = await start();
    const contexts: DoerContext[] = [];
    for (const label of ["p", "q"]) {
      shop.plan(label, async (context) => {
        contexts.push(context);
        return context.waitFor("end");
      });
      await test.runtime.submit(shop.doer, { label }, { id: label });
    }
    await flush();
    const [p] = contexts;
    const outside = await p?.submitInStep(shop.quick, { label: "a" });
    expect(outside && (await failureOf(outside)).code).toBe("system");
    expect(outside && (await failureOf(outside)).message).toContain("p");
    let inside: JobHandle<unknown> | undefined;
    shop.plan("r", async () => {
      inside = await p?.submitInStep(shop.quick, { label: "a" });
      return null;
    });
    await (await test.runtime.submit(shop.doer, { label: "r" })).result();
    expect(inside && (await failureOf(inside)).code).toBe("system");
    expect(shop.runs("a")).toBe(0);
  });

  it("[DOOR-2] is nobody whose job has ended while the door still looked", async () => {
    const { shop, test } = await start();
    const doer = defineDoer({
      type: "hasty",
      input: z.object({}),
      output: JsonSchema,
      timeoutMs: 1_000,
      run: async (context) => {
        const gone = await context.submitInStep(shop.quick, { label: "gone" });
        await gone.result();
        test.answers.hold();
        const late = context.submitInStep(shop.unsure, { label: "late" }, { after: [gone.id] });
        lateChild = late;
        return late.then(() => null);
      },
    });
    let lateChild: Promise<JobHandle<unknown>> | null = null;
    await test.restart({ definitions: [...shop.all, doer] });
    const hasty = await test.runtime.submit(doer, {}, { id: "h" });
    await flush();
    const cells = worldOf(test.runtime).cells.task("h");
    if (cells === undefined) throw new Error("it has ended");
    // As after a timeout and its grace, while the store does not answer: the end is staged before the look-up comes back.
    for (const event of [
      { type: "job.timeoutReached", attempt: 1, graceUntil: 0 },
      { type: "job.graceEnded", attempt: 1 },
    ] as const)
      worldOf(test.runtime).runTurn("test", (turn) => turn.apply(cells.job, event));
    test.answers.release();
    await flush();
    expect(standingOf(hasty)).toBe("job_timeout");
    expect(lateChild && standingOf(await lateChild)).toBe("illegal_state");
    expect(shop.runs("late")).toBe(0);
    expect(test.runtime.health().liveJobs).toBe(0);
  });
});

describe("soundness", () => {
  it("[DOOR-4] refuses a job that depends on itself, naming the cycle; a diamond runs, and nobody else is held up", async () => {
    const { shop, test } = await start();
    const self = await test.runtime.submit(
      shop.quick,
      { label: "self" },
      { id: "s", after: ["s"] },
    );
    const refusal = await failureOf(self);
    expect(refusal.code).toBe("invalid_argument");
    expect(refusal.message).toContain("s → s");
    const a = await test.runtime.submit(shop.quick, { label: "a" }, { id: "a" });
    const b = await test.runtime.submit(shop.quick, { label: "b" }, { after: [a] });
    const c = await test.runtime.submit(shop.quick, { label: "c" }, { after: [a] });
    const d = await test.runtime.submit(shop.quick, { label: "d" }, { after: [b, c, b] });
    expect(await d.result()).toBe("d");
    expect(shop.order).toEqual(["a", "b", "c", "d"]);
  });

  it("[DOOR-4] mutual dependencies cannot be said: a job that is not there yet is not found", async () => {
    const { shop, test } = await start();
    const a = await test.runtime.submit(shop.quick, { label: "a" }, { id: "a", after: ["b"] });
    expect((await failureOf(a)).code).toBe("not_found");
    // Refused, so it is not there: the id is free.
    const b = await test.runtime.submit(shop.quick, { label: "b" }, { id: "b", after: ["a"] });
    expect((await failureOf(b)).message).toContain("a");
    expect(shop.counts).toEqual({});
  });

  it("[DOOR-6] what does not parse is refused with the path of every fault", async () => {
    const { test } = await start();
    const tool = defineTool({
      type: "form",
      input: z.strictObject({ name: z.string(), at: z.object({ hour: z.number().int().max(23) }) }),
      output: z.null(),
      run: () => null,
    });
    await test.restart({ definitions: [tool] });
    const input = anything({ name: 7, at: { hour: 24 }, extra: true });
    const refusal = await failureOf(await test.runtime.submit(tool, input));
    expect(refusal.code).toBe("invalid_argument");
    expect(refusal.message).toContain("name");
    expect(refusal.message).toContain("at.hour");
    expect(refusal.message).toContain("extra");
  });

  it("[DOOR-6] what parses is what is journaled and run, on every attempt", async () => {
    const { test } = await start();
    const seen: unknown[] = [];
    const tool = defineTool({
      type: "form",
      input: z.object({ day: z.coerce.date(), name: z.string().trim().default("nobody") }),
      output: z.null(),
      retry: { class: "safe_to_retry" },
      run: (context, input) => {
        seen.push(input, Object.isFrozen(input));
        return context.attempt === 1 ? new Promise<null>(() => undefined) : null;
      },
    });
    await test.restart({ definitions: [tool] });
    await test.runtime.submit(tool, { day: "2025-02-03", name: "  ada " });
    await flush();
    await test.restart();
    const journaled = { day: "2025-02-03T00:00:00.000Z", name: "ada" };
    expect(seen).toEqual([journaled, true, journaled, true]);
  });

  it.each([
    ["timeoutMs", { timeoutMs: Number.POSITIVE_INFINITY }],
    ["timeoutMs", { timeoutMs: Number.NaN }],
    ["timeoutMs", { timeoutMs: 0 }],
    ["timeoutMs", { timeoutMs: "500" }],
    ["toleratesFailures", { toleratesFailures: "yes" }],
    ["metadata", { metadata: { at: 1n } }],
    ["metadata", { metadata: ["a"] }],
    ["metadata", { metadata: { a: "x".repeat(10_000) } }],
    ["user", { user: 5 }],
    ["after", { after: "a" }],
    ["after", { after: [5] }],
  ])("[ES-2] refuses a %s that the log could not give back", async (name, options) => {
    const { shop, test } = await start();
    const handle = await test.runtime.submit(shop.safe, { label: "a" }, anything(options));
    const refusal = await failureOf(handle);
    expect(refusal.code).toBe("invalid_argument");
    expect(refusal.message).toContain(name);
    assertLiveIsFold(test.runtime, test.log.messages);
  });

  it("[CAN-5] takes nothing before start has resolved, and that is when recovery is acknowledged", async () => {
    const { shop, test } = await start();
    await test.runtime.submit(shop.safe, { label: "a" });
    let isStarted = false;
    const starting = test.restart().then(() => {
      isStarted = true;
    });
    for (let answers = 0; answers < 3; answers += 1) await flush();
    await starting;
    expect(isStarted).toBe(true);
    test.answers.hold();
    isStarted = false;
    const again = test.restart().then(() => {
      isStarted = true;
    });
    // One answer after the other: the follow, the appender, the fence, the log itself, and then what recovery staged.
    while (test.stateOfLog().at(-1) !== "recovered") {
      expect(isStarted).toBe(false);
      test.answers.letThrough(1);
      await flush();
    }
    expect(isStarted).toBe(false);
    test.answers.release();
    await again;
    expect(isStarted).toBe(true);
  });
});

describe("the same id", () => {
  it("[DOOR-7] fifty times at once is one job with one run and one result", async () => {
    const { shop, test } = await start();
    const submit = () => test.runtime.submitByType("safe", { label: "a" }, { id: "x" });
    const all = await Promise.all(Array.from({ length: 50 }, submit));
    expect(all.map(({ decision }) => decision).sort()).toEqual([
      ...Array(49).fill("joined"),
      "submitted",
    ]);
    expect(new Set(all.map(({ handle }) => handle)).size).toBe(1);
    shop.end("a", 42);
    expect(await Promise.all(all.map(({ handle }) => handle.result()))).toEqual(Array(50).fill(42));
    expect(shop.runs("a")).toBe(1);
    expect(test.history("x").filter((type) => type === "submitted")).toHaveLength(1);
  });

  it("[DOOR-7] after its end, and after a restart, is the ended job with its result", async () => {
    const { shop, test } = await start();
    const submit = () => test.runtime.submitByType("quick", { label: "a" }, { id: "x" });
    await (await submit()).handle.result();
    const after = await submit();
    expect([after.decision, await after.handle.result()]).toEqual(["joined", "a"]);
    await test.restart();
    const later = await submit();
    expect([later.decision, await later.handle.result()]).toEqual(["joined", "a"]);
    expect(shop.runs("a")).toBe(1);
  });

  it("[DOOR-7] while its end is staged and not acknowledged is the same job still", async () => {
    const { shop, test } = await start();
    const first = await test.runtime.submit(shop.safe, { label: "a" }, { id: "x" });
    test.answers.hold();
    shop.end("a", 1);
    await flush();
    const again = test.runtime.submit(shop.safe, { label: "a" }, { id: "x" });
    await flush();
    expect(standingOf(first)).toBe("pending");
    test.answers.release();
    expect(await (await again).result()).toBe(1);
    expect(test.history("x").filter((type) => type === "submitted")).toHaveLength(1);
    expect(shop.runs("a")).toBe(1);
  });

  it.each(["live", "ended", "after a restart"])(
    "[DOOR-7] with other content is refused, naming both: %s",
    async (when) => {
      const { shop, test } = await start();
      const options = { id: "x" };
      const first = when === "live" ? shop.safe : shop.quick;
      await test.runtime.submit(first, { label: "a" }, options);
      await flush();
      if (when === "after a restart") await test.restart();
      for (const [definition, label] of [
        [first, "b"],
        [shop.unsure, "a"],
      ] as const) {
        const refusal = await failureOf(await test.runtime.submit(definition, { label }, options));
        expect(refusal.code).toBe("conflict");
        expect(refusal.message).toContain("x");
        expect(refusal.message).toContain(first.type);
      }
      expect(shop.runs("b")).toBe(0);
    },
  );

  it("[DOOR-7] with the members of its input in another order is the same content", async () => {
    const { test } = await start();
    const tool = defineTool({
      type: "loose",
      input: z.record(z.string(), JsonSchema),
      output: z.null(),
      run: () => null,
    });
    await test.restart({ definitions: [tool] });
    await test.runtime.submit(tool, { a: 1, b: { c: [1, 2], d: null } }, { id: "x" });
    const again = await test.runtime.submitByType(
      "loose",
      { b: { d: null, c: [1, 2] }, a: 1 },
      { id: "x" },
    );
    expect(again.decision).toBe("joined");
    const other = await test.runtime.submitByType(
      "loose",
      { a: 1, b: { c: [2, 1], d: null } },
      { id: "x" },
    );
    expect(other.decision).toBe("refused");
  });

  it.each(["live", "ended", "after a restart"])(
    "[DOOR-7] that is a child's is that child, with the same content, and a conflict with other: %s",
    async (when) => {
      const { shop, test } = await start();
      let child = "";
      shop.plan("root", async (context) => {
        const handle = await context.submitInStep(shop.safe, { label: "a" });
        child = handle.id;
        return handle.result();
      });
      await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" });
      await flush();
      if (when !== "live") shop.end("a", 7);
      await flush();
      if (when === "after a restart") await test.restart();
      const options = { id: child };
      const again = await test.runtime.submitByType("safe", { label: "a" }, options);
      expect([again.decision, again.handle.workflow]).toEqual(["joined", "r"]);
      const other = await test.runtime.submit(shop.safe, { label: "b" }, options);
      expect((await failureOf(other)).code).toBe("conflict");
      if (when === "live") shop.end("a", 7);
      expect(await again.handle.result()).toBe(7);
      expect([shop.runs("a"), shop.runs("b")]).toEqual([1, 0]);
    },
  );

  it("[DOOR-7] that is a child's whose parent has ended is that child, in its workflow, when nobody holds it", async () => {
    const { shop, test } = await start();
    let child = "";
    shop.plan("root", async (context) => {
      child = (await context.submitInStep(shop.unsure, { label: "a" })).id;
      return null;
    });
    await (await test.runtime.submit(shop.keeper, { label: "root" }, { id: "r" })).result();
    await test.restart();
    const again = await test.runtime.submitByType("unsure", { label: "a" }, { id: child });
    expect([again.decision, again.handle.workflow]).toEqual(["joined", "r"]);
  });

  it.each(["live", "ended"])(
    "[DOOR-7, ID-1] with the same content of another user is refused, and gives nothing away: %s",
    async (when) => {
      const { shop, test } = await start();
      const submit = (user: string) =>
        test.runtime.submitByType("safe", { label: "a" }, { id: "x", user });
      await submit("ada");
      await flush();
      if (when === "ended") shop.end("a", "hers");
      await flush();
      const refused = await submit("bob");
      expect([refused.decision, refused.refusal?.code]).toEqual(["refused", "conflict"]);
      expect(refused.refusal?.message).toContain("another user");
      expect(refused.refusal?.message).not.toContain("ada");
      expect((await submit("ada")).decision).toBe("joined");
      expect(shop.runs("a")).toBe(1);
    },
  );

  it("[DOOR-7] that was minted for another job cannot be taken by asking for it", async () => {
    const { shop, test } = await start();
    const minted = await test.runtime.submit(shop.safe, { label: "a" });
    const options = { id: minted.id };
    const again = await test.runtime.submit(shop.safe, { label: "a" }, options);
    expect((await failureOf(again)).code).toBe("conflict");
  });
});

describe("a context that outlives its job", () => {
  it("[CTX-6] cannot submit as it, step as it, or wait as it", async () => {
    const { shop, test } = await start();
    let leaked: DoerContext | null = null;
    shop.plan("root", (context) => {
      leaked = context;
      return null;
    });
    await (await test.runtime.submit(shop.doer, { label: "root" })).result();
    const context = leaked as DoerContext | null;
    const calls: (() => unknown)[] = [
      () => context?.submitInStep(shop.quick, { label: "a" }),
      () => context?.nextStep(),
      () => context?.step("s", () => 1),
      () => context?.waitFor("w"),
    ];
    for (const call of calls) {
      const code = await Promise.resolve()
        .then(call)
        .then((handle) => (handle === undefined ? "taken" : standingOf(anything(handle))), codeOf);
      expect(code).toBe("illegal_state");
    }
    expect(shop.runs("a")).toBe(0);
  });

  it("[CTX-6, DOOR-5] submits a root as nobody", async () => {
    const { shop, test } = await start();
    let late: (() => void) | null = null;
    let context: ToolContext | null = null;
    const outcome = new Promise<JobHandle<unknown>>((resolve) => {
      shop.plan("root", () => {
        setImmediate(() => {
          late = () => {
            context = test.runtime.currentJob();
            void test.runtime.submit(shop.quick, { label: "a" }).then(resolve);
          };
          setImmediate(() => late?.());
        });
        return null;
      });
    });
    await (await test.runtime.submit(shop.doer, { label: "root" })).result();
    await (await outcome).result();
    expect(context).toBeNull();
    expect(shop.context("a").metadata).toEqual({});
    expect(shop.context("a").parent).toBeNull();
  });
});
