/**
 * The Log contract, publishing: answers, conditions, rivals, the end of an appender, a crash.
 */
import { expect, it } from "vitest";
import {
  type CurrentFixture,
  codeOf,
  openPublisher,
  Publisher,
  present,
  range,
  readAll,
  sequenceOf,
  sequencesOf,
} from "./log-fixture.ts";

export function publishing(fixture: CurrentFixture): void {
  it("answers each publish with the next sequence, in call order", async () => {
    const publisher = await openPublisher(fixture);
    for (const at of range(1, 500)) publisher.publish(`task.w.${at % 7}`);
    await publisher.answered(500);
    expect(publisher.answers.map((given) => given.index)).toEqual(range(0, 499));
    expect(publisher.answers.map((given) => sequenceOf(given.answer))).toEqual(range(1, 500));
    await publisher.close();
  });

  it("tells where the log begins and ends, and how big it is", async () => {
    const { log } = fixture();
    const empty = await log.info();
    expect(empty).toMatchObject({ firstSequence: 1, lastSequence: 0, bytes: 0, bytesMax: null });
    const publisher = await openPublisher(fixture);
    for (const _ of range(1, 3)) publisher.publish("account.memory");
    await publisher.answered(3);
    const filled = await log.info();
    expect(filled).toMatchObject({ firstSequence: 1, lastSequence: 3 });
    expect(filled.bytes).toBeGreaterThan(0);
    await publisher.close();
  });

  it("answers an id it has just seen as a duplicate, and stores nothing", async () => {
    const publisher = await openPublisher(fixture);
    await publisher.store("account.memory", { id: "writer.1" });
    await publisher.store("account.memory", { id: "writer.2" });
    const again = await publisher.store("account.memory", { id: "writer.1" });
    expect(again).toEqual({ kind: "stored", sequence: 1, isDuplicate: true });
    expect((await fixture().log.info()).lastSequence).toBe(2);
    await publisher.close();
  });

  it.each([
    [
      "a header of its own in the id",
      "task.a.b",
      { id: "writer.1\r\nNats-Expected-Stream: other" },
    ],
    ["a second line in the frame", "task.a.b", { frame: "frame\n1" }],
    ["white space at the end of the frame", "task.a.b", { frame: "frame " }],
    ["headers over the limit", "task.a.b", { frame: "x".repeat(4_096) }],
    ["white space in the subject", "task.a b", {}],
    ["a body over the limit", "task.a.b", { body: new Uint8Array(262_145) }],
  ])("throws on %s, and stores nothing", async (_, scope, fields) => {
    const publisher = await openPublisher(fixture);
    expect(() => publisher.publish(scope, fields)).toThrow();
    expect(sequenceOf(await publisher.store("task.a.b"))).toBe(1);
    await publisher.close();
  });
}

export function chains(fixture: CurrentFixture): void {
  it("is stored while its expectations hold, from the empty log on", async () => {
    const publisher = await openPublisher(fixture);
    publisher.publishChain("writer", 300, { sequence: 0 });
    await publisher.answered(300);
    expect(publisher.answers.map((given) => sequenceOf(given.answer))).toEqual(range(1, 300));
    await publisher.close();
  });

  it.each([
    [
      "10071 for a wrong last sequence",
      { expectedLastSequence: 7, expectedLastId: "writer.1" },
      10071,
    ],
    ["10071 for a log that is not empty", { expectedLastSequence: 0 }, 10071],
    ["10070 for a wrong last id", { expectedLastSequence: 1, expectedLastId: "writer.9" }, 10070],
    ["10071 when both are wrong", { expectedLastSequence: 7, expectedLastId: "writer.9" }, 10071],
  ])("is refused with %s", async (_, expectation, code) => {
    const publisher = await openPublisher(fixture);
    await publisher.store("dispatcher", { id: "writer.1" });
    const answer = await publisher.store("task.a.b", { id: "writer.2", ...expectation });
    expect(codeOf(answer)).toBe(code);
    expect((await fixture().log.info()).lastSequence).toBe(1);
    await publisher.close();
  });

  it("can be tried again under the same id after a refusal", async () => {
    const publisher = await openPublisher(fixture);
    expect(codeOf(await publisher.store("task.a.b", { id: "w.1", expectedLastSequence: 5 }))).toBe(
      10071,
    );
    expect(
      sequenceOf(await publisher.store("task.a.b", { id: "w.1", expectedLastSequence: 0 })),
    ).toBe(1);
    await publisher.close();
  });
}

export function rivals(fixture: CurrentFixture): void {
  it("[ES-3] with one unconditional message leaves nothing of a chain behind it", async () => {
    const { log } = fixture();
    const owner = await openPublisher(fixture);
    const rival = await Publisher.open(await fixture().reopen(), fixture().prefix);
    owner.publishChain("owner", 100, { sequence: 0 });
    await owner.answered(100);
    expect(sequenceOf(await rival.store("dispatcher", { id: "rival.0" }))).toBe(101);
    owner.publishChain("owner", 100, { sequence: 100, id: "owner.100", from: 101 });
    await owner.answered(200);
    const late = owner.answers.slice(100).map((given) => codeOf(given.answer));
    // By its sequence alone the second would stand: the rival filled the place of the first.
    expect(late.slice(0, 3)).toEqual([10071, 10070, 10071]);
    expect(late).not.toContain(null);
    expect((await log.info()).lastSequence).toBe(101);
    await Promise.all([owner.close(), rival.close()]);
  });

  it("[ES-3] in the middle of a chain in flight cuts it into a prefix and nothing", async () => {
    const owner = await openPublisher(fixture);
    const rival = await Publisher.open(await fixture().reopen(), fixture().prefix);
    owner.publishChain("owner", 1_000, { sequence: 0 });
    rival.publish("dispatcher", { id: "rival.0" });
    owner.publishChain("owner", 1_000, { sequence: 1_000, id: "owner.1000", from: 1_001 });
    await Promise.all([owner.answered(2_000), rival.answered(1)]);
    const stored = owner.answers.filter((given) => given.answer.kind === "stored").length;
    expect(owner.answers.slice(0, stored).map((given) => sequenceOf(given.answer))).toEqual(
      range(1, stored),
    );
    const messages = await readAll(fixture().log);
    expect(messages.map((message) => message.id)).toEqual([
      ...range(1, stored).map((at) => `owner.${at}`),
      "rival.0",
    ]);
    await Promise.all([owner.close(), rival.close()]);
  });

  it("[ES-3] of two that take at once the later message wins, and the other's chain is refused whole", async () => {
    const first = await openPublisher(fixture);
    const second = await Publisher.open(await fixture().reopen(), fixture().prefix);
    const takes = await Promise.all([
      first.store("dispatcher", { id: "first.0" }),
      second.store("dispatcher", { id: "second.0" }),
    ]);
    const [one, two] = takes.map((answer) => present(sequenceOf(answer)));
    first.publishChain("first", 50, { sequence: present(one), id: "first.0" });
    second.publishChain("second", 50, { sequence: present(two), id: "second.0" });
    await Promise.all([first.answered(51), second.answered(51)]);
    const storedOf = (publisher: Publisher): number =>
      publisher.answers.slice(1).filter((given) => given.answer.kind === "stored").length;
    expect([storedOf(first), storedOf(second)]).toEqual(
      present(one) > present(two) ? [50, 0] : [0, 50],
    );
    await Promise.all([first.close(), second.close()]);
  });
}

export function endings(fixture: CurrentFixture): void {
  it("is silence: no answer comes after close, and publishing is nothing", async () => {
    const publisher = await openPublisher(fixture);
    for (const _ of range(1, 200)) publisher.publish("task.a.b");
    await publisher.close();
    const given = publisher.answers.length;
    publisher.publish("task.a.b");
    await publisher.close();
    for (const _ of range(1, 5)) await fixture().log.info();
    expect(publisher.answers).toHaveLength(given);
    expect(publisher.disconnects).toEqual([]);
    expect((await fixture().log.info()).lastSequence).toBeLessThanOrEqual(200);
  });

  it("is at once, also when it is decided in the middle of many answers", async () => {
    const { log, prefix } = fixture();
    const closings: Promise<void>[] = [];
    const publisher = await Publisher.open(log, prefix, (count) => {
      if (count === 3) closings.push(publisher.close());
    });
    for (const _ of range(1, 200)) publisher.publish("task.a.b");
    await publisher.answered(3);
    await Promise.all(closings);
    for (const _ of range(1, 5)) await fixture().log.info();
    expect(publisher.answers).toHaveLength(3);
  });

  it("leaves other appenders alone", async () => {
    const one = await openPublisher(fixture);
    const other = await openPublisher(fixture);
    await one.close();
    expect(sequenceOf(await other.store("task.a.b"))).toBe(1);
    expect(other.disconnects).toEqual([]);
    await other.close();
  });

  it("is not the end of the log, nor is the end of the log that of an appender", async () => {
    const log = await fixture().reopen();
    const publisher = await Publisher.open(log, fixture().prefix);
    await publisher.store("task.a.b");
    await log.close();
    expect(sequenceOf(await publisher.store("task.a.b"))).toBe(2);
    await publisher.close();
    await expect(log.info()).rejects.toMatchObject({ code: "illegal_state" });
    await expect(readAll(log)).rejects.toMatchObject({ code: "illegal_state" });
    expect(sequencesOf(await readAll(fixture().log))).toEqual([1, 2]);
  });
}

export function crashes(fixture: CurrentFixture): void {
  it("[ES-4] ends every appender once, answers nothing more, and loses nothing that was answered", async () => {
    const { log } = fixture();
    const publisher = await openPublisher(fixture);
    const idle = await openPublisher(fixture);
    publisher.publishChain("writer", 200, { sequence: 0 });
    await publisher.answered(200);
    for (const _ of range(1, 500)) publisher.publish("task.late.1");
    await fixture().crash();
    await publisher.until(() => publisher.disconnects.length > 0);
    await idle.until(() => idle.disconnects.length > 0);
    const given = publisher.answers.length;
    for (const _ of range(1, 50)) publisher.publish("task.later.1");
    await fixture().restart();
    const again = await fixture().reopen();
    const { lastSequence } = await again.info();
    expect(lastSequence).toBeGreaterThanOrEqual(given);
    expect(publisher.answers).toHaveLength(given);
    expect([publisher.disconnects.length, idle.disconnects.length]).toEqual([1, 1]);
    const read = await readAll(log);
    expect(sequencesOf(read)).toEqual(range(1, lastSequence));
    expect(read.filter((message) => message.subject.endsWith("later.1"))).toEqual([]);
    await Promise.all([publisher.close(), idle.close()]);
    const next = await openPublisher(fixture);
    expect(sequenceOf(await next.store("task.a.b", { expectedLastSequence: lastSequence }))).toBe(
      lastSequence + 1,
    );
    await next.close();
  });
}
