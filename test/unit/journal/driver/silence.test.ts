/**
 * Silence: a store that does not answer is a fault, a store that is slow is not, and neither is a gap of our own (N4).
 */
import { describe, expect, it } from "vitest";
import { ANSWER_WAIT_MS } from "../../../../actors/journal/journal.ts";
import { scriptedFates } from "../../../../infra/simulated/fates.ts";
import { type Owner, World } from "../rig/owner.ts";
import { judge } from "../rig/verdict.ts";

/** One poll that finds it waiting, the wait, and one poll after it is due. */
const JUDGED_WITHIN_MS = ANSWER_WAIT_MS + 2_000;

const resyncedAtMs = async (world: World, owner: Owner, withinMs: number): Promise<number> => {
  const startMs = world.machine.time.nowMs;
  await world.until(() => owner.journal.state === "resyncing", withinMs);
  return world.machine.time.nowMs - startMs;
};

describe("[ES-4] a store that falls silent", () => {
  it("is found out after the wait and at most two polls, whenever it falls silent", async () => {
    for (let afterMs = 0; afterMs < 2_000; afterMs += 83) {
      const world = await World.start();
      const owner = await world.opened("owner");
      await world.advance(afterMs);
      world.store.isSilent = true;
      owner.stageMany(3);
      const waitedMs = await resyncedAtMs(world, owner, JUDGED_WITHIN_MS);
      expect(waitedMs).toBeGreaterThanOrEqual(ANSWER_WAIT_MS);
      expect(owner.notices[0]).toMatchObject({ kind: "resyncing", pending: 3 });
    }
  });

  it.each([false, true])(
    "for a minute (deaf to questions too: %s) loses nothing",
    async (isDeaf) => {
      const world = await World.start();
      const owner = await world.opened("owner");
      const names = owner.stageMany(30);
      await world.advance(2);
      world.store.isSilent = true;
      world.store.isDeaf = isDeaf;
      names.push(...owner.stageMany(30, "silent"));
      await world.advance(60_000);
      expect([owner.ended, owner.journal.state]).toEqual([[], "resyncing"]);
      world.store.isSilent = false;
      world.store.isDeaf = false;
      await world.advance(10_000);
      expect([owner.ended, owner.acknowledged]).toEqual([[], names]);
      expect(judge(world.store.messages)).toMatchObject({ names, wrong: [] });
    },
  );

  it("while nothing is in flight is nobody's matter", async () => {
    const world = await World.start();
    const owner = await world.opened("owner");
    world.store.isSilent = true;
    await world.advance(60_000);
    expect([owner.notices, owner.journal.state]).toEqual([[], "open"]);
  });
});

describe("a store that is slow", () => {
  it("is not taken for silent when it answers within the wait, whenever it is asked", async () => {
    for (let afterMs = 0; afterMs < 2_000; afterMs += 83) {
      const world = await World.start();
      const owner = await world.opened("owner");
      await world.advance(afterMs);
      world.store.fateOf = scriptedFates([{ kind: "delayAnswer", ms: ANSWER_WAIT_MS - 100 }]);
      owner.stageMany(3);
      await world.advance(20_000);
      expect([owner.noticeKinds(), owner.acknowledged.length]).toEqual([[], 3]);
    }
  });

  it("is not taken for silent while it goes on answering, one in 4 s", async () => {
    const world = await World.start();
    const owner = await world.opened("owner");
    world.store.fateOf = () => ({ kind: "delayAnswer", ms: 4_000 });
    owner.stageMany(10);
    await world.advance(60_000);
    expect([owner.noticeKinds(), owner.acknowledged.length]).toEqual([[], 10]);
  });
});

describe("our own gap", () => {
  it.each([3_000, 6_000, 60_000])(
    "of %i ms, in which answers came that nobody read, is not judged as silence",
    async (gapMs) => {
      for (let afterMs = 0; afterMs < 2_000; afterMs += 250) {
        const world = await World.start();
        const owner = await world.opened("owner");
        await world.advance(afterMs);
        world.store.fateOf = () => ({ kind: "delayAnswer", ms: 2_000 });
        owner.stage("one");
        await world.advance(1_500);
        owner.clock.stop();
        await world.advance(gapMs);
        owner.clock.goOn();
        await world.advance(20_000);
        expect([owner.noticeKinds(), owner.acknowledged]).toEqual([[], ["one"]]);
      }
    },
  );

  it("grants a new wait, no more: a store that stays silent behind it is found out", async () => {
    const world = await World.start();
    const owner = await world.opened("owner");
    world.store.isSilent = true;
    owner.stage("one");
    await world.advance(4_000);
    owner.clock.stop();
    await world.advance(60_000);
    owner.clock.goOn();
    const waitedMs = await resyncedAtMs(world, owner, JUDGED_WITHIN_MS);
    expect(waitedMs).toBeGreaterThanOrEqual(ANSWER_WAIT_MS);
  });

  it("in which the machine slept is none: the monotonic clock stood still", async () => {
    const world = await World.start();
    const owner = await world.opened("owner");
    owner.stage("one");
    world.machine.suspend(3_600_000);
    await world.advance(20_000);
    expect([owner.noticeKinds(), owner.acknowledged]).toEqual([[], ["one"]]);
  });
});
