import { describe, expect, it } from "vitest";
import { SimulatedClock } from "../../../../infra/simulated/clock.ts";
import { SimulatedIds } from "../../../../infra/simulated/ids.ts";
import { Random } from "../../../../infra/simulated/random.ts";
import { systemIds } from "../../../../infra/system/ids.ts";

const draw = (random: Random, count: number): number[] =>
  Array.from({ length: count }, () => random.next());

describe("the generator", () => {
  it("gives the published numbers of xoshiro128** for the state 1, 2, 3, 4", () => {
    expect(draw(new Random(0, [1, 2, 3, 4]), 10)).toEqual([
      11520, 0, 5927040, 70819200, 2031721883, 1637235492, 1287239034, 3734860849, 3729100597,
      4258142804,
    ]);
  });

  it("gives the same numbers for the same seed, others for another, and none is stuck (R1)", () => {
    expect(draw(new Random(7), 100)).toEqual(draw(new Random(7), 100));
    const firsts = Array.from({ length: 2_000 }, (_, seed) => new Random(seed).next());
    expect(new Set(firsts).size).toBeGreaterThan(1_998);
  });

  it("forks by name, whatever was drawn before (R2)", () => {
    const fresh = new Random(7);
    const used = new Random(7);
    draw(used, 50);
    expect(draw(used.fork("a"), 10)).toEqual(draw(fresh.fork("a"), 10));
    const streams = ["a", "b", "ab", "ba", ""].map((name) => draw(fresh.fork(name), 3).join());
    expect(new Set([...streams, draw(new Random(7), 3).join()]).size).toBe(6);
  });

  it("draws from all of a range and nothing else, evenly", () => {
    const random = new Random(3);
    const counts = new Map<number, number>();
    for (let at = 0; at < 60_000; at += 1) {
      const drawn = random.integer(-2, 3);
      counts.set(drawn, (counts.get(drawn) ?? 0) + 1);
    }
    expect([...counts.keys()].sort((one, other) => one - other)).toEqual([-2, -1, 0, 1, 2, 3]);
    for (const count of counts.values()) expect(Math.abs(count - 10_000)).toBeLessThan(500);
    expect(random.integer(5, 5)).toBe(5);
  });

  it("draws by chance, by pick and by weight as often as they say", () => {
    const random = new Random(4);
    const share = (isHit: () => boolean): number => {
      let hits = 0;
      for (let at = 0; at < 20_000; at += 1) if (isHit()) hits += 1;
      return hits / 20_000;
    };
    expect(share(() => random.chance(0.25))).toBeCloseTo(0.25, 1);
    expect([share(() => random.chance(0)), share(() => random.chance(1))]).toEqual([0, 1]);
    expect(share(() => random.pick(["a", "b", "c", "d"]) === "c")).toBeCloseTo(0.25, 1);
    const weights = { often: 6, seldom: 2, never: 0 };
    expect(share(() => random.weighted(weights) === "often")).toBeCloseTo(0.75, 1);
    expect(share(() => random.weighted(weights) === "never")).toBe(0);
  });
});

describe("simulated ids", () => {
  const idsOf = (seed: number, clock = new SimulatedClock()) =>
    new SimulatedIds(new Random(seed), clock);

  it("are the same for the same seed and others for another", () => {
    const mint = (ids: SimulatedIds) => [ids.ulid(), ids.writerId(), ids.ulid(), ids.writerId()];
    expect(mint(idsOf(1))).toEqual(mint(idsOf(1)));
    const minted = [1, 2, 3, 4].flatMap((seed) => mint(idsOf(seed)));
    expect(new Set(minted).size).toBe(minted.length);
  });

  it("are ULIDs that sort by minting, also when the clock steps back (D1)", async () => {
    const clock = new SimulatedClock();
    const ids = idsOf(1, clock);
    const minted: string[] = [];
    for (let at = 0; at < 300; at += 1) {
      minted.push(ids.ulid());
      if (at % 7 === 0) await clock.advance(3);
      if (at === 100) clock.stepWall(-3_600_000);
    }
    expect(minted.toSorted()).toEqual(minted);
    expect(new Set(minted).size).toBe(300);
    for (const ulid of minted) expect(ulid).toMatch(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
  });

  it("are writer ids as a frame holds them, and real digests", () => {
    const ids = idsOf(1);
    expect(ids.writerId()).toMatch(/^[A-Za-z0-9_-]{21}[AQgw]$/);
    expect(ids.digest("text")).toBe(systemIds().digest("text"));
  });
});
