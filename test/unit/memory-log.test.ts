import { expect, it } from "vitest";
import type { PublishAnswer } from "../../actors/journal/log.ts";
import { MemoryLog } from "../../infra/memory/log.ts";
import { describeLogContract } from "../contract/log.contract.ts";
import { Publisher } from "../contract/log-fixture.ts";

const PREFIX = "hf.test.evt.0.1";

describeLogContract("in memory", () => {
  const log = new MemoryLog();
  return Promise.resolve({
    log,
    prefix: PREFIX,
    reopen: () => Promise.resolve(log.reopen()),
    crash: () => Promise.resolve(log.disconnect("killed")),
    restart: () => Promise.resolve(),
    dispose: () => log.close(),
  });
});

const message = (id: string) => ({
  subject: `${PREFIX}.task.a.b`,
  id,
  frame: "frame",
  body: new Uint8Array(10),
});

it("gives answers when its scheduler runs them, one task each, in order", async () => {
  const tasks: (() => void)[] = [];
  const log = new MemoryLog({ schedule: (task) => tasks.push(task) });
  const answers: [number, PublishAnswer["kind"]][] = [];
  const opening = log.openAppender({
    onAnswer: (index, answer) => answers.push([index, answer.kind]),
    onDisconnect: () => undefined,
  });
  tasks.shift()?.();
  const appender = await opening;
  appender.publish(message("w.1"), 0);
  appender.publish({ ...message("w.2"), expectedLastSequence: 5 }, 1);
  expect(log.messages.map((stored) => stored.id)).toEqual(["w.1"]);
  expect(answers).toEqual([]);
  tasks.shift()?.();
  expect(answers).toEqual([[0, "stored"]]);
  tasks.shift()?.();
  expect(answers).toEqual([
    [0, "stored"],
    [1, "refused"],
  ]);
});

it("stores what two appenders publish in the order of the calls", async () => {
  const log = new MemoryLog();
  const one = await Publisher.open(log, PREFIX);
  const other = await Publisher.open(log.reopen(), PREFIX);
  one.publish("task.a.1", { id: "one.1" });
  other.publish("task.a.1", { id: "other.1" });
  one.publish("task.a.1", { id: "one.2" });
  expect(log.messages.map((stored) => stored.id)).toEqual(["one.1", "other.1", "one.2"]);
  await Promise.all([one.answered(2), other.answered(1)]);
});

it("refuses with 10077 what would pass the size limit, and goes on below it", async () => {
  const log = new MemoryLog({ bytesMax: 1_000 });
  const publisher = await Publisher.open(log, PREFIX);
  const large = { body: new Uint8Array(700) };
  expect((await publisher.store("task.a.1", large)).kind).toBe("stored");
  expect(await publisher.store("task.a.1", large)).toMatchObject({ kind: "refused", code: 10077 });
  expect((await publisher.store("task.a.1")).kind).toBe("stored");
  expect(await log.info()).toMatchObject({ lastSequence: 2, bytesMax: 1_000 });
});

it("forgets an id when as many messages as its window came after it", async () => {
  const log = new MemoryLog({ duplicateWindowCount: 2 });
  const publisher = await Publisher.open(log, PREFIX);
  for (const id of ["a", "b", "a", "c", "a"]) publisher.publish("task.a.1", { id });
  await publisher.answered(5);
  const duplicates = publisher.answers.map(
    ({ answer }) => answer.kind === "stored" && answer.isDuplicate,
  );
  expect(duplicates).toEqual([false, false, true, false, false]);
});

it("keeps its own copy of a body", async () => {
  const log = new MemoryLog();
  const publisher = await Publisher.open(log, PREFIX);
  const body = Uint8Array.of(1, 2, 3);
  publisher.publish("task.a.1", { body });
  body.fill(9);
  expect(log.messages[0]?.body).toEqual(Uint8Array.of(1, 2, 3));
});

it("stores at the time it is given, else at its own sequence", async () => {
  const timed = new MemoryLog({ nowMs: () => 1_234 });
  const counted = new MemoryLog();
  for (const log of [timed, counted]) await (await Publisher.open(log, PREFIX)).store("task.a.1");
  expect([timed.messages[0]?.storedAtMs, counted.messages[0]?.storedAtMs]).toEqual([1_234, 1]);
});
