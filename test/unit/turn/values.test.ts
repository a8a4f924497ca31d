/**
 * Values that a log would not give back as they were: they do not go in.
 */
import { describe, expect, it } from "vitest";
import { z } from "zod";

import { defineTool } from "../../../actors/attempt/definition.ts";
import { toJson } from "../../../actors/attempt/json-value.ts";
import { SystemError, toErrorRecord } from "../../../actors/errors.ts";
import { REDACTED } from "../../../actors/journal/redaction.ts";
import { SubmitRequest } from "../../../infra/api/contract/requests.ts";
import { parseRequest } from "../../../infra/api/request-body.ts";
import type { Json } from "../../../machines/json.ts";
import { assertLiveIsFold } from "../../support/fold.ts";
import { codeOf, failureOf, flush, TestRuntime, textOf } from "../../support/runtime.ts";
import { Workshop } from "../../support/workshop.ts";

const strange = (): Json => JSON.parse('{"a":[{"__proto__":{"isAdmin":true}}]}');

/** Takes and gives back anything: its schemas pass over nothing. */
const anything = defineTool({
  type: "anything",
  input: z.unknown(),
  output: z.unknown(),
  timeoutMs: null,
  run: (_, input) => (input === "strange" ? strange() : input),
});

const start = async () => {
  const shop = new Workshop();
  const test = await TestRuntime.start({ definitions: [...shop.all, anything] });
  return { shop, test };
};

it("[REC-7, ES-2] a secret of digits that comes as a number stands nowhere in the log, and is redacted for the code too", async () => {
  const pin = 8_271_936_450;
  const test = await TestRuntime.start({ definitions: [anything], secrets: [String(pin)] });
  const handle = await test.runtime.submit(anything, { pin, other: 5 }, { metadata: { pin } });
  expect(await handle.result()).toEqual({ pin: REDACTED, other: 5 });
  expect(textOf(test.log.messages)).not.toContain(String(pin));
  assertLiveIsFold(test.runtime, test.log.messages);
});

describe("a member named __proto__", () => {
  it("[ES-2] is refused in an input, in metadata, in a result, in an answer and in a step", async () => {
    const { shop, test } = await start();
    const { runtime } = test;
    const metadata = strange() as Readonly<Record<string, Json>>;
    for (const submitted of [
      await runtime.submit(anything, strange()),
      await runtime.submit(anything, JSON.parse('{"__proto__":1}')),
      await runtime.submit(anything, null, { metadata }),
      await runtime.submit(anything, "strange", { id: "result" }),
    ])
      expect((await failureOf(submitted)).message).toContain("__proto__");
    shop.plan("root", async (context) => {
      const waited = context.waitFor("word");
      return [await context.step("s", strange).catch(codeOf), await waited];
    });
    const root = await runtime.submit(shop.doer, { label: "root" }, { id: "root" });
    await flush();
    const answered = runtime.answer("root", "word", strange(), "ada");
    await expect(answered).rejects.toMatchObject({ code: "invalid_argument" });
    await runtime.answer("root", "word", "well", "ada");
    expect(await root.result()).toEqual(["invalid_argument", "well"]);
    expect(() => toJson({ deep: strange() }, "it")).toThrow(/__proto__/);
    expect(toJson({ text: '"__proto__"', proto: "__proto__" }, "it")).toBeDefined();
  });

  it("[ES-2] is left out of what a failure says, live as in the log", async () => {
    const { shop, test } = await start();
    const held = await test.runtime.submit(shop.safe, { label: "held" });
    const a = await test.runtime.submit(shop.safe, { label: "a" });
    const options = { id: "d", after: [a, held], toleratesFailures: true };
    await test.runtime.submit(shop.safe, { label: "d" }, options);
    await flush();
    const details = JSON.parse('{"__proto__":1,"kept":{"__proto__":2,"b":3}}');
    shop.fail("a", new SystemError("no", { details }));
    await flush();
    const { failure } = test.contextOf("d").settled[a.id] ?? {};
    expect(failure?.cause?.details).toStrictEqual({ kept: { b: 3 } });
    expect(toErrorRecord(new SystemError("no", { details })).details).toStrictEqual({
      kept: { b: 3 },
    });
    assertLiveIsFold(test.runtime, test.log.messages);
  });

  it.each(["__proto__", "\\u005f_proto__"])(
    "[API-2] is refused in a request that spells it %s, wherever it stands",
    (name) => {
      const encode = (text: string) => new TextEncoder().encode(text);
      for (const text of [
        `{"type":"a","${name}":{}}`,
        `{"type":"a","input":[{"${name}":1}]}`,
        `{"type":"a","metadata":{"${name}":1}}`,
      ])
        expect(() => parseRequest(encode(text), SubmitRequest)).toThrow(/__proto__/);
      expect(parseRequest(encode(`{"type":"${name}"}`), SubmitRequest)).toBeDefined();
    },
  );
});
