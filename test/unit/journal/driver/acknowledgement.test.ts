/**
 * What is acknowledged: effects wait for it, in order, once, and answers that name no event wait for what was staged before.
 */
import { describe, expect, it } from "vitest";
import { PENDING_BYTES_MAX } from "../../../../actors/journal/journal.ts";
import { scriptedFates } from "../../../../infra/simulated/fates.ts";
import { Random } from "../../../../infra/simulated/random.ts";
import { type Owner, World } from "../rig/owner.ts";
import { FENCE_SUBJECT, markOf, PREFIX } from "../rig/records.ts";
import { judge } from "../rig/verdict.ts";

const SCOPES = ["task.w.a", "task.w.b", "account.x"];

/** Stages groups `g…` and barriers `b…` in turns while connections break; gives their names in order. */
async function stageThroughBreaks(world: World, owner: Owner, random: Random): Promise<string[]> {
  const names = Array.from({ length: 30 }, (_, at) => `${random.chance(0.5) ? "g" : "b"}${at}`);
  for (const name of names) {
    if (name.startsWith("g")) owner.stage(name, SCOPES);
    else owner.barrier(name);
    if (random.chance(0.1)) world.store.breakConnections("the network broke", "isLost");
    await world.advance(random.integer(0, 3));
  }
  return names;
}

describe("[ES-1] a callback", () => {
  it("runs only when every record of its group and of all groups before it stands in the log", async () => {
    const world = await World.start({ seed: 7 });
    world.store.fateOf = scriptedFates([
      ...Array.from({ length: 40 }, () => ({ kind: "deliver" }) as const),
      { kind: "loseAnswer" },
    ]);
    const owner = await world.opened("owner");
    const names = Array.from({ length: 60 }, (_, at) => `g${at}`);
    const storedNames = () => judge(world.store.messages).names;
    owner.onAcknowledged = () =>
      expect(storedNames().slice(0, owner.acknowledged.length)).toEqual(owner.acknowledged);
    for (const [at, name] of names.entries()) owner.stage(name, SCOPES.slice(0, (at % 3) + 1));
    await world.advance(30_000);
    expect(owner.acknowledged).toEqual(names);
  });

  it("may stage more, which comes after all that was staged before", async () => {
    const world = await World.start({ seed: 3 });
    const owner = await world.opened("owner");
    owner.onAcknowledged = (name) => {
      if (name.length < 4) owner.stage(`${name}+`);
    };
    owner.stageMany(3);
    world.store.breakConnections("the network broke", "isLost");
    await world.advance(1_000);
    const names = ["g1", "g2", "g3", "g1+", "g2+", "g3+", "g1++", "g2++", "g3++"];
    expect(owner.acknowledged).toEqual(names);
    expect(judge(world.store.messages)).toMatchObject({ names, wrong: [] });
  });
});

describe("[ES-10] a barrier", () => {
  it("runs at once when nothing is pending, else behind what was staged before it and before what came after", async () => {
    const world = await World.start();
    const owner = await world.opened("owner");
    owner.barrier("at once");
    expect(owner.acknowledged).toEqual(["at once"]);
    owner.stage("one", SCOPES);
    owner.barrier("after one");
    owner.barrier("after one, too");
    owner.stage("two");
    expect(owner.acknowledged).toEqual(["at once"]);
    await world.advance(1_000);
    expect(owner.acknowledged).toEqual(["at once", "one", "after one", "after one, too", "two"]);
  });

  it("that a callback sets does not pass those that wait already", async () => {
    const world = await World.start();
    const owner = await world.opened("owner");
    owner.onAcknowledged = (name) => {
      if (name === "one") owner.barrier("set by one");
    };
    owner.stage("one");
    owner.barrier("older");
    await world.advance(1_000);
    expect(owner.acknowledged).toEqual(["one", "older", "set by one"]);
  });

  it("never runs on what is not acknowledged: through lost answers, and for a fenced owner at all", async () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const world = await World.start({ seed });
      const owner = await world.opened("owner");
      owner.onAcknowledged = () => {
        const marks = new Set(world.marks());
        const groups = owner.acknowledged.filter((name) => name.startsWith("g"));
        expect(groups.filter((name) => !marks.has(name))).toEqual([]);
      };
      const expected = await stageThroughBreaks(world, owner, new Random(seed));
      await world.advance(30_000);
      expect(owner.acknowledged).toEqual(expected);
      // Stopped, it cannot see the rival; what it stages must not be answered.
      owner.clock.stop();
      await world.opened("rival");
      owner.clock.goOn();
      owner.stage("g-late");
      owner.barrier("b-late");
      await world.advance(30_000);
      expect(owner.acknowledged).toEqual(expected);
      expect(owner.ended).toMatchObject([{ code: "fenced" }]);
    }
  });
});

describe("what is drained", () => {
  it("is all that was staged, whatever happens meanwhile, or as much as an end leaves", async () => {
    const world = await World.start();
    const owner = await world.opened("owner");
    await world.settled(owner.journal.drained(), 0);
    owner.stageMany(20);
    world.store.stop("isLost");
    let isDrained = false;
    void owner.journal.drained().then(() => {
      isDrained = true;
    });
    await world.advance(3_000);
    expect(isDrained).toBe(false);
    world.store.start();
    await world.until(() => isDrained);
    expect([owner.acknowledged.length, owner.journal.pendingCount]).toEqual([20, 0]);

    owner.stageMany(5, "late");
    const drained = owner.journal.drained();
    await world.opened("rival");
    await world.settled(drained);
    expect(owner.journal.state).toBe("ended");
    await world.settled(owner.journal.close());
  });

  it("is bounded for commands: beyond 64 MiB the journal is congested until the log has caught up", async () => {
    const world = await World.start();
    const owner = await world.opened("owner");
    const body = new Uint8Array(262_144);
    const count = PENDING_BYTES_MAX / body.length;
    const append = () =>
      owner.journal.append([{ subject: `${PREFIX}task.w.j`, body }], () => undefined);
    for (let at = 0; at < count; at += 1) append();
    expect(owner.journal.isCongested).toBe(false);
    append();
    expect(owner.journal.isCongested).toBe(true);
    await world.advance(100);
    expect([owner.journal.isCongested, owner.journal.pendingCount]).toEqual([false, 0]);
  });
});

describe("what is read by scope", () => {
  it("[ES-10] is whole, acknowledged groups only, over torn groups, old epochs and foreign records", async () => {
    const world = await World.start();
    const first = await world.opened("first");
    first.stage("one", ["task.w.a", "task.w.b"]);
    await world.advance(10);
    world.store.fateOf = scriptedFates([{ kind: "deliver" }, { kind: "lose" }]);
    first.stage("torn", ["task.w.a", "task.w.b"]);
    await world.advance(10);
    first.kill();
    const second = await world.opened("second");
    second.stage("two", ["task.w.a", "task.w.b"]);
    await world.advance(10);
    world.store.fateOf = scriptedFates([{ kind: "deliver" }, { kind: "delayAnswer", ms: 1_000 }]);
    second.stage("pending", ["task.w.a", "task.w.b"]);
    await world.advance(10);
    const read = async (scope: string) => {
      const names: string[] = [];
      const reading = second.journal.readScopes([PREFIX + scope], ({ position }) => {
        const body = world.store.messages[position - 1]?.body ?? new Uint8Array(0);
        names.push(markOf(body)?.group ?? "");
      });
      await world.settled(reading);
      return names;
    };
    expect(await read("task.w.a")).toEqual(["one", "two"]);
    expect(await read("task.*.b")).toEqual(["one", "two"]);
    await world.advance(2_000);
    expect(await read("task.w.a")).toEqual(["one", "two", "pending"]);
    const last = second.journal.lastSubject(`${PREFIX}>`);
    expect(await world.settled(last)).toBe(`${PREFIX}task.w.b`);
    expect(await world.settled(second.journal.lastSubject(`${PREFIX}none`))).toBeNull();
    expect(await world.settled(second.journal.lastSubject(FENCE_SUBJECT))).toBe(FENCE_SUBJECT);
  });
});
