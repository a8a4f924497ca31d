/**
 * What an owner takes care of at the edges of its life, and of a doer's: each of these went wrong once.
 */
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { defineDoer, defineTool } from "../../../actors/attempt/definition.ts";
import { toErrorRecord } from "../../../actors/errors.ts";
import { decodeBody, encodeBody } from "../../../actors/journal/codec.ts";
import { checksumOf, formatFrame, parseFrame } from "../../../actors/journal/frame.ts";
import type { StoredMessage } from "../../../actors/journal/log.ts";
import { worldOf } from "../../../actors/runtime/runtime.ts";
import { copyLog, flush, TestRuntime } from "../../support/runtime.ts";
import { Workshop } from "../../support/workshop.ts";

const nothing = { input: z.null(), output: z.any() } as const;

const gate = () => {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
};

it("[ES-3] definitions that cannot be are found before anybody is fenced for them", async () => {
  const test = await TestRuntime.start({ definitions: [] });
  const stored = test.log.messages.length;
  const twice = ["one", "two"].map(() => defineTool({ type: "same", ...nothing, run: () => null }));
  await expect(test.restart({ definitions: twice })).rejects.toMatchObject({
    code: "invalid_argument",
  });
  expect(test.log.messages).toHaveLength(stored);
  expect(test.runtime.health().state).toBe("ready");
});

it("[CAN-7] a doer that submits while its owner detaches goes on under the next one, and fails of nothing", async () => {
  const { open, opened } = gate();
  const leaf = defineTool({ type: "leaf", ...nothing, run: () => "done" });
  const doer = defineDoer({
    type: "doer",
    ...nothing,
    async run(context) {
      await opened;
      return (await context.submitInStep(leaf, null, { key: "leaf" })).result();
    },
  });
  const test = await TestRuntime.start({ definitions: [leaf, doer] });
  await test.runtime.submit(doer, null, { id: "root" });
  await flush();
  const detached = test.runtime.detach({ waitMs: 1_000 });
  open();
  await flush();
  await test.machine.time.advance(1_000);
  await detached;
  expect(test.history("root")).toEqual(["submitted", "started"]);
  const next = await test.restart();
  expect(await (await next.find("root"))?.result()).toBe("done");
});

it("[TREE-6] two calls for one key are one child, though one of them has something to look up first", async () => {
  let runs = 0;
  const leaf = defineTool({
    type: "leaf",
    ...nothing,
    run: () => {
      runs += 1;
      return runs;
    },
  });
  const doer = defineDoer({
    type: "doer",
    ...nothing,
    async run(context) {
      const asked = [
        context.submitInStep(leaf, null, { key: "k", after: ["before"] }),
        context.submitInStep(leaf, null, { key: "k" }),
      ];
      return Promise.all(asked.map(async (handle) => (await handle).result()));
    },
  });
  const test = await TestRuntime.start({ definitions: [leaf, doer] });
  await (await test.runtime.submit(leaf, null, { id: "before" })).result();
  const root = await test.runtime.submit(doer, null);
  expect(await root.result()).toEqual([2, 2]);
  expect(runs).toBe(2);
});

it("[TREE-6] a step that failed is tried again when it is asked for again", async () => {
  let tries = 0;
  const flaky = () => {
    tries += 1;
    if (tries === 1) throw new Error("not yet");
    return tries;
  };
  const doer = defineDoer({
    type: "doer",
    ...nothing,
    run: (context) => context.step("s", flaky).catch(() => context.step("s", flaky)),
  });
  const test = await TestRuntime.start({ definitions: [doer] });
  expect(await (await test.runtime.submit(doer, null)).result()).toBe(2);
});

it("[CAN-4] a shutdown waits for a job whose start the log has not acknowledged yet", async () => {
  const leaf = defineTool({ type: "leaf", ...nothing, run: () => "done" });
  const test = await TestRuntime.start({ definitions: [leaf] });
  test.answers.hold();
  const submitted = test.runtime.submit(leaf, null);
  await flush();
  const down = test.runtime.shutdown({ waitMs: 60_000 });
  await flush();
  test.answers.release();
  await down;
  expect(await (await submitted).result()).toBe("done");
});

it("[ERR-1] an error of somebody else's that only looks like one of ours is recorded as a defect", () => {
  const foreign = Object.assign(new Error("x"), { code: "conflict", retry: "maybe", details: {} });
  expect(toErrorRecord(foreign)).toMatchObject({ code: "system", retry: "never" });
});

/** The message without the moves of one kind of event, under a frame that fits. */
function without(type: string, message: StoredMessage): StoredMessage {
  const decoded = decodeBody(message.body);
  const frame = parseFrame(message.frame);
  if (decoded.kind !== "record" || frame === null) return message;
  const transitions = decoded.body.transitions.filter(({ event }) => event.type !== type);
  const body = encodeBody({ ...decoded.body, transitions }).slice();
  return { ...message, body, frame: formatFrame({ ...frame, checksum: checksumOf(body) }) };
}

it("[ES-6, ES-9] a job whose record does not fit it keeps no other from coming back", async () => {
  const leaf = defineTool({
    type: "leaf",
    ...nothing,
    retry: { class: "safe_to_retry" },
    run: (context) => (context.attempt === 1 ? new Promise(() => undefined) : context.id),
  });
  const before = await TestRuntime.start({ definitions: [leaf] });
  await before.runtime.submit(leaf, null, { id: "forged" });
  await before.runtime.submit(leaf, null, { id: "whole" });
  await flush();
  const forged = before.log.messages.map((message) =>
    message.subject.endsWith("forged.forged") ? without("liveness.started", message) : message,
  );
  const test = await TestRuntime.start({ definitions: [leaf], log: await copyLog(forged) });
  expect(await (await test.runtime.find("whole"))?.result()).toBe("whole");
  expect(test.notices).toContainEqual(
    expect.objectContaining({ kind: "fault", where: "recovery", job: "forged" }),
  );
});

/** From now on every turn throws. */
function breakTurns({ runtime }: TestRuntime): void {
  worldOf(runtime).redactor.redact = () => {
    throw new Error("no turn");
  };
}

const faultsAt = ({ notices }: TestRuntime, where: string) =>
  notices.filter((notice) => notice.kind === "fault" && notice.where === where);

it("[T6] an attempt whose end no turn can take is told, and stops nobody else", async () => {
  const shop = new Workshop();
  const test = await TestRuntime.start({ definitions: shop.all });
  await test.runtime.submit(shop.safe, { label: "a" }, { id: "a" });
  await flush();
  breakTurns(test);
  shop.end("a");
  await flush();
  expect(faultsAt(test, "end:a:1")).toHaveLength(2);
  await test.restart();
  shop.end("a", "the second time");
  expect(await (await test.runtime.find("a"))?.result()).toBe("the second time");
});

it("[T6] a timer that no turn can take is told, and the others are due all the same", async () => {
  const shop = new Workshop();
  const test = await TestRuntime.start({ definitions: shop.all });
  for (const id of ["a", "b"])
    await test.runtime.submit(shop.safe, { label: id }, { id, timeoutMs: 1_000 });
  await flush();
  breakTurns(test);
  await test.advance(1_000);
  expect(["a", "b"].map((id) => faultsAt(test, `timer:${id}:timeout`).length)).toEqual([1, 1]);
});

it("[ES-4] a connection that throws where something is published is given up for a new one, and nothing is lost", async () => {
  const shop = new Workshop();
  const test = await TestRuntime.start({ definitions: shop.all });
  const publish = vi.spyOn(Object.getPrototypeOf(await appenderOf(test)), "publish");
  publish.mockImplementationOnce(() => {
    throw new Error("the socket is gone");
  });
  const submitted = test.runtime.submit(shop.quick, { label: "a" });
  await test.advance(1_000);
  expect(await (await submitted).result()).toBe("a");
  expect(test.notices).toContainEqual(
    expect.objectContaining({
      kind: "resyncing",
      reason: expect.stringContaining("the socket is gone"),
    }),
  );
  publish.mockRestore();
});

async function appenderOf({ log }: TestRuntime) {
  const appender = await log.openAppender({
    onAnswer: () => undefined,
    onDisconnect: () => undefined,
  });
  await appender.close();
  return appender;
}

it("[API-2] a resolution of a kind that nobody knows is refused, and so is one without its text", async () => {
  const shop = new Workshop();
  const test = await TestRuntime.start({ definitions: shop.all });
  await test.runtime.submit(shop.unsure, { label: "a" }, { id: "a" });
  await flush();
  await test.restart();
  for (const wrong of [
    { kind: "maybe" },
    {},
    null,
    { kind: "failed" },
    { kind: "failed", message: 5 },
  ]) {
    const said = test.runtime.resolve("a", wrong as never, "ada", "seen");
    await expect(said).rejects.toMatchObject({ code: "invalid_argument" });
  }
  expect(test.stateOf("a")).toBe("interrupted");
});
