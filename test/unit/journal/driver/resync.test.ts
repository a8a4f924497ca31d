/**
 * Resync: whatever becomes of a publish, its answer, the connection or the server, nothing acknowledged is lost and nothing
 * stands there twice (ES-4).
 */
import { describe, expect, it } from "vitest";
import type { Log } from "../../../../actors/journal/log.ts";
import { type Fate, scriptedFates } from "../../../../infra/simulated/fates.ts";
import type { UnderWay } from "../../../../infra/simulated/store.ts";
import { type Owner, World } from "../rig/owner.ts";
import { FENCE_SUBJECT, fence, junk, message, writerNamed } from "../rig/records.ts";
import { judge } from "../rig/verdict.ts";

const SCOPES = ["task.w.a", "task.w.b", "account.x", "task.w.c"];
const isRecord = ({ subject }: { subject: string }): boolean => subject !== FENCE_SUBJECT;
const isFence = ({ subject }: { subject: string }): boolean => subject === FENCE_SUBJECT;

/** Stages groups of one to four records, and gives their names. */
function stageGroups(owner: Owner, count: number, name = "g"): string[] {
  const names = Array.from({ length: count }, (_, at) => `${name}${at}`);
  for (const [at, group] of names.entries()) owner.stage(group, SCOPES.slice(0, (at % 4) + 1));
  return names;
}

function expectAll(world: World, owner: Owner, names: readonly string[]): void {
  expect(owner.ended).toEqual([]);
  expect(owner.acknowledged).toEqual(names);
  expect(judge(world.store.messages)).toMatchObject({ names, wrong: [] });
}

const FATES: readonly (readonly [string, Fate])[] = [
  ["is lost", { kind: "lose" }],
  ["is stored and its answer lost", { kind: "loseAnswer" }],
  ["is stored and its answer comes too late", { kind: "delayAnswer", ms: 9_000 }],
  ["is answered twice", { kind: "answerTwice" }],
  ["arrives twice", { kind: "arriveTwice" }],
  ["is called a duplicate and not stored", { kind: "claimDuplicate" }],
  ["is refused as the store is full", { kind: "refuse", code: 10023, description: "full" }],
  ["finds nobody there", { kind: "unavailable" }],
  ["is displaced by a foreign message", { kind: "displace", by: junk("foreign.1") }],
  [
    "is displaced by a record of an older owner",
    { kind: "displace", by: message({ writer: writerNamed("older"), index: 7 }) },
  ],
  ["is lost with its connection", { kind: "breakConnection", isStored: false }],
  ["is stored, and its connection breaks", { kind: "breakConnection", isStored: true }],
];

/** Stores that take single messages only, batches of which several are needed, and batches that hold everything. */
const BATCH_MAXIMA = [0, 7, 1_000];

describe("[ES-4] a publish in the middle that", () => {
  it.each(FATES.flatMap(([what, fate]) => BATCH_MAXIMA.map((max) => [what, max, fate] as const)))(
    "%s, in batches of at most %i, costs nothing and doubles nothing",
    async (_, batchMax, fate) => {
      // Before it everything is answered, or everything is in flight.
      const cases = [0, 5].flatMap((before) =>
        [0, 1, 3, 5, 30].map((place) => [before, place] as const),
      );
      for (const [before, place] of cases) {
        const world = await World.start({ batchMax });
        const owner = await world.opened("owner");
        const early = stageGroups(owner, before, "early");
        await world.advance(before === 0 ? 0 : 100);
        const fates = Array.from({ length: place }, () => ({ kind: "deliver" }) as const);
        world.store.fateOf = scriptedFates([...fates, fate], isRecord);
        const names = stageGroups(owner, 20);
        await world.advance(30_000);
        expectAll(world, owner, [...early, ...names]);
      }
    },
  );

  it("is a fence of a resync, lost or stored unheard, is followed by another one", async () => {
    for (const fate of [{ kind: "lose" }, { kind: "loseAnswer" }] as const) {
      const world = await World.start();
      const owner = await world.opened("owner");
      const early = stageGroups(owner, 9, "early");
      await world.advance(2);
      world.store.fateOf = scriptedFates([fate, fate, fate], isFence);
      world.store.breakConnections("the network broke", "arrives");
      const names = [...early, ...stageGroups(owner, 9)];
      await world.advance(60_000);
      expectAll(world, owner, names);
      expect(judge(world.store.messages).epochs).toHaveLength(fate.kind === "lose" ? 2 : 5);
    }
  });
});

describe("[ES-4] a server", () => {
  const underWays: readonly UnderWay[] = ["arrives", "isLost"];
  it.each(underWays.flatMap((way) => BATCH_MAXIMA.map((max) => [way, max] as const)))(
    "that dies under load, and what is under way %s, in batches of at most %i, costs nothing and doubles nothing",
    async (underWay, batchMax) => {
      for (let ms = 0; ms < 12; ms += 1) {
        const world = await World.start({ seed: ms + 1, batchMax });
        const owner = await world.opened("owner");
        const names = stageGroups(owner, 300);
        await world.advance(ms);
        world.store.stop(underWay);
        await world.advance(3_000);
        names.push(...stageGroups(owner, 50, "meanwhile"));
        expect(owner.journal.state).toBe("resyncing");
        expect(owner.noticeKinds()).toContain("waiting");
        world.store.start();
        await world.advance(5_000);
        expectAll(world, owner, names);
        expect(owner.journal.state).toBe("open");
      }
    },
  );

  it("that dies again at any moment of a resync costs nothing and doubles nothing", async () => {
    for (let ms = 0; ms < 25; ms += 1) {
      const world = await World.start();
      const owner = await world.opened("owner");
      const names = stageGroups(owner, 30);
      await world.advance(2);
      world.store.breakConnections("the network broke", "arrives");
      await world.advance(ms);
      world.store.stop(ms % 2 === 0 ? "arrives" : "isLost");
      await world.advance(100);
      world.store.start();
      await world.advance(20_000);
      expectAll(world, owner, names);
    }
  });

  it("that is full for a minute makes the journal wait, tell it, and go on", async () => {
    const world = await World.start();
    const owner = await world.opened("owner");
    const names = stageGroups(owner, 9);
    await world.advance(100);
    world.store.isFull = true;
    names.push(...stageGroups(owner, 9, "full"));
    await world.advance(60_000);
    expect([owner.ended, owner.acknowledged.length]).toEqual([[], 9]);
    const waiting = owner.notices.filter(({ kind }) => kind === "waiting");
    expect(waiting.length).toBeGreaterThan(20);
    expect(waiting.at(-1)).toMatchObject({ delayMs: 2_000 });
    expect(waiting.at(-1)).toHaveProperty("reason", expect.stringContaining("insufficient"));
    world.store.isFull = false;
    await world.advance(5_000);
    expectAll(world, owner, names);
  });

  it("that has room for a fence and not for a record is not filled up with fences", async () => {
    const world = await World.start();
    const owner = await world.opened("owner");
    const refuse = { kind: "refuse", code: 10077, description: "maximum bytes exceeded" } as const;
    // The first part of the group fits and the second does not: parts that are stored are no progress.
    world.store.fateOf = ({ frame }) => (frame.includes(" 2/2 ") ? refuse : { kind: "deliver" });
    owner.stage("large", ["task.w.a", "task.w.b"]);
    await world.advance(60_000);
    expect(world.store.messages.filter(isFence).length).toBeLessThan(40);
    world.store.fateOf = () => ({ kind: "deliver" });
    await world.advance(5_000);
    expectAll(world, owner, ["large"]);
    // What came through makes the next resync a quick one again.
    world.store.breakConnections("the network broke", "isLost");
    owner.stage("next");
    await world.advance(50);
    expectAll(world, owner, ["large", "next"]);
  });
});

describe("[ES-4] a power cut", () => {
  it("that takes acknowledged records ends the journal, which says what was lost", async () => {
    const world = await World.start();
    const owner = await world.opened("owner");
    owner.stageMany(10);
    await world.advance(100);
    await world.store.cutPower(3);
    owner.stage("late");
    world.store.start();
    await world.advance(30_000);
    expect(owner.ended).toMatchObject([
      { code: "journal", retry: "never", details: { found: 8, acknowledged: 11 } },
    ]);
    expect(owner.ended[0]?.message).toContain("lost acknowledged records");
    expect(owner.acknowledged).toHaveLength(10);
    expect(world.store.messages).toHaveLength(8);
  });

  it("that takes what was not acknowledged costs nothing", async () => {
    for (let lost = 0; lost <= 12; lost += 1) {
      const world = await World.start();
      world.store.fateOf = ({ frame }) =>
        / (\d|10) \d/.test(frame) ? { kind: "deliver" } : { kind: "loseAnswer" };
      const owner = await world.opened("owner");
      const names = owner.stageMany(22);
      await world.advance(100);
      expect([owner.acknowledged.length, world.store.messages.length]).toEqual([10, 23]);
      world.store.fateOf = () => ({ kind: "deliver" });
      await world.store.cutPower(lost);
      await world.advance(100);
      world.store.start();
      await world.advance(30_000);
      expectAll(world, owner, names);
    }
  });

  it("is found although the log has grown as long as before, with the fence of a rival that nobody saw", async () => {
    for (const grown of [2, 3, 4, 7]) {
      const world = await World.start();
      // A follower that hears nothing: the log alone must tell.
      const owner = await world.opened("owner", (log) => deaf(log));
      owner.stageMany(10);
      await world.advance(100);
      await world.store.cutPower(3);
      const rival = writerNamed("rival");
      world.store.storeForeign(fence(rival));
      for (let index = 1; index < grown; index += 1)
        world.store.storeForeign(message({ writer: rival, index }));
      world.store.start();
      owner.stage("late");
      await world.advance(30_000);
      expect(owner.ended).toMatchObject([{ code: "journal", retry: "never" }]);
      expect([owner.acknowledged.length, world.store.messages.length]).toEqual([10, 8 + grown]);
    }
  });
});

/** A log whose followers see nothing. */
const deaf = (log: Log): Log => ({
  openAppender: (events) => log.openAppender(events),
  info: () => log.info(),
  read: (options, visit) => log.read(options, visit),
  readLast: (subject) => log.readLast(subject),
  follow: () => Promise.resolve({ stop: () => Promise.resolve() }),
  close: () => log.close(),
});

describe("[ES-3] a rival that fences while an owner resyncs", () => {
  it("ends it at whatever moment it comes, and nothing of the owner's is valid behind it", async () => {
    for (const decorate of [deaf, (log: Log) => log]) {
      for (let ms = 0; ms < 14; ms += 1) {
        const world = await World.start();
        const owner = await world.opened("owner", decorate);
        stageGroups(owner, 30);
        await world.advance(2);
        world.store.breakConnections("the network broke", "arrives");
        await world.advance(ms);
        world.store.storeForeign(fence(writerNamed("rival")));
        const before = judge(world.store.messages).names;
        stageGroups(owner, 10, "late");
        await world.advance(30_000);
        // "test" is the name in that fence, seen by the follower or, deaf, read by the resync.
        expect(owner.ended).toMatchObject([{ code: "fenced", details: { owner: "test" } }]);
        expect(judge(world.store.messages)).toMatchObject({ names: before, wrong: [] });
        expect(before.slice(0, owner.acknowledged.length)).toEqual(owner.acknowledged);
      }
    }
  });
});

describe("a resync", () => {
  it("that is closed at any moment leaves nothing open, fences no more and calls nothing back", async () => {
    for (let ms = 1; ms < 10; ms += 1) {
      const world = await World.start();
      const owner = await world.opened("owner");
      stageGroups(owner, 30);
      await world.advance(2);
      world.store.breakConnections("the network broke", "arrives");
      await world.advance(ms);
      expect(owner.journal.state).toBe("resyncing");
      const [before, called] = [world.store.messages.length, owner.acknowledged.length];
      const closing = owner.journal.close();
      await world.advance(1);
      // A fence that was under way at the close may still have arrived; none comes after it.
      const after = world.store.messages.length;
      expect(after - before).toBeLessThanOrEqual(1);
      await world.advance(60_000);
      await closing;
      expect(world.store.messages.length).toBe(after);
      expect(world.store.clientCount).toBe(0);
      expect(owner.acknowledged.length).toBe(called);
      expect([owner.journal.state, owner.ended]).toEqual(["closed", []]);
    }
  });

  it("ends the journal when the log fails in a way that waiting does not mend", async () => {
    const world = await World.start();
    let isBroken = false;
    const owner = await world.opened("owner", (log) => ({
      ...deaf(log),
      info: () => (isBroken ? Promise.reject(new TypeError("a defect")) : log.info()),
    }));
    isBroken = true;
    world.store.breakConnections("the network broke", "arrives");
    await world.advance(30_000);
    expect(owner.ended).toMatchObject([{ code: "system", details: { component: "journal" } }]);
    expect(owner.ended[0]?.cause).toBeInstanceOf(TypeError);
  });

  it("goes on at once when the connection breaks in the moment in which its fence is answered", async () => {
    const world = await World.start();
    let breaksLeft = 2;
    const owner = world.owner("owner", (log) => ({
      ...deaf(log),
      openAppender: (events) =>
        log.openAppender({
          onDisconnect: events.onDisconnect,
          onAnswer: (index, answer) => {
            events.onAnswer(index, answer);
            if (index !== 0 || breaksLeft === 0) return;
            breaksLeft -= 1;
            events.onDisconnect("gone with the answer");
          },
        }),
    }));
    await world.settled(owner.take());
    owner.open();
    owner.stage("one");
    await world.advance(1_000);
    expectAll(world, owner, ["one"]);
    expect(judge(world.store.messages).epochs).toHaveLength(3);
  });

  it("tells readers of single subjects up to where each epoch is valid", async () => {
    const world = await World.start();
    const owner = await world.opened("owner");
    world.store.fateOf = scriptedFates(
      [{ kind: "deliver" }, { kind: "deliver" }, { kind: "lose" }],
      isRecord,
    );
    owner.stage("whole");
    owner.stage("torn", ["task.w.a", "task.w.b"]);
    await world.advance(100);
    world.store.stop("isLost");
    world.store.start();
    await world.advance(1_000);
    const { epochs } = judge(world.store.messages);
    // The first part of the torn group was acknowledged, and is not valid for all that.
    expect(epochs[0]).toMatchObject({ validThrough: 2, tornCount: 1 });
    expect(owner.journal.epochs.toTell).toEqual(
      epochs.slice(0, -1).map(({ fence: position, validThrough }) => ({
        fence: position,
        validThrough,
      })),
    );
  });
});
