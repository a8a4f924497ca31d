/**
 * Taking the partition: who fences whom, and what a take does when the store fails under it.
 */
import { describe, expect, it } from "vitest";
import { ANSWER_WAIT_MS } from "../../../../actors/journal/journal.ts";
import { scriptedFates } from "../../../../infra/simulated/fates.ts";
import { type Owner, World } from "../rig/owner.ts";
import { FENCE_SUBJECT, fence, junk, message, writerNamed } from "../rig/records.ts";
import { judge } from "../rig/verdict.ts";

const FENCED = { code: "fenced", retry: "never" };

describe("a take", () => {
  it("hands over every valid group up to its own fence, which comes last", async () => {
    const world = await World.start();
    const first = await world.opened("first");
    const names = first.stageMany(5);
    await world.advance(100);
    first.kill();
    const second = world.owner("second");
    await world.settled(second.take());
    expect(second.groups.map(([record]) => record?.body.cause)).toHaveLength(names.length);
    expect(second.fences.map(({ position }) => position)).toEqual([1, 7]);
    expect(second.journal.fencePosition).toBe(7);
    expect(second.journal.state).toBe("taking");
  });

  it("keeps what is appended before `open`, and publishes nothing of it", async () => {
    const world = await World.start();
    const owner = world.owner("owner");
    await world.settled(owner.take());
    owner.stage("early");
    await world.advance(1_000);
    expect(world.marks()).toEqual([]);
    owner.open();
    await world.advance(100);
    expect(owner.acknowledged).toEqual(["early"]);
  });

  it("fails with an unknown outcome when the fence is stored and its answer lost, and leaves nothing open", async () => {
    const world = await World.start();
    world.store.fateOf = scriptedFates([{ kind: "loseAnswer" }]);
    const owner = world.owner("owner");
    const startedAtMs = world.machine.time.nowMs;
    await expect(world.settled(owner.take())).rejects.toMatchObject({
      code: "journal",
      retry: "backoff",
      details: { outcome: "unknown" },
    });
    expect(world.machine.time.nowMs - startedAtMs).toBeLessThan(ANSWER_WAIT_MS + 100);
    expect([world.store.clientCount, owner.ended.length]).toEqual([0, 0]);
    await world.settled(owner.take());
    expect(owner.journal.fencePosition).toBe(2);
    expect(judge(world.store.messages).haltedAt).toBeNull();
  });

  it.each([
    ["refused", { kind: "refuse", code: 10023, description: "insufficient resources" } as const],
    ["not heard", { kind: "unavailable" } as const],
    ["called a duplicate", { kind: "claimDuplicate" } as const],
    ["lost", { kind: "lose" } as const],
    ["lost with its connection", { kind: "breakConnection", isStored: true } as const],
  ])("fails when the fence is %s, and leaves nothing open", async (_, fate) => {
    const world = await World.start();
    world.store.fateOf = scriptedFates([fate]);
    const owner = world.owner("owner");
    await expect(world.settled(owner.take())).rejects.toMatchObject({ code: "journal" });
    expect(world.store.clientCount).toBe(0);
    await world.settled(owner.take());
    expect(owner.journal.state).toBe("taking");
  });

  it("fails while the server is away, and leaves nothing open", async () => {
    const world = await World.start();
    world.store.stop("isLost");
    const owner = world.owner("owner");
    await expect(world.settled(owner.take())).rejects.toMatchObject({ code: "journal" });
    expect(world.store.clientCount).toBe(0);
  });

  it("fails, whenever the server dies under it, or comes to be the owner after all", async () => {
    const outcomes = new Set<string>();
    for (let step = 0; step < 12; step += 1) {
      const world = await World.start();
      const first = await world.opened("first");
      first.stageMany(9);
      await world.advance(100);
      first.kill();
      const second = world.owner("second");
      const taking = second.take().then(
        () => "taken",
        (error: { code: string }) => error.code,
      );
      await world.advance(step);
      world.store.stop("arrives");
      await world.advance(50);
      world.store.start();
      const outcome = await world.settled(taking);
      outcomes.add(outcome);
      if (outcome === "taken") {
        expect(second.groups).toHaveLength(9);
        second.open();
        second.stage("last");
        await world.advance(20_000);
        expect(second.acknowledged).toEqual(["last"]);
        expect(judge(world.store.messages)).toMatchObject({ wrong: [] });
      } else expect([outcome, world.store.clientCount]).toEqual(["journal", 0]);
    }
    expect([...outcomes].sort()).toEqual(["journal", "taken"]);
  });

  it("begins with a resync when its connection was lost while the log was read", async () => {
    const world = await World.start();
    const first = await world.opened("first");
    first.stageMany(9);
    await world.advance(100);
    first.kill();
    const second = world.owner("second");
    const taking = second.take();
    await world.until(() => second.fences.length > 0);
    world.store.breakConnections("the network broke", "isLost");
    await world.settled(taking);
    second.stage("one");
    second.open();
    expect(second.journal.state).toBe("resyncing");
    await world.advance(200);
    expect(second.acknowledged).toEqual(["one"]);
    expect(second.noticeKinds()).toEqual(["resyncing", "resynced"]);
    expect(judge(world.store.messages)).toMatchObject({ wrong: [], void: [] });
  });

  it("[ES-9] ends with what halts a reader, by position, and is not worth repeating", async () => {
    const world = await World.start();
    const writer = writerNamed("writer");
    world.store.storeForeign(fence(writer));
    world.store.storeForeign(message({ writer, index: 2 }));
    await expect(world.settled(world.owner("owner").take())).rejects.toMatchObject({
      code: "journal",
      retry: "never",
      details: { position: 2 },
    });
    expect(world.store.clientCount).toBe(0);
  });
});

describe("[ES-3] a rival", () => {
  it("fences first, by an unconditional fence, whatever the owner has in flight", async () => {
    const world = await World.start();
    const owner = await world.opened("owner");
    owner.stageMany(400);
    const rival = world.owner("rival");
    const taking = rival.take();
    // The owner never pauses: a conditional fence would find no gap to slip into.
    for (let ms = 0; !rival.hasTaken; ms += 1) {
      owner.stageMany(50, `${ms}-`);
      await world.advance(1);
    }
    await taking;
    rival.open();
    rival.stage("rival");
    await world.advance(10_000);
    expect(owner.ended).toMatchObject([FENCED]);
    expect(owner.journal.state).toBe("ended");
    expect([rival.ended, rival.acknowledged]).toEqual([[], ["rival"]]);
    const verdict = judge(world.store.messages);
    expect(verdict).toMatchObject({ wrong: [], names: [...owner.acknowledged, "rival"] });
  });

  it("is seen by its fence alone, without an append", async () => {
    const world = await World.start();
    const owner = await world.opened("owner");
    const rival = await world.opened("rival");
    await world.advance(10);
    expect(owner.ended).toMatchObject([{ ...FENCED, details: { position: 2, owner: "rival" } }]);
    expect(owner.ended[0]?.message).toBe("rival took the partition at position 2; this one stops.");
    expect(rival.ended).toEqual([]);
  });

  it("leaves nothing valid of an owner that was stopped and goes on", async () => {
    const world = await World.start();
    const zombie = await world.opened("zombie");
    zombie.stageMany(3, "before");
    await world.advance(100);
    zombie.stageMany(300, "staged");
    zombie.clock.stop();
    const rival = await world.opened("rival");
    rival.stageMany(5, "rival");
    await world.advance(30_000);
    const staged = judge(world.store.messages).names.length;
    zombie.stageMany(300, "after");
    zombie.clock.goOn();
    await world.advance(30_000);
    expect(zombie.ended).toMatchObject([FENCED]);
    const { names, wrong } = judge(world.store.messages);
    expect([names.length, wrong]).toEqual([staged, []]);
    expect(names.filter((name) => name.startsWith("after"))).toEqual([]);
    expect(rival.acknowledged).toHaveLength(5);
  });

  it.each([2, 3])("%i that take at once leave exactly one, whoever comes first", async (count) => {
    const winners = new Set<string>();
    for (let seed = 1; seed <= 150; seed += 1) {
      const world = await World.start({ seed });
      const owners = Array.from({ length: count }, (_, at) => world.owner(`owner ${at}`));
      const opened: Owner[] = [];
      const takes = owners.map(async (owner) => {
        try {
          await owner.take();
          owner.open();
          owner.stage(owner.name);
          opened.push(owner);
        } catch (error) {
          expect(error).toMatchObject(FENCED);
        }
      });
      await world.settled(Promise.all(takes));
      await world.advance(30_000);
      const left = opened.filter((owner) => owner.ended.length === 0);
      expect([seed, left.length]).toEqual([seed, 1]);
      // Whoever is fenced hears it once: from its take, or later from `onEnd`.
      for (const owner of owners) expect(owner.ended.length).toBeLessThanOrEqual(1);
      const { epochs, names, wrong } = judge(world.store.messages);
      expect(left[0]?.journal.fencePosition).toBe(epochs.at(-1)?.fence);
      expect([names, wrong]).toEqual([left[0]?.acknowledged, []]);
      winners.add(left[0]?.name ?? "");
    }
    expect(winners.size).toBe(count);
  });

  it("that fences while the log is read ends the take, and `onEnd` is not told as well", async () => {
    const world = await World.start();
    world.store.storeForeign(junk("old.1"));
    const owner = world.owner("owner");
    const taking = owner.take();
    await world.until(() => world.store.messages.some(({ subject }) => subject === FENCE_SUBJECT));
    world.store.storeForeign(fence(writerNamed("rival")));
    await expect(world.settled(taking)).rejects.toMatchObject(FENCED);
    expect([owner.ended, world.store.clientCount]).toEqual([[], 0]);
  });

  it("that fences between take and open is told, and `open` throws the same", async () => {
    const world = await World.start();
    const owner = world.owner("owner");
    await world.settled(owner.take());
    world.store.storeForeign(fence(writerNamed("rival")));
    await world.advance(10);
    expect(owner.ended).toMatchObject([FENCED]);
    expect(() => owner.open()).toThrow(expect.objectContaining(FENCED));
    await world.advance(30_000);
    expect([owner.journal.state, owner.ended.length]).toEqual(["ended", 1]);
  });

  it("whose fence is older than ours, and seen before ours is answered, ends nobody", async () => {
    const world = await World.start();
    // Its answer comes late, so that the follower has long shown the rival's.
    world.store.fateOf = scriptedFates([{ kind: "delayAnswer", ms: 1_000 }]);
    const owner = world.owner("owner");
    const taking = owner.take();
    await world.advance(3);
    world.store.storeForeign(fence(writerNamed("rival")));
    await world.settled(taking);
    owner.open();
    owner.stage("one");
    await world.advance(100);
    expect(owner.journal.fencePosition).toBe(2);
    expect([owner.ended, owner.acknowledged]).toEqual([[], ["one"]]);
  });
});
