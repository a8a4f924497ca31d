/**
 * Commands that come twice under one id.
 */
import { describe, expect, it } from "vitest";

import { codeOf, flush, TestRuntime, textOf } from "../../support/runtime.ts";
import { Workshop } from "../../support/workshop.ts";

/** A doer that waits twice for a word of one name. */
const waiting = async () => {
  const shop = new Workshop();
  const test = await TestRuntime.start({ definitions: shop.all, secrets: ["hunter2hunter2"] });
  shop.plan("root", async (context) => {
    await context.waitFor("first");
    return context.waitFor("second");
  });
  await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" });
  await flush();
  const answer = (name: string, value: string, commandId?: string) =>
    test.runtime.answer("r", name, value, "ada", commandId).then(() => "taken", codeOf);
  const answers = () => test.history("r").filter((type) => type === "answered").length;
  return { shop, test, answer, answers };
};

/** A job whose end nobody saw. */
const lost = async () => {
  const shop = new Workshop();
  const test = await TestRuntime.start({ definitions: shop.all });
  await test.runtime.submit(shop.unsure, { label: "a" }, { id: "a" });
  await flush();
  await test.restart();
  return { shop, test };
};

describe("an answer under a command id", () => {
  it("[API-2] is taken once and told the same, after a reload and after the job's end too", async () => {
    const { test, answer, answers } = await waiting();
    expect(await answer("first", "1", "c-1")).toBe("taken");
    expect(await answer("first", "1", "c-1")).toBe("taken");
    await test.restart();
    expect(await answer("first", "1", "c-1")).toBe("taken");
    expect(answers()).toBe(1);
    expect(await answer("second", "2", "c-2")).toBe("taken");
    await flush();
    expect(test.stateOf("r")).toBeNull();
    expect(await answer("second", "2", "c-2")).toBe("taken");
    expect([answers(), await answer("second", "2")]).toEqual([2, "not_found"]);
  });

  it("[API-2] that comes again while the first is under way is the first", async () => {
    const { test, answer, answers } = await waiting();
    test.answers.hold();
    const both = [answer("first", "1", "c"), answer("first", "1", "c"), answer("first", "2", "c")];
    await flush();
    test.answers.release();
    expect(await Promise.all(both)).toEqual(["taken", "taken", "conflict"]);
    expect(answers()).toBe(1);
  });

  it("[API-2] with other content is a conflict, and changes nothing", async () => {
    const { test, answer, answers } = await waiting();
    await answer("first", "1", "c");
    expect([await answer("first", "2", "c"), await answer("second", "1", "c")]).toEqual([
      "conflict",
      "conflict",
    ]);
    expect([answers(), test.stateOf("r")]).toEqual([1, "running"]);
  });

  it("[API-2] that was refused is decided anew", async () => {
    const { answer } = await waiting();
    expect(await answer("second", "2", "c")).toBe("conflict");
    expect(await answer("first", "1")).toBe("taken");
    await flush();
    expect(await answer("second", "2", "c")).toBe("taken");
  });

  it("[API-2, REC-7] whose id is none, or holds a secret, is refused", async () => {
    const { test, answer, answers } = await waiting();
    for (const id of ["", " ", "x".repeat(201), "c-hunter2hunter2"])
      expect(await answer("first", "1", id)).toBe("invalid_argument");
    expect(answers()).toBe(0);
    expect(textOf(test.log.messages)).not.toContain("hunter2hunter2");
  });
});

describe("a resolution under a command id", () => {
  it.each([
    { kind: "completed", result: 7 },
    { kind: "failed", message: "no" },
    { kind: "retry" },
  ] as const)("[API-2, RTY-3] is taken once and told the same: $kind", async (resolution) => {
    const { shop, test } = await lost();
    const say = (said: typeof resolution | { readonly kind: "failed"; readonly message: string }) =>
      test.runtime.resolve("a", said, "ada", "seen", "c").then(() => "taken", codeOf);
    expect(await say(resolution)).toBe("taken");
    await flush();
    const { length } = test.history("a");
    expect([await say(resolution), await say({ kind: "failed", message: "other" })]).toEqual([
      "taken",
      "conflict",
    ]);
    expect(test.history("a")).toHaveLength(length);
    expect(shop.runs("a")).toBe(resolution.kind === "retry" ? 2 : 1);
  });
});
