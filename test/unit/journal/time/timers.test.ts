import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Clock } from "../../../../actors/ports/clock.ts";
import { Timers } from "../../../../actors/turn/timers.ts";
import { SimulatedClock } from "../../../../infra/simulated/clock.ts";

const DAY_MS = 86_400_000;

/** Timers on a simulated clock, and what fired when. */
class Rig {
  readonly clock = new SimulatedClock();
  readonly fired: { readonly actor: string; readonly name: string; readonly atMs: number }[] = [];
  readonly timers: Timers;
  onDue: (actor: string, name: string) => void = () => undefined;

  constructor(clockOf: (clock: SimulatedClock) => Clock = (clock) => clock) {
    const now = () => this.clock.monotonicMs();
    this.timers = new Timers(clockOf(this.clock), now, (actor, name) => {
      this.fired.push({ actor, name, atMs: now() });
      this.onDue(actor, name);
    });
  }

  get names(): string[] {
    return this.fired.map(({ actor, name }) => `${actor}.${name}`);
  }
}

describe("timers", () => {
  it("fire once each, in the order of their instants, whatever the order of arming", async () => {
    const rig = new Rig();
    for (const dueAt of [500, 100, 300, 200, 400]) rig.timers.arm(`a${dueAt}`, "timeout", dueAt);
    expect(rig.timers.size).toBe(5);
    await rig.clock.advance(1_000);
    expect(rig.fired).toEqual(
      [100, 200, 300, 400, 500].map((atMs) => ({ actor: `a${atMs}`, name: "timeout", atMs })),
    );
    expect(rig.timers.size).toBe(0);
  });

  it("armed again replace the one of that actor and name alone, earlier and later (M1)", async () => {
    const rig = new Rig();
    rig.timers.arm("a", "timeout", 100);
    rig.timers.arm("a", "grace", 150);
    rig.timers.arm("b", "timeout", 100);
    rig.timers.arm("a", "timeout", 900);
    rig.timers.arm("b", "timeout", 50);
    expect(rig.timers.size).toBe(3);
    await rig.clock.advance(1_000);
    expect(rig.fired.map(({ actor, name, atMs }) => [actor, name, atMs])).toEqual([
      ["b", "timeout", 50],
      ["a", "grace", 150],
      ["a", "timeout", 900],
    ]);
  });

  it("disarmed do not fire; disarming what is not armed does nothing (M1)", async () => {
    const rig = new Rig();
    rig.timers.disarm("nobody", "timeout");
    for (const name of ["timeout", "grace", "poll"]) rig.timers.arm("a", name, 100);
    rig.timers.disarm("a", "grace");
    rig.timers.disarm("a", "grace");
    await rig.clock.advance(1_000);
    rig.timers.disarm("a", "timeout");
    expect(rig.names.sort()).toEqual(["a.poll", "a.timeout"]);
  });

  it("of an actor that has ended are disarmed all, and nobody else's", async () => {
    const rig = new Rig();
    for (const actor of ["a", "b"])
      for (const name of ["timeout", "grace"]) rig.timers.arm(actor, name, 100);
    rig.timers.disarmAll("a");
    rig.timers.disarmAll("nobody");
    expect(rig.timers.size).toBe(2);
    await rig.clock.advance(1_000);
    expect(rig.names.sort()).toEqual(["b.grace", "b.timeout"]);
  });

  it("that are left when most of very many are disarmed fire all, in order", async () => {
    const rig = new Rig();
    const instants = Array.from({ length: 500 }, (_, at) => 100 + ((at * 7) % 500));
    for (const dueAt of instants) rig.timers.arm(`a${dueAt}`, "timeout", dueAt);
    const left = instants.filter((dueAt) => dueAt % 10 === 0);
    for (const dueAt of instants) if (dueAt % 10 !== 0) rig.timers.disarmAll(`a${dueAt}`);
    expect(rig.timers.size).toBe(left.length);
    await rig.clock.advance(1_000);
    expect(rig.fired.map(({ atMs }) => atMs)).toEqual(left.toSorted((one, other) => one - other));
  });

  it("that are due already fire soon, not within the call that arms them", async () => {
    const rig = new Rig();
    await rig.clock.advance(500);
    rig.timers.arm("a", "timeout", 100);
    expect(rig.fired).toEqual([]);
    await rig.clock.advance(0);
    expect(rig.names).toEqual(["a.timeout"]);
  });

  it("that are armed and disarmed by one that fires follow the same rules", async () => {
    const rig = new Rig();
    rig.onDue = (actor) => {
      if (actor !== "first") return;
      rig.timers.disarm("second", "timeout");
      rig.timers.arm("third", "timeout", 120);
      rig.timers.arm("first", "timeout", 400);
      rig.onDue = () => undefined;
    };
    rig.timers.arm("first", "timeout", 100);
    rig.timers.arm("second", "timeout", 100);
    rig.timers.arm("fourth", "timeout", 300);
    await rig.clock.advance(1_000);
    expect(rig.fired.map(({ actor, atMs }) => [actor, atMs])).toEqual([
      ["first", 100],
      ["third", 120],
      ["fourth", 300],
      ["first", 400],
    ]);
  });

  it("stopped, also by one that fires, fire no more and leave no wake-up", async () => {
    const rig = new Rig();
    rig.onDue = () => rig.timers.stop();
    for (const dueAt of [100, 100, 200]) rig.timers.arm(`a${dueAt}`, `n${rig.timers.size}`, dueAt);
    await rig.clock.advance(1_000);
    expect([rig.fired.length, rig.timers.size]).toEqual([1, 0]);
    rig.timers.arm("a", "timeout", 5_000);
    rig.timers.stop();
    await rig.clock.runUntilIdle(0);
  });
});

describe("a wait", () => {
  it("longer than the platform's longest wake-up fires at its instant, not before (M2)", async () => {
    const rig = new Rig();
    const dueAt = 60 * DAY_MS;
    expect(dueAt).toBeGreaterThan(2 * 2 ** 31);
    rig.timers.arm("a", "timeout", dueAt);
    await rig.clock.advance(dueAt - 1);
    expect(rig.fired).toEqual([]);
    rig.timers.arm("b", "timeout", dueAt + 7);
    await rig.clock.advance(100);
    expect(rig.fired.map(({ actor, atMs }) => [actor, atMs])).toEqual([
      ["a", dueAt],
      ["b", dueAt + 7],
    ]);
  });

  it("behind a longer one is not held up by it", async () => {
    const rig = new Rig();
    rig.timers.arm("a", "timeout", 60 * DAY_MS);
    rig.timers.arm("b", "timeout", 50);
    await rig.clock.advance(50);
    expect(rig.names).toEqual(["b.timeout"]);
  });

  it("ends never before its instant on a clock that wakes early (M2)", async () => {
    const rig = new Rig((clock) => ({
      wallMs: () => clock.wallMs(),
      monotonicMs: () => clock.monotonicMs(),
      uptimeMs: () => clock.uptimeMs(),
      bootId: clock.bootId,
      wakeIn: (delayMs, wake) => clock.wakeIn(Math.max(Math.min(delayMs, 1), delayMs - 200), wake),
    }));
    for (const dueAt of [150.5, 1_000, 1_100, 5_000]) rig.timers.arm(`a${dueAt}`, "timeout", dueAt);
    await rig.clock.advance(5_001);
    expect(rig.fired.map(({ actor }) => actor)).toEqual(["a150.5", "a1000", "a1100", "a5000"]);
    for (const { actor, atMs } of rig.fired)
      expect(atMs).toBeGreaterThanOrEqual(Number(actor.slice(1)));
  });

  it("has at most one wake-up set for all that are armed", async () => {
    let set = 0;
    let most = 0;
    const rig = new Rig((clock) => ({
      wallMs: () => clock.wallMs(),
      monotonicMs: () => clock.monotonicMs(),
      uptimeMs: () => clock.uptimeMs(),
      bootId: clock.bootId,
      wakeIn: (delayMs, wake) => {
        set += 1;
        most = Math.max(most, set);
        const handle = clock.wakeIn(delayMs, () => {
          set -= 1;
          wake();
        });
        return {
          cancel: () => {
            set -= 1;
            handle.cancel();
          },
        };
      },
    }));
    for (let at = 0; at < 200; at += 1)
      rig.timers.arm(`a${at}`, "timeout", 1_000 - ((at * 37) % 500));
    await rig.clock.advance(2_000);
    expect([rig.fired.length, most, set]).toEqual([200, 1, 0]);
  });
});

type Operation =
  | { readonly kind: "arm"; readonly actor: string; readonly name: string; readonly inMs: number }
  | { readonly kind: "disarm"; readonly actor: string; readonly name: string }
  | { readonly kind: "disarmAll"; readonly actor: string }
  | { readonly kind: "advance"; readonly ms: number };

const actors = fc.integer({ min: 0, max: 40 }).map((number) => `a\n${number}`);
const names = fc.constantFrom("timeout", "grace");
const operations: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("arm" as const),
      actor: actors,
      name: names,
      inMs: fc.oneof(
        fc.integer({ min: -50, max: 300 }),
        fc.double({ min: 0, max: 300, noNaN: true }),
        fc.integer({ min: 0, max: 2 ** 33 }),
      ),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant("disarm" as const), actor: actors, name: names }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("disarmAll" as const), actor: actors }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("advance" as const),
      ms: fc.integer({ min: 0, max: 400 }),
    }),
  },
);

/** A list that is looked through each time. */
class NaiveTimers {
  armed: { readonly actor: string; readonly name: string; readonly dueAt: number }[] = [];

  drop(which: (timer: { actor: string; name: string }) => boolean): void {
    this.armed = this.armed.filter((timer) => !which(timer));
  }

  due(nowMs: number): { readonly actor: string; readonly name: string; readonly dueAt: number }[] {
    const due = this.armed.filter(({ dueAt }) => dueAt <= nowMs);
    this.drop((timer) =>
      due.some(({ actor, name }) => actor === timer.actor && name === timer.name),
    );
    return due;
  }
}

/** Both through one step; what fires is compared. */
async function befall(rig: Rig, naive: NaiveTimers, step: Operation): Promise<void> {
  switch (step.kind) {
    case "arm": {
      const { actor, name } = step;
      const dueAt = rig.clock.monotonicMs() + step.inMs;
      rig.timers.arm(actor, name, dueAt);
      naive.drop((timer) => timer.actor === actor && timer.name === name);
      naive.armed.push({ actor, name, dueAt });
      return;
    }
    case "disarm":
      rig.timers.disarm(step.actor, step.name);
      return naive.drop(({ actor, name }) => actor === step.actor && name === step.name);
    case "disarmAll":
      rig.timers.disarmAll(step.actor);
      return naive.drop(({ actor }) => actor === step.actor);
    case "advance":
      rig.fired.length = 0;
      await rig.clock.advance(step.ms);
      return compareFired(rig, naive.due(rig.clock.monotonicMs()));
  }
}

function compareFired(rig: Rig, due: ReturnType<NaiveTimers["due"]>): void {
  const dueAtOf = new Map(due.map(({ actor, name, dueAt }) => [`${actor}.${name}`, dueAt]));
  expect(rig.names.toSorted()).toEqual([...dueAtOf.keys()].toSorted());
  const instants = rig.names.map((name) => dueAtOf.get(name) ?? Number.NaN);
  expect(instants).toEqual(instants.toSorted((one, other) => one - other));
  for (const [at, { atMs }] of rig.fired.entries())
    expect(atMs).toBeGreaterThanOrEqual(instants[at] ?? Number.NaN);
}

it("agree with a list that is looked through each time, for any sequence of operations", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(operations, { maxLength: 250 }), async (steps) => {
      const rig = new Rig();
      const naive = new NaiveTimers();
      for (const step of steps) {
        await befall(rig, naive, step);
        expect(rig.timers.size).toBe(naive.armed.length);
      }
    }),
    { numRuns: 150 },
  );
});
