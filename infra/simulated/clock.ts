/**
 * The Clock port in a simulated world: a machine, and a process's view of its time.
 *
 * Owns: wall, boot and monotonic time, wake-ups, and what can go wrong with them: wall steps, suspends, reboots, a process that
 * is stopped or dies. Does not own: the order of events (time.ts).
 *
 * C1. The wall clock steps freely; uptime counts suspends and starts again at a boot; monotonic time does neither and never
 *     steps back (as on Linux, where it stands still in a suspend).
 * C2. A process that is stopped runs nothing, while time goes on. When it goes on, what came due meanwhile runs: first its
 *     wake-ups, then what was sent to it, each in order (as an event loop does: it looks at timers before it reads sockets).
 * C3. A dead process runs nothing any more.
 */
import type { Clock } from "../../actors/ports/clock.ts";
import { invariant } from "../../machines/invariant.ts";
import { SimulatedTime } from "./time.ts";

/** Longest wake-up that the platform's timer takes; a longer one would fire at once there. */
const WAKE_MS_MAX = 2 ** 31 - 1;
/** 2026-01-01, so that a wall time looks like one. */
const WALL_MS_DEFAULT = 1_767_225_600_000;

export interface SimulatedMachineOptions {
  /** Default: a time of its own. */
  readonly time?: SimulatedTime;
  /** Wall clock at the beginning, ms since the epoch. Default: a day in 2026. */
  readonly wallMs?: number;
  /** Uptime at the beginning, ms. Default: 1,000,000. */
  readonly uptimeMs?: number;
}

export class SimulatedMachine {
  readonly time: SimulatedTime;
  #wallOffsetMs: number;
  #uptimeOffsetMs: number;
  #bootCount = 1;

  constructor(options: SimulatedMachineOptions = {}) {
    this.time = options.time ?? new SimulatedTime();
    this.#wallOffsetMs = (options.wallMs ?? WALL_MS_DEFAULT) - this.time.nowMs;
    this.#uptimeOffsetMs = (options.uptimeMs ?? 1_000_000) - this.time.nowMs;
  }

  get wallMs(): number {
    return this.time.nowMs + this.#wallOffsetMs;
  }

  get uptimeMs(): number {
    return this.time.nowMs + this.#uptimeOffsetMs;
  }

  get bootId(): string {
    return `boot-${this.#bootCount}`;
  }

  /** Sets the wall clock forward, or back by a negative number. */
  stepWall(byMs: number): void {
    this.#wallOffsetMs += byMs;
  }

  /** Sleeps: wall and uptime go on, monotonic time and everything that is due wait. */
  suspend(forMs: number): void {
    this.#wallOffsetMs += forMs;
    this.#uptimeOffsetMs += forMs;
  }

  /** Another boot: uptime begins at zero. Processes do not outlive it: that is the caller's to see to. */
  reboot(): void {
    this.#bootCount += 1;
    this.#uptimeOffsetMs = -this.time.nowMs;
  }
}

/** One process's clock. Without a machine it has one of its own. */
export class SimulatedClock implements Clock {
  readonly machine: SimulatedMachine;
  readonly bootId: string;
  readonly #startedAtMs: number;
  readonly #lateWakes: (() => void)[] = [];
  readonly #lateDeliveries: (() => void)[] = [];
  #isStopped = false;
  #isDead = false;

  constructor(machine: SimulatedMachine = new SimulatedMachine()) {
    this.machine = machine;
    this.bootId = machine.bootId;
    this.#startedAtMs = machine.time.nowMs;
  }

  wallMs(): number {
    return this.machine.wallMs;
  }

  monotonicMs(): number {
    return this.machine.time.nowMs - this.#startedAtMs;
  }

  uptimeMs(): number {
    return this.machine.uptimeMs;
  }

  wakeIn(delayMs: number, wake: () => void): { cancel(): void } {
    invariant(delayMs >= 0 && delayMs <= WAKE_MS_MAX, "a wake-up fits the platform's timer", {
      delayMs,
      delayMsMax: WAKE_MS_MAX,
    });
    return this.#in(delayMs, this.#lateWakes, wake);
  }

  /** Hands over what reaches the process from outside in `delayMs`: the network's part, not the Clock port's. */
  deliverIn(delayMs: number, take: () => void): { cancel(): void } {
    return this.#in(delayMs, this.#lateDeliveries, take);
  }

  #in(delayMs: number, late: (() => void)[], work: () => void): { cancel(): void } {
    let isCancelled = false;
    const run = (): void => {
      if (isCancelled || this.#isDead) return;
      if (this.#isStopped) late.push(run);
      else work();
    };
    const event = this.machine.time.in(delayMs, run);
    return {
      cancel: () => {
        isCancelled = true;
        event.cancel();
      },
    };
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Stops the process (SIGSTOP); see C2. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Lets it go on (SIGCONT). */
  goOn(): void {
    this.#isStopped = false;
    const late = [...this.#lateWakes.splice(0), ...this.#lateDeliveries.splice(0)];
    for (const run of late) this.machine.time.in(0, run);
  }

  /** Ends the process (SIGKILL); see C3. */
  kill(): void {
    this.#isDead = true;
  }

  /** Lets `ms` pass, for everybody. */
  advance(ms: number): Promise<void> {
    return this.machine.time.advance(ms);
  }

  /** See `SimulatedTime.runUntil`. */
  runUntil(isMet: () => boolean, withinMs: number): Promise<void> {
    return this.machine.time.runUntil(isMet, withinMs);
  }

  /** See `SimulatedTime.runUntilIdle`. */
  runUntilIdle(withinMs?: number): Promise<void> {
    return this.machine.time.runUntilIdle(withinMs);
  }

  stepWall(byMs: number): void {
    this.machine.stepWall(byMs);
  }

  suspend(forMs: number): void {
    this.machine.suspend(forMs);
  }
}
