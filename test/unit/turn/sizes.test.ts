/**
 * Payloads at their limits: what is too large is refused with its size and the limit, and costs nobody else anything.
 */
import { describe, expect, it } from "vitest";
import { VALUE_BYTES_MAX } from "../../../actors/attempt/json-value.ts";
import { SystemError } from "../../../actors/errors.ts";
import { DEPENDENCIES_MAX, SPEC_BYTES_MAX } from "../../../actors/jobs/submission.ts";
import { BODY_BYTES_MAX } from "../../../actors/journal/codec.ts";
import { worldOf } from "../../../actors/runtime/runtime.ts";
import {
  codeOf,
  copyLog,
  failureOf,
  flush,
  standingOf,
  TestRuntime,
} from "../../support/runtime.ts";
import { Workshop } from "../../support/workshop.ts";

const start = async () => {
  const shop = new Workshop();
  return { shop, test: await TestRuntime.start({ definitions: shop.all }) };
};

/** A text whose JSON, its quotes included, takes so many bytes. */
const textOfBytes = (bytes: number, unit = "x"): string => {
  const width = new TextEncoder().encode(unit).length;
  return unit.repeat(Math.floor((bytes - 2) / width)) + "x".repeat((bytes - 2) % width);
};
/** Bytes of `{"label":""}` around the text. */
const AROUND_LABEL = '{"label":}'.length;

describe("an input", () => {
  it.each([
    ["limit − 1", VALUE_BYTES_MAX - 1, "taken"],
    ["limit", VALUE_BYTES_MAX, "taken"],
    ["limit + 1", VALUE_BYTES_MAX + 1, "refused"],
    ["50 MB", 50 * 1024 * 1024, "refused"],
  ])("[DOOR-6] of %s is %s", async (_name, bytes, verdict) => {
    const { shop, test } = await start();
    const label = textOfBytes(bytes - AROUND_LABEL);
    const handle = await test.runtime.submit(shop.quick, { label });
    if (verdict === "taken") expect(await handle.result()).toBe(label);
    else {
      const refusal = await failureOf(handle);
      expect(refusal.code).toBe("invalid_argument");
      expect(refusal.message).toContain(String(bytes));
      expect(refusal.message).toContain(String(VALUE_BYTES_MAX));
      expect(shop.counts).toEqual({});
    }
    expect(test.faults()).toEqual([]);
  });

  it("[DOOR-6] is measured in bytes of UTF-8, not in characters", async () => {
    const { shop, test } = await start();
    for (const [bytes, standing] of [
      [VALUE_BYTES_MAX, "pending"],
      [VALUE_BYTES_MAX + 1, "invalid_argument"],
    ] as const) {
      const label = textOfBytes(bytes - AROUND_LABEL, "💧");
      const handle = await test.runtime.submit(shop.safe, { label });
      expect(standingOf(handle)).toBe(standing);
    }
  });

  it("[DOOR-6] with many dependencies of long ids that together exceed a record is refused, with the size", async () => {
    const { shop, test } = await start();
    const ids = Array.from({ length: 400 }, (_, at) => `${at} ${"\u0001".repeat(190)}`);
    for (const id of ids) void test.runtime.submit(shop.safe, { label: "a" }, { id });
    await flush();
    const handle = await test.runtime.submit(shop.quick, { label: "d" }, { after: ids });
    const refusal = await failureOf(handle);
    expect(refusal.code).toBe("invalid_argument");
    expect(refusal.message).toContain("400 dependencies");
    expect(refusal.message).toContain(String(SPEC_BYTES_MAX));
    expect(test.runtime.health().liveJobs).toBe(ids.length);
    // Nothing of it is left in the indexes either.
    expect(worldOf(test.runtime).kinship.dependents(ids[0] ?? "")).toBeUndefined();
  });
});

describe("a submission", () => {
  it("[DOOR-4] behind as many ended jobs as may be named is taken, and told of all of them", async () => {
    const { shop, test } = await start();
    const ids = Array.from(
      { length: DEPENDENCIES_MAX },
      (_, at) => `import-01ARZ3NDEKTSV4RRFFQ69G5FAV-${at}`,
    );
    for (const id of ids) void test.runtime.submit(shop.quick, { label: "a" }, { id });
    for (let turns = 0; turns < 20; turns += 1) await flush();
    expect(test.runtime.health().liveJobs).toBe(0);
    const handle = await test.runtime.submit(shop.quick, { label: "d" }, { id: "d", after: ids });
    expect(await handle.result()).toBe("d");
    expect(test.history("d").filter((type) => type === "dependencySettled")).toHaveLength(
      DEPENDENCIES_MAX,
    );
    expect(test.faults()).toEqual([]);
  });

  it("[ES-4] behind many ended jobs is told of the rest at the next start, when its owner died in between", async () => {
    const { shop, test } = await start();
    const ids = Array.from({ length: 150 }, (_, at) => `e${at}`);
    for (const id of ids) void test.runtime.submit(shop.quick, { label: "a" }, { id });
    for (let turns = 0; turns < 5; turns += 1) await flush();
    await test.runtime.submit(shop.quick, { label: "d" }, { id: "d", after: ids });
    await flush();
    const first = test.log.messages.findIndex(({ subject }) => subject.endsWith(".d"));
    const log = await copyLog(test.log.messages.slice(0, first + 1));
    const next = await TestRuntime.start({ definitions: shop.all, log });
    expect(await (await next.runtime.find("d"))?.result()).toBe("d");
  });

  it("[DOOR-6] that its first turn cannot record leaves no handle behind, under an id that can be used again", async () => {
    const { shop, test } = await start();
    const a = await test.runtime.submit(shop.safe, { label: "a" });
    await flush();
    shop.fail("a", new SystemError("no", { details: { big: textOfBytes(200_000) } }));
    await flush();
    const label = textOfBytes(100_000);
    const options = { id: "d", after: [a] };
    const refused = await test.runtime.submit(shop.quick, { label }, options);
    const refusal = await failureOf(refused);
    expect([refusal.code, refusal.message]).toEqual([
      "invalid_argument",
      expect.stringContaining(String(BODY_BYTES_MAX)),
    ]);
    expect(worldOf(test.runtime).handles.size).toBe(0);
    const again = await test.runtime.submit(shop.quick, { label: "d" }, { id: "d" });
    expect(await again.result()).toBe("d");
  });
});

describe("a result", () => {
  it.each([
    ["none", null, "completed null"],
    ["an empty text", "", 'completed ""'],
    ["the limit", textOfBytes(VALUE_BYTES_MAX), "completed"],
    ["one byte more", textOfBytes(VALUE_BYTES_MAX + 1), "invalid_argument"],
    ["50 MB", textOfBytes(50 * 1024 * 1024), "invalid_argument"],
  ])("[ES-8] of %s ends its own job, and no other", async (_name, value, standing) => {
    const { shop, test } = await start();
    const handle = await test.runtime.submit(shop.safe, { label: "a" }, { id: "a" });
    const other = await test.runtime.submit(shop.safe, { label: "b" });
    const dependent = await test.runtime.submit(shop.quick, { label: "d" }, { after: [handle] });
    await flush();
    shop.end("a", value);
    await flush();
    expect(standingOf(handle).slice(0, standing.length)).toBe(standing);
    shop.end("b", 1);
    expect(await other.result()).toBe(1);
    if (standing.startsWith("completed")) {
      expect(await dependent.result()).toBe("d");
      expect(shop.context("d").dependencies.singleResult()).toEqual(value);
    } else expect((await failureOf(dependent)).code).toBe("dependency_failed");
    await test.restart();
    const found = await test.runtime.find("a");
    expect(found && standingOf(found)).toBe(standingOf(handle));
  });

  it("[ES-8] too large beside what else its turn records still ends its job, as failed", async () => {
    const { shop, test } = await start();
    const handle = await test.runtime.submit(shop.safe, { label: "a" }, { id: "a" });
    await flush();
    const cause = new Error("x".repeat(5_000));
    // Five causes deep, each cut to its bound: large, and recorded.
    let error = cause;
    for (let depth = 0; depth < 8; depth += 1)
      error = new Error("y".repeat(5_000), { cause: error });
    shop.fail("a", error);
    const failure = await failureOf(handle);
    expect(failure.message.length).toBeLessThan(2_100);
    expect(test.faults()).toEqual([]);
  });
});

describe("a step, a word, a reason", () => {
  it("[ES-8] too large is refused where it is given, and its job goes on", async () => {
    const { shop, test } = await start();
    const large = textOfBytes(VALUE_BYTES_MAX + 1);
    shop.plan("root", async (context) => {
      const code = await context.step("s", () => large).catch(codeOf);
      await context.step("t", () => textOfBytes(VALUE_BYTES_MAX));
      return [code, await context.waitFor("word")];
    });
    const root = await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" });
    await flush();
    const answer = (value: string) => test.runtime.answer("r", "word", value, "ada");
    await expect(answer(large)).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(test.runtime.cancel("r", "x".repeat(BODY_BYTES_MAX), "ada")).rejects.toMatchObject(
      { code: "invalid_argument" },
    );
    expect(test.stateOf("r")).toBe("running");
    await answer("go");
    expect(await root.result()).toEqual(["invalid_argument", "go"]);
  });

  it("[ES-2] is what the log gives back: a word with a date and an undefined in it, live and folded alike", async () => {
    const { shop, test } = await start();
    shop.plan("root", async (context) => {
      const word = await context.waitFor("word");
      await context.waitFor("end");
      return word;
    });
    await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" });
    await test.runtime.submit(shop.unsure, { label: "lost" }, { id: "lost" });
    await flush();
    const word = { at: new Date(0), none: undefined, list: [undefined] } as never;
    await test.runtime.answer("r", "word", word, "ada");
    const plain = { at: "1970-01-01T00:00:00.000Z", list: [null] };
    expect(test.contextOf("r").answers).toStrictEqual({ word: plain });
    await test.restart();
    // What a person says is the result has to be one that the job's definition could have given.
    const said = { kind: "completed", result: word } as const;
    await expect(test.runtime.resolve("lost", said, "ada", "seen")).rejects.toMatchObject({
      code: "invalid_argument",
    });
    await test.runtime.resolve("lost", { kind: "completed", result: plain }, "ada", "seen");
    expect(await (await test.runtime.find("lost"))?.result()).toStrictEqual(plain);
  });

  it("[API-2] that is no JSON is refused, and changes nothing", async () => {
    const { shop, test } = await start();
    shop.plan("root", (context) => context.waitFor("word"));
    await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" });
    await flush();
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    for (const value of [cyclic, 1n, () => 1])
      await expect(test.runtime.answer("r", "word", value as never, "ada")).rejects.toMatchObject({
        code: "invalid_argument",
      });
    const wrong = 5 as never;
    for (const call of [
      () => test.runtime.cancel("r", wrong, "ada"),
      () => test.runtime.cancel("r", "x", wrong),
      () => test.runtime.answer("r", "word", 1, wrong),
      () => test.runtime.resolve("r", { kind: "retry" }, "ada", wrong),
    ])
      await expect(call()).rejects.toMatchObject({ code: "invalid_argument" });
    expect(test.states("r").at(-1)).toBe("external_wait");
  });
});
