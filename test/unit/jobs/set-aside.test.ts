/**
 * What a fold cannot read sets its own job aside, and nothing else; and what a job must not journal is not journaled.
 */
import { describe, expect, it } from "vitest";
import { encodeBody, type RecordBody } from "../../../actors/journal/codec.ts";
import { checksumOf, formatFrame, parseFrame } from "../../../actors/journal/frame.ts";
import type { StoredMessage } from "../../../actors/journal/log.ts";
import { worldOf } from "../../../actors/runtime/runtime.ts";
import {
  codeOf,
  copyLog,
  failureOf,
  flush,
  standingOf,
  TestRuntime,
  textOf,
} from "../../support/runtime.ts";
import { Workshop } from "../../support/workshop.ts";

const decoder = new TextDecoder();

/** The message with another body under a checksum that holds: what another version, or a defect, wrote. */
function rewritten(message: StoredMessage, change: (body: RecordBody) => unknown): StoredMessage {
  const frame = parseFrame(message.frame);
  if (frame === null) throw new Error("no frame");
  const body = encodeBody(change(JSON.parse(decoder.decode(message.body))) as RecordBody);
  return { ...message, body, frame: formatFrame({ ...frame, checksum: checksumOf(body) }) };
}

/** The message with a byte of its body changed. */
function damaged(message: StoredMessage): StoredMessage {
  const body = message.body.slice();
  body[body.length >> 1] = (body[body.length >> 1] ?? 0) ^ 1;
  return { ...message, body };
}

/** Three jobs: `bad`, whose record of the given event is changed, one that depends on it, and one that does not. */
async function withBad(
  eventType: string,
  change: (message: StoredMessage) => StoredMessage,
  isEnded = false,
) {
  const shop = new Workshop();
  const first = await TestRuntime.start({ definitions: shop.all });
  const bad = await first.runtime.submit(shop.safe, { label: "bad" }, { id: "bad" });
  await first.runtime.submit(shop.quick, { label: "d" }, { id: "d", after: [bad] });
  await first.runtime.submit(shop.safe, { label: "good" }, { id: "good" });
  await flush();
  if (isEnded) {
    // The end is stored; the process dies before its dependent is told.
    worldOf(first.runtime).kinship.ended("d", [{ id: "bad" }]);
    shop.end("bad", 1);
    await flush();
  }
  const messages = first.log.messages.map((message) =>
    message.subject.endsWith(".bad") && decoder.decode(message.body).includes(`"${eventType}"`)
      ? change(message)
      : message,
  );
  expect(messages).not.toEqual(first.log.messages);
  const log = await copyLog(messages);
  const test = await TestRuntime.start({ definitions: shop.all, log });
  return { shop, test };
}

const anotherEvent = (message: StoredMessage) =>
  rewritten(message, (body) => ({
    ...body,
    transitions: body.transitions.map((transition) =>
      transition.event.type === "job.started"
        ? { ...transition, event: { type: "job.teleported" } }
        : transition,
    ),
  }));

describe("a job whose record cannot be read", () => {
  const ways: readonly (readonly [string, string, (message: StoredMessage) => StoredMessage])[] = [
    ["damaged", "job.started", damaged],
    ["of an unknown event", "job.started", anotherEvent],
    [
      "of an unknown actor",
      "job.started",
      (message) =>
        rewritten(message, (body) => ({
          ...body,
          transitions: body.transitions.map((each) => ({ ...each, actor: `ghost:${each.actor}` })),
        })),
    ],
    [
      "of another job in its scope",
      "job.started",
      (message) =>
        rewritten(message, (body) => ({
          ...body,
          transitions: body.transitions.map((each) => ({ ...each, actor: `${each.actor}2` })),
        })),
    ],
    [
      "that leads elsewhere than it says",
      "job.started",
      (message) =>
        rewritten(message, (body) => ({
          ...body,
          transitions: body.transitions.map((each) =>
            each.to === "running" ? { ...each, to: "blocked" } : each,
          ),
        })),
    ],
    [
      "with a hole in its numbers",
      "job.started",
      (message) =>
        rewritten(message, (body) => ({
          ...body,
          transitions: body.transitions.map((each) => ({ ...each, sequence: each.sequence + 1 })),
        })),
    ],
    [
      "with a field that is none",
      "job.started",
      (message) =>
        rewritten(message, (body) => ({
          ...body,
          transitions: body.transitions.map((each) =>
            each.event.type === "job.started"
              ? { ...each, event: { ...each.event, attempt: "one" } }
              : each,
          ),
        })),
    ],
  ];

  it.each(ways)(
    "[ES-6, ES-9] is set aside alone, told with its position: %s",
    async (_name, type, change) => {
      const { shop, test } = await withBad(type, change);
      const { setAside, liveJobs } = test.runtime.health();
      expect(setAside).toMatchObject([{ job: "bad" }]);
      const position = setAside[0]?.position ?? 0;
      expect(test.log.messages[position - 1]?.subject).toMatch(/\.bad$/);
      expect(test.notices.find(({ kind }) => kind === "found")).toBeDefined();
      // It is there, and cannot be driven; its dependent is gated, nobody else is touched.
      expect([liveJobs, test.stateOf("d"), test.stateOf("good")]).toEqual([
        2,
        "waiting",
        "running",
      ]);
      expect(shop.counts).toEqual({ bad: 1, good: 2 });
      const again = await test.runtime.submit(shop.safe, { label: "bad" }, { id: "bad" });
      expect((await failureOf(again)).message).toContain(`position ${position}`);
      const after = await test.runtime.submit(shop.quick, { label: "e" }, { after: ["bad"] });
      expect(["illegal_state", "not_found"]).toContain((await failureOf(after)).code);
      // Whoever asks for it is told what it is, and nobody that it is not there.
      for (const ask of [
        () => test.runtime.find("bad"),
        () => test.runtime.cancel("bad", "x", "ada"),
        () => test.runtime.answer("bad", "word", 1, "ada"),
        () => test.runtime.resolve("bad", { kind: "retry" }, "ada", "x"),
        () => test.runtime.resolve("bad", { kind: "known" }, "ada", "x"),
      ]) {
        const told = await ask().then(
          () => null,
          (error) => error,
        );
        expect(told).toMatchObject({ code: "illegal_state", details: { position } });
      }
    },
  );

  it.each(ways)(
    "[ES-6] starts the daemon every time: never a crash loop, and nothing is written about it: %s",
    async (_name, type, change) => {
      const { test } = await withBad(type, change);
      const written = test.log.messages.filter(({ subject }) => subject.endsWith(".bad")).length;
      for (let restart = 0; restart < 3; restart += 1) {
        await test.restart();
        expect(test.runtime.health()).toMatchObject({ state: "ready", setAside: [{ job: "bad" }] });
      }
      const { messages } = test.log;
      expect(messages.filter(({ subject }) => subject.endsWith(".bad"))).toHaveLength(written);
    },
  );

  it.each([
    ["damaged", damaged],
    ["of an unknown event", anotherEvent],
  ] as const)(
    "[ES-6, DOOR-7] that has ended is not started again under its id, and its dependent stays gated: %s",
    async (_name, change) => {
      const { shop, test } = await withBad("job.started", change, true);
      expect(test.runtime.health().state).toBe("ready");
      expect(test.stateOf("d")).toBe("waiting");
      expect(await test.runtime.find("bad").then(() => "found", codeOf)).not.toMatch(/Error/);
      const again = await test.runtime.submit(shop.safe, { label: "bad" }, { id: "bad" });
      expect(standingOf(again)).not.toBe("pending");
      expect(shop.runs("bad")).toBe(1);
      await test.restart();
      expect(test.stateOf("d")).toBe("waiting");
    },
  );

  it("[ES-6] under a parent: the parent that asks for it again is told, and goes on", async () => {
    const shop = new Workshop();
    const first = await TestRuntime.start({ definitions: shop.all });
    shop.plan("root", async (context) => {
      const child = await context.submitInStep(shop.safe, { label: "child" }, { key: "k" });
      if (context.attempt === 1) return new Promise(() => undefined);
      return standingOf(child);
    });
    await first.runtime.submit(shop.doer, { label: "root" }, { id: "r" });
    await flush();
    const child = shop.context("child").id;
    const messages = first.log.messages.map((message) =>
      message.subject.endsWith(child) ? damaged(message) : message,
    );
    const test = await TestRuntime.start({ definitions: shop.all, log: await copyLog(messages) });
    const root = await test.runtime.find("r");
    expect(await root?.result()).toBe("illegal_state");
    expect(shop.runs("child")).toBe(1);
  });

  it("[ES-6] a scope that this version does not know is told, and stops nothing", async () => {
    const shop = new Workshop();
    const first = await TestRuntime.start({ definitions: shop.all });
    await first.runtime.submit(shop.safe, { label: "good" }, { id: "good" });
    await flush();
    const messages = first.log.messages.map((message) =>
      message.subject.endsWith(".good")
        ? { ...message, subject: message.subject.replace("task.good.good", "planet.mars") }
        : message,
    );
    const test = await TestRuntime.start({ definitions: shop.all, log: await copyLog(messages) });
    expect(test.runtime.health()).toMatchObject({ state: "ready", liveJobs: 0 });
    expect(test.notices.find(({ kind }) => kind === "found")).toMatchObject({
      finding: { kind: "unknown", subject: expect.stringContaining("planet.mars") },
    });
  });
});

describe("a registered secret", () => {
  const secret = "hunter2-and-more";

  it("[REC-7] stands nowhere in the log, whatever way it goes in", async () => {
    const shop = new Workshop();
    const test = await TestRuntime.start({ definitions: shop.all, secrets: [secret] });
    const { runtime } = test;
    shop.plan("root", async (context) => {
      await context.step("s", () => ({ deep: [{ [secret]: `see ${secret}` }] }));
      const metadata = { note: secret };
      const child = await context.submitInStep(shop.quick, { label: `c ${secret}` }, { metadata });
      await child.result().catch(() => null);
      return context.waitFor("word", { reason: `ask ${secret}` });
    });
    await runtime.submit(shop.doer, { label: "root" }, { id: "r", metadata: { note: secret } });
    const failing = await runtime.submit(shop.safe, { label: secret }, { user: `u ${secret}` });
    const cancelled = await runtime.submit(shop.safe, { label: "x" });
    await flush();
    shop.fail("[redacted]", new Error(`no ${secret}`, { cause: new Error(secret) }));
    await cancelled.cancel(`because ${secret}`);
    shop.end("x", { token: secret });
    await runtime.answer("r", "word", { password: secret }, secret);
    await flush();
    const results = await Promise.all(
      [failing, cancelled].map((handle) => failureOf(handle).then(({ message }) => message)),
    );
    expect(results.join()).not.toContain(secret);
    expect(textOf(test.log.messages)).not.toContain(secret);
    expect(textOf(test.log.messages)).toContain("[redacted]");
  });

  it("[REC-7] is in no id, key or name that the log would be addressed by: those are refused", async () => {
    const shop = new Workshop();
    const test = await TestRuntime.start({ definitions: shop.all, secrets: [secret] });
    const { runtime } = test;
    const root = await runtime.submit(shop.quick, { label: "a" }, { id: `job-${secret}` });
    expect(standingOf(root)).toBe("invalid_argument");
    const dependent = await runtime.submit(shop.quick, { label: "a" }, { after: [secret] });
    expect(["invalid_argument", "not_found"]).toContain(standingOf(dependent));
    shop.plan("root", async (context) => {
      const child = await context.submitInStep(shop.quick, { label: "a" }, { key: secret });
      const refusals = [standingOf(child)];
      for (const call of [() => context.step(secret, () => 1), () => context.waitFor(secret)])
        refusals.push(await Promise.resolve().then<unknown>(call).then(String, codeOf));
      return refusals;
    });
    const parent = await runtime.submit(shop.doer, { label: "root" }, { id: "r" });
    await flush();
    expect(standingOf(parent)).toBe(
      `completed ${JSON.stringify(Array(3).fill("invalid_argument"))}`,
    );
    await runtime.cancel(secret, "x", "ada");
    await runtime.answer("r", secret, 1, "ada").catch(codeOf);
    expect(textOf(test.log.messages)).not.toContain(secret);
    expect(shop.runs("a")).toBe(0);
  });

  it("[ES-2] is redacted before the chart steps: what memory holds is what the log holds", async () => {
    const shop = new Workshop();
    const test = await TestRuntime.start({ definitions: shop.all, secrets: [secret] });
    shop.plan("root", async (context) => {
      await context.step("s", () => secret);
      return context.waitFor("word");
    });
    await test.runtime.submit(shop.doer, { label: "root" }, { id: "r", metadata: { a: secret } });
    await flush();
    expect(JSON.stringify(test.contextOf("r"))).not.toContain(secret);
    expect(test.contextOf("r").steps).toEqual({ s: "[redacted]" });
    await test.restart({ secrets: [] });
    expect(test.contextOf("r").steps).toEqual({ s: "[redacted]" });
  });
});
