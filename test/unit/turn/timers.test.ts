/**
 * Timers: one heap of instants, one wake-up.
 */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { Timers } from "../../../actors/turn/timers.ts";
import { SimulatedClock } from "../../../infra/simulated/clock.ts";

function begin() {
  const clock = new SimulatedClock();
  const seen: string[] = [];
  let onDue = (_actor: string, _name: string): void => undefined;
  const timers = new Timers(
    clock,
    () => clock.monotonicMs(),
    (actor, name) => {
      seen.push(`${actor}:${name}@${clock.monotonicMs()}`);
      onDue(actor, name);
    },
  );
  return {
    clock,
    timers,
    seen,
    whenDue: (work: typeof onDue) => {
      onDue = work;
    },
  };
}

describe("a timer", () => {
  it("[T8] is due at its instant, never before, and once", async () => {
    const { clock, timers, seen } = begin();
    timers.arm("a", "timeout", 100);
    await clock.advance(99);
    expect(seen).toEqual([]);
    await clock.advance(1);
    expect(seen).toEqual(["a:timeout@100"]);
    await clock.advance(1_000);
    expect(seen).toHaveLength(1);
    expect(timers.size).toBe(0);
  });

  it("[T8] armed again replaces itself, earlier and later; another name is another timer", async () => {
    const { clock, timers, seen } = begin();
    timers.arm("a", "timeout", 100);
    timers.arm("a", "grace", 50);
    timers.arm("a", "timeout", 300);
    timers.arm("b", "timeout", 200);
    timers.arm("b", "timeout", 20);
    expect(timers.size).toBe(3);
    await clock.advance(1_000);
    expect(seen).toEqual(["b:timeout@20", "a:grace@50", "a:timeout@300"]);
  });

  it("[T8] disarmed is not due; disarming what is not armed does nothing", async () => {
    const { clock, timers, seen } = begin();
    timers.arm("a", "timeout", 10);
    timers.arm("a", "grace", 20);
    timers.arm("b", "timeout", 30);
    timers.disarm("a", "timeout");
    timers.disarm("a", "timeout");
    timers.disarm("nobody", "timeout");
    await clock.advance(15);
    timers.disarmAll("a");
    await clock.advance(100);
    expect(seen).toEqual(["b:timeout@30"]);
  });

  it("[T8] in the past is due at once; at a fraction, not before it", async () => {
    const { clock, timers, seen } = begin();
    await clock.advance(500);
    timers.arm("a", "timeout", 1);
    timers.arm("b", "timeout", 500.25);
    await clock.advance(0);
    expect(seen).toEqual(["a:timeout@500"]);
    await clock.advance(1);
    expect(seen).toEqual(["a:timeout@500", "b:timeout@501"]);
  });

  it("[T8] may be further away than the platform's timer reaches", async () => {
    const { clock, timers, seen } = begin();
    const year = 366 * 24 * 3_600_000;
    timers.arm("a", "timeout", year);
    await clock.advance(year - 1);
    expect(seen).toEqual([]);
    await clock.advance(1);
    expect(seen).toEqual([`a:timeout@${year}`]);
  });

  it("[T8] that is due may arm and disarm others, due at the same instant or later", async () => {
    const { clock, timers, seen, whenDue } = begin();
    timers.arm("a", "one", 10);
    timers.arm("b", "two", 20);
    timers.arm("c", "three", 20.5);
    whenDue((actor) => {
      if (actor !== "a") return;
      timers.disarm("b", "two");
      timers.arm("d", "now", 0);
      timers.arm("e", "later", 15);
    });
    await clock.advance(100);
    expect(seen).toEqual(["a:one@10", "d:now@10", "e:later@15", "c:three@21"]);
  });

  it("[T6] whose handler throws holds up no other", async () => {
    const { clock, timers, seen, whenDue } = begin();
    for (const actor of ["a", "b", "c"]) timers.arm(actor, "timeout", 10);
    whenDue((actor) => {
      if (actor === seen[0]?.charAt(0)) throw new Error("mine");
    });
    await expect(clock.advance(10)).rejects.toThrow("mine");
    await clock.advance(0);
    expect(seen.map((each) => each.charAt(0)).sort()).toEqual(["a", "b", "c"]);
  });

  it("[CAN-7] is not armed any more once they are stopped: nothing keeps the process", async () => {
    const { clock, timers, seen } = begin();
    timers.arm("a", "timeout", 10);
    timers.stop();
    timers.arm("b", "timeout", 20);
    expect(timers.size).toBe(0);
    await clock.runUntilIdle(0);
    await clock.advance(100);
    expect(seen).toEqual([]);
  });

  it("[T8] like any number of others is due in order, whatever was armed, replaced and disarmed", async () => {
    const action = fc.record({
      actor: fc.integer({ min: 0, max: 30 }).map(String),
      name: fc.constantFrom("timeout", "grace"),
      dueAt: fc.integer({ min: 1, max: 500 }),
      what: fc.constantFrom("arm" as const, "arm", "arm", "disarm" as const, "disarmAll" as const),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 200 }), async (actions) => {
        const { clock, timers, seen } = begin();
        const model = new Map<string, number>();
        const play = {
          arm: (actor: string, name: string, dueAt: number) => {
            timers.arm(actor, name, dueAt);
            model.set(`${actor}:${name}`, dueAt);
          },
          disarm: (actor: string, name: string) => {
            timers.disarm(actor, name);
            model.delete(`${actor}:${name}`);
          },
          disarmAll: (actor: string) => {
            timers.disarmAll(actor);
            for (const name of ["timeout", "grace"]) model.delete(`${actor}:${name}`);
          },
        };
        for (const { actor, name, dueAt, what } of actions) play[what](actor, name, dueAt);
        expect(timers.size).toBe(model.size);
        await clock.advance(500);
        const expected = [...model].map(([timer, dueAt]) => `${timer}@${dueAt}`);
        expect([...seen].sort()).toEqual(expected.sort());
        const instants = seen.map((each) => Number(each.split("@")[1]));
        expect(instants).toEqual([...instants].sort((a, b) => a - b));
      }),
      { numRuns: 30 },
    );
  });
});
