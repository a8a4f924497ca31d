/**
 * Who a job is: its id, its kin, its defaults, its states.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";

import {
  DOER_RETRY_BUDGET_DEFAULT,
  defineDoer,
  defineTool,
  TIMEOUT_MS_DEFAULT,
  TOOL_RETRY_BUDGET_DEFAULT,
} from "../../../actors/attempt/definition.ts";
import { jobChart } from "../../../machines/job/chart.ts";
import { jobStateOf } from "../../../machines/job/state.ts";
import { assertLiveIsFold } from "../../support/fold.ts";
import { failureOf, flush, TestRuntime } from "../../support/runtime.ts";
import { Workshop } from "../../support/workshop.ts";

const start = async () => {
  const shop = new Workshop();
  return { shop, test: await TestRuntime.start({ definitions: shop.all }) };
};

const anything = (value: unknown) => value as never;

describe("a root", () => {
  it("[ID-1] is its own workflow, has no parent, and gets an id of its prefix and a tail of its own", async () => {
    const { shop, test } = await start();
    const first = await test.runtime.submit(shop.quick, { label: "a" });
    const second = await test.runtime.submit(shop.quick, { label: "b" });
    expect(first.id).toMatch(/^quick-[0-9A-Z]{26}$/);
    expect(second.id).not.toBe(first.id);
    await Promise.all([first.result(), second.result()]);
    const context = shop.context("a");
    expect([context.id, context.workflow, context.parent]).toEqual([first.id, first.id, null]);
    expect(context.user).toBe("local");
  });

  it.each(["", "   ", "\ud800", "x".repeat(201)])("[ID-1] refuses %j as its user", async (user) => {
    const { shop, test } = await start();
    const handle = await test.runtime.submit(shop.quick, { label: "a" }, { user });
    expect((await failureOf(handle)).message).toContain("user");
    expect(shop.counts).toEqual({});
  });

  it("[ID-1] refuses a definition whose prefix is blank, or leaves no room for a tail", () => {
    const base = { input: z.null(), output: z.null(), run: () => null };
    expect(() => defineTool({ ...base, type: "t", idPrefix: " " })).toThrow(/idPrefix/);
    expect(() => defineTool({ ...base, type: "t", idPrefix: "x".repeat(180) })).toThrow(/idPrefix/);
    const type = "x".repeat(180);
    expect(() => defineTool({ ...base, type })).toThrow(/idPrefix/);
    expect(defineTool({ ...base, type, idPrefix: "short" }).idPrefix).toBe("short");
  });

  it("[ID-1, ID-2] of the longest type and prefix there may be is submitted, and so is its child", async () => {
    const { test } = await start();
    const prefix = "é".repeat(86);
    const leaf = defineTool({
      type: "l".repeat(200),
      idPrefix: prefix,
      input: z.null(),
      output: z.string(),
      run: ({ id }) => id,
    });
    const root = defineDoer({
      type: "d".repeat(200),
      idPrefix: prefix,
      input: z.null(),
      output: z.string(),
      run: async (context) => (await context.submitInStep(leaf, null)).result(),
    });
    await test.restart({ definitions: [leaf, root] });
    const handle = await test.runtime.submit(root, null);
    expect((await handle.result()).startsWith(`${prefix}-`)).toBe(true);
  });
});

describe("a child", () => {
  it("[ID-2] is named for its type or prefix and a tail that its parent and key give, the same in every run", async () => {
    const { shop, test } = await start();
    shop.plan("root", async (context) => {
      const options = { key: "k" };
      const child = await context.submitInStep(shop.quick, { label: context.id }, options);
      return child.id;
    });
    const ids: unknown[] = [];
    for (const id of ["p", "q"]) {
      const root = await test.runtime.submit(shop.doer, { label: "root" }, { id });
      ids.push(await root.result());
    }
    expect(ids[0]).toMatch(/^quick-[A-Za-z0-9_-]{22}$/);
    expect(ids[1]).not.toBe(ids[0]);
    const again = await TestRuntime.start({ definitions: shop.all });
    const root = await again.runtime.submit(shop.doer, { label: "root" }, { id: "p" });
    expect(await root.result()).toBe(ids[0]);
  });

  it("[ID-2] inherits parent, workflow and user, whatever it is given", async () => {
    const { shop, test } = await start();
    shop.plan("root", async (context) => {
      const options = anything({ user: "eve", workflow: "other", parent: null, id: "mine" });
      return (await context.submitInStep(shop.quick, { label: "a" }, options)).result();
    });
    const options = { id: "r", user: "ada" };
    await (await test.runtime.submit(shop.doer, { label: "root" }, options)).result();
    const { parent, workflow, user, id } = shop.context("a");
    expect([parent, workflow, user]).toEqual(["r", "r", "ada"]);
    expect(id).not.toBe("mine");
  });
});

describe("a definition", () => {
  const base = { type: "t", input: z.null(), output: z.null(), run: () => null };

  it("[ID-3, RTY-1] has the defaults of its kind", () => {
    expect(defineTool(base)).toMatchObject({
      kind: "tool",
      displayName: "t",
      idPrefix: "t",
      timeoutMs: TIMEOUT_MS_DEFAULT,
      retryClass: "unknown_no_automatic_retry",
      retryBudget: TOOL_RETRY_BUDGET_DEFAULT,
    });
    expect(TIMEOUT_MS_DEFAULT).toBe(30 * 60 * 1_000);
    expect(defineDoer(base)).toMatchObject({
      kind: "doer",
      timeoutMs: null,
      retryClass: "safe_to_retry",
      retryBudget: DOER_RETRY_BUDGET_DEFAULT,
      childrenLeft: "cancel",
    });
    expect(defineTool({ ...base, timeoutMs: null }).timeoutMs).toBeNull();
    expect(defineDoer({ ...base, timeoutMs: 7 }).timeoutMs).toBe(7);
  });

  it("[ID-3] that declares no timeout has none, on its context and in its deadline", async () => {
    const { shop, test } = await start();
    const open = { label: "a" };
    const unlimited = await test.runtime.submit(shop.safe, open, { timeoutMs: null });
    const limited = await test.runtime.submit(shop.safe, { label: "b" }, { timeoutMs: 5_000 });
    await flush();
    expect(shop.context("a").remainingTimeMs()).toBeNull();
    expect(shop.context("b").remainingTimeMs()).toBe(5_000);
    await test.advance(4_000);
    expect(shop.context("b").remainingTimeMs()).toBe(1_000);
    expect([unlimited, limited].map(({ settlement }) => settlement)).toEqual([null, null]);
  });

  it("[ID-4] names its jobs: by the display name, else by the type", async () => {
    const { test } = await start();
    const named = defineTool({ ...base, type: "n", displayName: "Nice name" });
    const plain = defineTool(base);
    await test.restart({ definitions: [named, plain] });
    for (const [definition, id] of [
      [named, "n"],
      [plain, "p"],
    ] as const)
      await (await test.runtime.submit(definition, null, { id })).result();
    const names = ["n", "p"].map((id) => test.transitions(`job:${id}`)[0]?.event);
    expect(names).toMatchObject([{ spec: { name: "Nice name" } }, { spec: { name: "t" } }]);
  });

  it("tells all its faults at once", () => {
    const wrong = anything({
      type: "",
      input: null,
      output: 5,
      run: "x",
      timeoutMs: "1",
      retry: { class: "maybe", budget: 1.5 },
    });
    const faults = ["type", "input", "output", "run", "timeoutMs", "retry.class", "retry.budget"];
    for (const fault of faults) expect(() => defineTool(wrong)).toThrow(fault);
    const doer = anything({ ...base, childrenLeft: "adopt" });
    expect(() => defineDoer(doer)).toThrow(/childrenLeft/);
  });

  it("is one for its type: another one is refused, the same one twice is not", async () => {
    const one = defineTool(base);
    await TestRuntime.start({ definitions: [one, one] });
    const two = defineTool(base);
    await expect(TestRuntime.start({ definitions: [one, two] })).rejects.toMatchObject({
      code: "invalid_argument",
    });
  });
});

describe("ids with anything in them", () => {
  it.each([
    "a.b",
    "a b",
    "a:b",
    "a/b",
    "../x",
    "*",
    ">",
    "123",
    "💧",
    "a\u0000b",
    "a.",
    "=2e",
    "é".repeat(100),
  ])(
    "[DOOR-7] %j is kept byte for byte, live, ended and after a restart, and meets no other id",
    async (id) => {
      const { shop, test } = await start();
      const handle = await test.runtime.submit(shop.safe, { label: "a" }, { id });
      await test.runtime.submit(shop.safe, { label: "b" }, { id: "a" });
      await flush();
      expect(handle.id).toBe(id);
      expect(shop.context("a").id).toBe(id);
      expect((await test.runtime.recordsOf(id)).length).toBe(1);
      await test.restart();
      assertLiveIsFold(test.runtime, test.log.messages);
      const found = await test.runtime.find(id);
      shop.end("a", id);
      expect(await found?.result()).toBe(id);
      await test.restart();
      expect(await (await test.runtime.find(id))?.result()).toBe(id);
      expect(test.stateOf("a")).toBe("running");
      expect(test.log.messages.every(({ subject }) => /^[A-Za-z0-9_=.-]+$/.test(subject))).toBe(
        true,
      );
    },
  );

  it.each(["", " ", "\t\n", "x".repeat(2_048), "\ud800", 5, {}, true])(
    "[DOOR-7] %j is refused at submit with the rule",
    async (id) => {
      const { shop, test } = await start();
      const handle = await test.runtime.submit(shop.quick, { label: "a" }, anything({ id }));
      const refusal = await failureOf(handle);
      expect(refusal.code).toBe("invalid_argument");
      expect(refusal.message).toMatch(/^id: an id /);
      expect(shop.counts).toEqual({});
    },
  );
});

describe("a job's state", () => {
  it("[ID-5] is terminal exactly where nothing leaves it, and active everywhere else", () => {
    const states = jobChart.stateValues.map((value) => [value, jobStateOf(value, 0)] as const);
    const terminal = states.filter(([, state]) =>
      ["COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT"].includes(state),
    );
    expect(terminal.map(([value]) => value)).toEqual(jobChart.finals);
    expect(jobChart.finals).toEqual(["completed", "failed", "cancelled", "timed_out"]);
    expect(jobStateOf("queued", 0)).toBe("QUEUED");
    expect(jobStateOf("queued", 1)).toBe("IDLE");
    expect(() => jobStateOf("nowhere", 0)).toThrow(RangeError);
  });

  it("[ID-7] that ended by a signal of the runtime is uncorrectable, and explains itself to a model", async () => {
    const { shop, test } = await start();
    const cancelled = await test.runtime.submit(shop.safe, { label: "a" });
    const late = await test.runtime.submit(shop.safe, { label: "b" }, { timeoutMs: 1_000 });
    await flush();
    await cancelled.cancel("no longer needed");
    shop.end("a");
    await test.advance(1_000);
    shop.end("b");
    for (const [handle, says] of [
      [cancelled, "no longer needed"],
      [late, "timeout"],
    ] as const) {
      const failure = await failureOf(handle);
      expect(failure).toMatchObject({ retry: "never" });
      const { toModel } = anything(failure) as { toModel(): string };
      expect(toModel.call(failure)).toContain(says);
      expect(toModel.call(failure)).toContain("will not help");
    }
  });
});
