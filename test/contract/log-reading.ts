/**
 * The Log contract, reading: stretches, filters, exact content, the last message, following.
 */
import { expect, it } from "vitest";
import {
  type CurrentFixture,
  Followed,
  fill,
  openPublisher,
  present,
  range,
  readAll,
  sequencesOf,
} from "./log-fixture.ts";

export function reading(fixture: CurrentFixture): void {
  it("gives nothing of an empty log", async () => {
    expect(await readAll(fixture().log)).toEqual([]);
    expect(await readAll(fixture().log, { from: 5 })).toEqual([]);
  });

  it("gives the stretch asked for, both ends included", async () => {
    const publisher = await fill(
      fixture,
      range(1, 50).map((at) => `task.w.${at % 5}`),
    );
    const { log } = fixture();
    expect(sequencesOf(await readAll(log))).toEqual(range(1, 50));
    expect(sequencesOf(await readAll(log, { from: 20 }))).toEqual(range(20, 50));
    expect(sequencesOf(await readAll(log, { from: 20, through: 30 }))).toEqual(range(20, 30));
    expect(sequencesOf(await readAll(log, { from: 50, through: 50 }))).toEqual([50]);
    expect(await readAll(log, { from: 31, through: 30 })).toEqual([]);
    expect(await readAll(log, { from: 51 })).toEqual([]);
    await publisher.close();
  });

  it("ends where the log ended at the call, whatever is published meanwhile, and misses nothing", async () => {
    const { log, prefix } = fixture();
    const publisher = await openPublisher(fixture);
    const scopes = 9;
    const publishMore = (round: number): void => {
      // Message s goes to scope s modulo 9.
      for (const at of range(1, 100)) publisher.publish(`task.w.${(100 * round + at) % scopes}`);
    };
    for (const round of range(0, 19)) {
      publishMore(2 * round);
      const least = 100 * (2 * round + 1);
      await publisher.answered(least);
      const reads = Promise.all([readAll(log), readAll(log, { subjects: [`${prefix}.task.w.4`] })]);
      publishMore(2 * round + 1);
      const [all, some] = await reads;
      expect(sequencesOf(all)).toEqual(range(1, Math.max(least, all.length)));
      const through = Math.max(least, some.at(-1)?.sequence ?? 0);
      expect(sequencesOf(some)).toEqual(range(1, through).filter((at) => at % scopes === 4));
    }
    await publisher.close();
  });

  it("ends with what the visitor throws, and reads again", async () => {
    const publisher = await fill(
      fixture,
      range(1, 30).map(() => "task.a.b"),
    );
    const { log } = fixture();
    const seen: number[] = [];
    const fault = new Error("enough");
    const reading = log.read({ from: 1 }, (message) => {
      seen.push(message.sequence);
      if (message.sequence === 10) throw fault;
    });
    await expect(reading).rejects.toBe(fault);
    expect(seen).toEqual(range(1, 10));
    expect(sequencesOf(await readAll(log, { from: 11 }))).toEqual(range(11, 30));
    await publisher.close();
  });
}

export function exactness(fixture: CurrentFixture): void {
  const everyByte = Uint8Array.from(range(0, 255));
  const large = Uint8Array.from({ length: 262_144 }, (_, at) => (at * 31 + (at >> 8)) & 255);

  it("is each body byte for byte", async () => {
    const bodies = [
      new Uint8Array(0),
      everyByte,
      Uint8Array.of(0xff, 0xfe, 0xc3, 0x28),
      large,
      Uint8Array.of(13, 10),
    ];
    const publisher = await openPublisher(fixture);
    for (const body of bodies)
      expect((await publisher.store("task.a.b", { body })).kind).toBe("stored");
    const read = await readAll(fixture().log);
    // Compared as buffers: the matcher would take half a second for the large one.
    expect(bodies.map((body, at) => Buffer.compare(body, present(read[at]).body))).toEqual(
      bodies.map(() => 0),
    );
    const last = present(await fixture().log.readLast(`${fixture().prefix}.task.a.b`));
    expect(Buffer.from(last.body)).toEqual(Buffer.from([13, 10]));
    await publisher.close();
  });

  it.each([
    [
      "plain",
      "task.workflow-1.job_2",
      "AAAAAAAAAAAAAAAAAAAAAA.1",
      "1 AAAAAAAAAAAAAAAAAAAAAA 1 1/1 00000000",
    ],
    ["encoded tokens", "task.=20=c3=a4.=2e=3e", "a=b.c", "x"],
    ["characters beyond ASCII", "task.ä.日本", "ïd.½", "frame ✓"],
    ["signs", "task.$a.b~c!d", "id with spaces: and, more", "a: b; c"],
    ["names of headers", "task.Nats-Msg-Id.x", "Nats-Expected-Stream: x", "Nats-Msg-Id: forged"],
  ])("is subject, id and frame character for character: %s", async (_, scope, id, frame) => {
    const publisher = await openPublisher(fixture);
    const followed = new Followed();
    const { log, prefix } = fixture();
    const following = await log.follow(`${prefix}.task.>`, followed.visit);
    expect((await publisher.store(scope, { id, frame })).kind).toBe("stored");
    const [read] = await readAll(log, { subjects: [`${prefix}.${scope}`] });
    const expected = { sequence: 1, subject: `${prefix}.${scope}`, id, frame };
    expect(read).toMatchObject(expected);
    expect(present(read).storedAtMs).toBeGreaterThan(0);
    expect(await log.readLast(`${prefix}.${scope}`)).toMatchObject(expected);
    await followed.seen(1);
    expect(followed.messages[0]).toMatchObject(expected);
    await Promise.all([following.stop(), publisher.close()]);
  });
}

export function filters(fixture: CurrentFixture): void {
  const scopes = [
    "dispatcher",
    "task.a.1",
    "task.a.2",
    "task.b.1",
    "account.x",
    "task.a.1",
    "task.c.1.deep",
    "schedule.s",
  ];
  const cases: readonly (readonly [string, readonly string[], readonly number[]])[] = [
    ["one subject", ["task.a.1"], [2, 6]],
    ["one token", ["task.*.1"], [2, 4, 6]],
    ["the rest", ["task.>"], [2, 3, 4, 6, 7]],
    ["several", ["dispatcher", "account.*", "task.b.>"], [1, 4, 5]],
    ["one inside another", ["task.>", "task.a.1"], [2, 3, 4, 6, 7]],
    ["two that overlap", ["task.*.1", "task.a.*"], [2, 3, 4, 6]],
    ["the same twice", ["task.a.2", "task.a.2"], [3]],
    ["everything", [">"], range(1, 8)],
    ["no subject there is", ["task.zzz.1"], []],
    ["no subject there is, among others", ["task.zzz.1", "schedule.s"], [8]],
    ["a stem that is no subject", ["task", "task.a"], []],
    ["none at all", [], []],
    [
      "as many as are allowed",
      [...range(1, 63).map((at) => `task.x${at}.>`), "task.c.1.deep"],
      [7],
    ],
  ];

  it.each(cases)("let through what they match, in order: %s", async (_, patterns, expected) => {
    const publisher = await fill(fixture, scopes);
    const { log, prefix } = fixture();
    const subjects = patterns.map((pattern) => `${prefix}.${pattern}`);
    expect(sequencesOf(await readAll(log, { subjects }))).toEqual(expected);
    const inside = expected.filter((sequence) => sequence >= 3 && sequence <= 6);
    expect(sequencesOf(await readAll(log, { subjects, from: 3, through: 6 }))).toEqual(inside);
    await publisher.close();
  });

  it("are refused as a defect when there are too many, or one can match nothing", async () => {
    const { log, prefix } = fixture();
    const many = range(1, 65).map((at) => `${prefix}.task.x${at}`);
    await expect(readAll(log, { subjects: many })).rejects.toThrow("64");
    for (const pattern of ["", "a..b", "a.>.b", "a b"]) {
      await expect(readAll(log, { subjects: [pattern] })).rejects.toThrow("pattern");
      await expect(log.readLast(pattern)).rejects.toThrow("pattern");
      await expect(log.follow(pattern, () => undefined)).rejects.toThrow("pattern");
    }
  });

  it("may be wider than the log, or lie outside", async () => {
    const publisher = await fill(fixture, scopes);
    const { log, prefix } = fixture();
    const first = prefix.split(".")[0];
    expect(sequencesOf(await readAll(log, { subjects: [">"] }))).toEqual(range(1, 8));
    expect(sequencesOf(await readAll(log, { subjects: [`${first}.>`, "other.>"] }))).toEqual(
      range(1, 8),
    );
    expect(await readAll(log, { subjects: ["other.>", `${prefix}x.>`] })).toEqual([]);
    await publisher.close();
  });
}

export function lastMessages(fixture: CurrentFixture): void {
  it.each([
    ["a subject", "task.a.1", 4],
    ["one token", "task.*.1", 5],
    ["the rest", "task.>", 5],
    ["everything", ">", 6],
    ["no subject there is", "task.z.>", null],
    ["a stem that is no subject", "task", null],
  ])("is the newest that matches: %s", async (_, pattern, expected) => {
    const { log, prefix } = fixture();
    expect(await log.readLast(`${prefix}.${pattern}`)).toBeNull();
    const publisher = await fill(fixture, [
      "task.a.1",
      "task.a.2",
      "account.x",
      "task.a.1",
      "task.b.1",
      "account.x",
    ]);
    const last = await log.readLast(`${prefix}.${pattern}`);
    expect(last?.sequence ?? null).toBe(expected);
    expect(await log.readLast("other.>")).toBeNull();
    await publisher.close();
  });
}

export function following(fixture: CurrentFixture): void {
  it("shows what is stored from now on, in order, and nothing that was refused", async () => {
    const { log, prefix } = fixture();
    const publisher = await fill(fixture, ["task.a.1", "task.a.1"]);
    const followed = new Followed();
    const follow = await log.follow(`${prefix}.task.>`, followed.visit);
    publisher.publish("task.a.1", { id: "good.1" });
    publisher.publish("task.a.1", { id: "refused", expectedLastSequence: 99 });
    publisher.publish("account.x", { id: "other" });
    publisher.publish("task.b.1", { id: "good.2" });
    await followed.seen(2);
    expect(followed.messages.map((message) => [message.sequence, message.id])).toEqual([
      [3, "good.1"],
      [5, "good.2"],
    ]);
    await follow.stop();
    await publisher.close();
  });

  it("goes to every follower until it stops", async () => {
    const { log, prefix } = fixture();
    const publisher = await openPublisher(fixture);
    const one = new Followed();
    const other = new Followed();
    const first = await log.follow(`${prefix}.dispatcher`, one.visit);
    const second = await log.follow(">", other.visit);
    await publisher.store("dispatcher");
    await Promise.all([one.seen(1), other.seen(1)]);
    await first.stop();
    await first.stop();
    await publisher.store("dispatcher");
    await other.seen(2);
    expect([one, other].map((each) => sequencesOf(each.messages))).toEqual([[1], [1, 2]]);
    await second.stop();
    await publisher.close();
  });

  it("misses nothing that a publisher pours in", async () => {
    const { log, prefix } = fixture();
    const publisher = await openPublisher(fixture);
    const followed = new Followed();
    const follow = await log.follow(`${prefix}.>`, followed.visit);
    for (const at of range(1, 3_000)) publisher.publish(`task.w.${at}`);
    await publisher.answered(3_000);
    await followed.seen(3_000);
    expect(sequencesOf(followed.messages)).toEqual(range(1, 3_000));
    await follow.stop();
    await publisher.close();
  });
}
