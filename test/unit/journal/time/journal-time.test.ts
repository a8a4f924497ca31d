import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JournalTime, type LastMoment } from "../../../../actors/journal/journal-time.ts";
import { SimulatedClock, SimulatedMachine } from "../../../../infra/simulated/clock.ts";

const HOUR_MS = 3_600_000;

/** One owner's run on a machine: what it would write into its records. */
class Run {
  readonly clock: SimulatedClock;
  readonly #time: JournalTime;
  readonly #takenT: number;
  readonly #takenUptimeMs: number;

  constructor(machine: SimulatedMachine, last: LastMoment | null) {
    this.clock = new SimulatedClock(machine);
    this.#time = new JournalTime(this.clock, last);
    this.#takenT = this.#time.now();
    this.#takenUptimeMs = this.clock.uptimeMs();
  }

  now(): number {
    return this.#time.now();
  }

  /** What the log says when this was the last record. */
  last(): LastMoment {
    return {
      t: this.now(),
      at: this.clock.wallMs(),
      takenT: this.#takenT,
      bootId: this.clock.bootId,
      uptimeMs: this.#takenUptimeMs,
    };
  }
}

describe("journal time within a run", () => {
  it("begins at 0 with an empty log and follows the monotonic clock, whatever the wall clock does", async () => {
    const machine = new SimulatedMachine();
    await machine.time.advance(5_000);
    const run = new Run(machine, null);
    expect(run.now()).toBe(0);
    await machine.time.advance(1_000);
    machine.stepWall(-HOUR_MS);
    expect(run.now()).toBe(1_000);
    machine.stepWall(3 * HOUR_MS);
    await machine.time.advance(500);
    expect(run.now()).toBe(1_500);
  });

  it("stands still while the machine sleeps, as every timer does", async () => {
    const machine = new SimulatedMachine();
    const run = new Run(machine, null);
    machine.suspend(HOUR_MS);
    await machine.time.advance(10);
    expect(run.now()).toBe(10);
  });

  it("is a whole number of milliseconds", async () => {
    const machine = new SimulatedMachine();
    const run = new Run(machine, null);
    await machine.time.advance(0.4);
    expect(run.now()).toBe(0);
    await machine.time.advance(0.4);
    expect(run.now()).toBe(1);
  });
});

describe("journal time over a reload (J2)", () => {
  it.each([0, -HOUR_MS, HOUR_MS])(
    "on one boot goes on by exactly the time that passed, with the wall clock set by %i ms meanwhile",
    async (stepMs) => {
      const machine = new SimulatedMachine();
      const first = new Run(machine, null);
      await machine.time.advance(2_000);
      const last = first.last();
      machine.stepWall(stepMs);
      await machine.time.advance(7_000);
      expect(new Run(machine, last).now()).toBe(9_000);
    },
  );

  it("on one boot counts a sleep between the runs, and catches up on one within the last run", async () => {
    const machine = new SimulatedMachine();
    const first = new Run(machine, null);
    machine.suspend(HOUR_MS);
    await machine.time.advance(1_000);
    const last = first.last();
    expect(last.t).toBe(1_000);
    machine.suspend(HOUR_MS);
    expect(new Run(machine, last).now()).toBe(1_000 + 2 * HOUR_MS);
  });

  it("over a reboot goes on by the wall clock's difference", async () => {
    const machine = new SimulatedMachine();
    const first = new Run(machine, null);
    await machine.time.advance(1_000);
    const last = first.last();
    machine.reboot();
    machine.stepWall(HOUR_MS);
    await machine.time.advance(5_000);
    expect(new Run(machine, last).now()).toBe(1_000 + HOUR_MS + 5_000);
  });

  it("over a reboot with the wall clock set back goes on by at least the time since the boot", async () => {
    const machine = new SimulatedMachine();
    const first = new Run(machine, null);
    await machine.time.advance(1_000);
    const last = first.last();
    machine.reboot();
    machine.stepWall(-HOUR_MS);
    await machine.time.advance(5_000);
    expect(new Run(machine, last).now()).toBe(1_000 + 5_000);
  });

  it("does not go back when the log's last moment lies ahead of this boot's", () => {
    const machine = new SimulatedMachine({ uptimeMs: 1_000 });
    const clock = new SimulatedClock(machine);
    const ahead = { t: 90_000, at: clock.wallMs(), takenT: 0, bootId: clock.bootId, uptimeMs: 500 };
    expect(new JournalTime(clock, ahead).now()).toBe(90_000);
  });
});

const happenings = fc.record({
  happening: fc.constantFrom("pass", "step", "suspend", "reload", "reboot"),
  ms: fc.double({ min: 0, max: 1e7, noNaN: true }),
  isBack: fc.boolean(),
});
type Step = typeof happenings extends fc.Arbitrary<infer Value> ? Value : never;

it("never decreases, through wall steps, sleeps, reloads and reboots in any order (J1)", async () => {
  const befall = async (machine: SimulatedMachine, run: Run, step: Step): Promise<Run> => {
    const { happening, ms, isBack } = step;
    const last = run.last();
    if (happening === "step") machine.stepWall(isBack ? -ms : ms);
    else if (happening === "suspend") machine.suspend(ms);
    else await machine.time.advance(ms);
    if (happening === "reboot") machine.reboot();
    const isNewRun = happening === "reboot" || happening === "reload";
    return isNewRun ? new Run(machine, last) : run;
  };
  await fc.assert(
    fc.asyncProperty(fc.array(happenings, { maxLength: 30 }), async (steps) => {
      const machine = new SimulatedMachine();
      let run = new Run(machine, null);
      let before = run.now();
      for (const step of steps) {
        run = await befall(machine, run, step);
        expect(run.now()).toBeGreaterThanOrEqual(before);
        before = run.now();
      }
    }),
    { numRuns: 300 },
  );
});
