import { describe, expect, it } from "vitest";
import { SimulatedClock, SimulatedMachine } from "../../../../infra/simulated/clock.ts";
import { SimulatedTime } from "../../../../infra/simulated/time.ts";

describe("simulated time", () => {
  it("runs what is set in the order of its instants, and what is set for one in the order of setting (T2)", async () => {
    const time = new SimulatedTime();
    const ran: string[] = [];
    for (const [name, ms] of [
      ["c", 20],
      ["a", 10],
      ["d", 20],
      ["b", 10],
      ["e", 20],
    ] as const)
      time.in(ms, () => ran.push(`${name}${time.nowMs}`));
    await time.advance(15);
    expect([ran, time.nowMs]).toEqual([["a10", "b10"], 15]);
    await time.advance(5);
    expect([ran.slice(2), time.nowMs]).toEqual([["c20", "d20", "e20"], 20]);
  });

  it("lets every promise settle between two events, however long its chain (T3)", async () => {
    const time = new SimulatedTime();
    const ran: string[] = [];
    time.in(1, () => {
      void (async () => {
        for (let at = 0; at < 1_000; at += 1) await Promise.resolve();
        ran.push("the end of a long chain");
      })();
    });
    time.in(1, () => ran.push("the next event"));
    await time.advance(1);
    expect(ran).toEqual(["the end of a long chain", "the next event"]);
  });

  it("does not run what is cancelled, and runs what an event sets", async () => {
    const time = new SimulatedTime();
    const ran: number[] = [];
    time.in(5, () => ran.push(5)).cancel();
    time.in(10, () => time.in(0, () => ran.push(time.nowMs)));
    expect(await time.step()).toBe(true);
    expect(await time.step()).toBe(true);
    expect(await time.step()).toBe(false);
    expect([ran, time.ranCount]).toEqual([[10], 2]);
  });

  it("runs until a condition is met, or says that it is not within the bound", async () => {
    const time = new SimulatedTime();
    let isMet = false;
    time.in(50, () => {
      isMet = true;
    });
    await time.runUntil(() => isMet, 100);
    expect(time.nowMs).toBe(50);
    await expect(time.runUntil(() => !isMet, 100)).rejects.toThrow("within its bound");
  });

  it("runs until nothing is set, or says that something polls for ever", async () => {
    const time = new SimulatedTime();
    time.in(50, () => time.in(50, () => undefined));
    await time.runUntilIdle();
    expect(time.nowMs).toBe(100);
    const poll = (): void => {
      time.in(1_000, poll);
    };
    poll();
    await expect(time.runUntilIdle(60_000)).rejects.toThrow("idles");
  });

  it("gives what an event throws to whoever steps", async () => {
    const time = new SimulatedTime();
    time.in(1, () => {
      throw new TypeError("a defect");
    });
    await expect(time.advance(1)).rejects.toThrow("a defect");
  });
});

describe("a simulated machine", () => {
  it("keeps wall, uptime and monotonic time apart: steps, sleeps, boots (C1)", async () => {
    const machine = new SimulatedMachine({ wallMs: 1_000_000, uptimeMs: 500 });
    const clock = new SimulatedClock(machine);
    const read = () => [clock.wallMs(), clock.uptimeMs(), clock.monotonicMs()];
    expect(read()).toEqual([1_000_000, 500, 0]);
    await clock.advance(10);
    clock.stepWall(-300_000);
    expect(read()).toEqual([700_010, 510, 10]);
    clock.suspend(1_000);
    expect(read()).toEqual([701_010, 1_510, 10]);
    const { bootId } = clock;
    machine.reboot();
    await clock.advance(7);
    const next = new SimulatedClock(machine);
    expect([next.wallMs(), next.uptimeMs(), next.monotonicMs()]).toEqual([701_017, 7, 0]);
    expect(next.bootId).not.toBe(bootId);
  });

  it("puts off what is due while it sleeps", async () => {
    const clock = new SimulatedClock();
    let wokeAtWallMs = 0;
    clock.wakeIn(100, () => {
      wokeAtWallMs = clock.wallMs();
    });
    const startMs = clock.wallMs();
    clock.suspend(5_000);
    await clock.advance(100);
    expect(wokeAtWallMs - startMs).toBe(5_100);
  });
});

describe("a simulated process", () => {
  it("that is stopped runs nothing, and on going on first its wake-ups, then what was sent (C2)", async () => {
    const machine = new SimulatedMachine();
    const stopped = new SimulatedClock(machine);
    const other = new SimulatedClock(machine);
    const ran: string[] = [];
    stopped.stop();
    stopped.deliverIn(10, () => ran.push("answer 1"));
    stopped.wakeIn(20, () => ran.push("wake 1"));
    stopped.deliverIn(30, () => ran.push("answer 2"));
    stopped.wakeIn(40, () => ran.push("wake 2"));
    stopped.wakeIn(45, () => ran.push("cancelled")).cancel();
    other.wakeIn(25, () => ran.push("other"));
    await machine.time.advance(1_000);
    expect([ran, stopped.monotonicMs()]).toEqual([["other"], 1_000]);
    stopped.goOn();
    await machine.time.advance(0);
    expect(ran).toEqual(["other", "wake 1", "wake 2", "answer 1", "answer 2"]);
  });

  it("that is dead runs nothing any more (C3)", async () => {
    const clock = new SimulatedClock();
    clock.wakeIn(10, () => expect.unreachable("it is dead"));
    clock.deliverIn(10, () => expect.unreachable("it is dead"));
    clock.kill();
    expect(clock.isDead).toBe(true);
    await clock.runUntilIdle();
  });

  it("cannot wait longer than the platform's timer takes, nor less than nothing", () => {
    const clock = new SimulatedClock();
    const wake = () => undefined;
    expect(() => clock.wakeIn(2 ** 31, wake)).toThrow("fits");
    expect(() => clock.wakeIn(-1, wake)).toThrow("fits");
    expect(() => clock.wakeIn(2 ** 31 - 1, wake)).not.toThrow();
  });
});
