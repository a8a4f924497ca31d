/**
 * A simulated world with owners of one partition in it.
 *
 * Owns: processes that take the partition, stage marked groups, and write down everything the journal tells them.
 */

import type { HoldfastError } from "../../../../actors/errors.ts";
import { Journal, type JournalNotice } from "../../../../actors/journal/journal.ts";
import type { LastMoment } from "../../../../actors/journal/journal-time.ts";
import type { Log } from "../../../../actors/journal/log.ts";
import type { ReadFault, ReadFence, ReadRecord } from "../../../../actors/journal/reader.ts";
import { SimulatedClock, SimulatedMachine } from "../../../../infra/simulated/clock.ts";
import { SimulatedIds } from "../../../../infra/simulated/ids.ts";
import { SimulatedLog } from "../../../../infra/simulated/log.ts";
import { Random } from "../../../../infra/simulated/random.ts";
import { SimulatedStore } from "../../../../infra/simulated/store.ts";
import { invariant } from "../../../../machines/invariant.ts";
import { FENCE_SUBJECT, type GroupOptions, markedGroup, markOf } from "./records.ts";

export type Decorate = (log: Log) => Log;

export class World {
  readonly machine: SimulatedMachine;
  readonly store: SimulatedStore;
  readonly random: Random;

  private constructor(store: SimulatedStore, random: Random) {
    this.machine = store.machine;
    this.store = store;
    this.random = random;
  }

  /** `seed`: draws latencies too; without one every hop takes 1 ms. `batchMax`: default 0, single messages only. */
  static async start(options: { seed?: number; batchMax?: number } = {}): Promise<World> {
    const { seed, batchMax = 0 } = options;
    const random = new Random(seed ?? 1);
    const store = await SimulatedStore.start({
      machine: new SimulatedMachine(),
      batchMax,
      ...(seed === undefined ? {} : { random: random.fork("latency") }),
    });
    return new World(store, random);
  }

  owner(name: string, decorate: Decorate = (log) => log): Owner {
    const clock = new SimulatedClock(this.machine);
    const log = new SimulatedLog(this.store, clock);
    const ids = new SimulatedIds(this.random.fork(name), clock);
    return new Owner(name, clock, decorate(log), ids);
  }

  /** An owner that has taken the partition and is open. */
  async opened(name: string, decorate?: Decorate): Promise<Owner> {
    const owner = this.owner(name, decorate);
    await this.settled(owner.take());
    owner.open();
    return owner;
  }

  advance(ms: number): Promise<void> {
    return this.machine.time.advance(ms);
  }

  until(isMet: () => boolean, withinMs = 60_000): Promise<void> {
    return this.machine.time.runUntil(isMet, withinMs);
  }

  /** Lets time pass until the promise is settled, and gives its result or throws its error. */
  async settled<Result>(promise: Promise<Result>, withinMs = 60_000): Promise<Result> {
    let isSettled = false;
    const done = (): void => {
      isSettled = true;
    };
    promise.then(done, done);
    await this.until(() => isSettled, withinMs);
    return promise;
  }

  /** Names of the groups that stand in the log, in order, one for each record of a mark. */
  marks(): string[] {
    return this.store.messages.flatMap(({ body }) => markOf(body)?.group ?? []);
  }
}

export class Owner {
  readonly name: string;
  readonly clock: SimulatedClock;
  readonly log: Log;
  readonly ended: HoldfastError[] = [];
  readonly notices: JournalNotice[] = [];
  /** Names of groups and barriers, as their callbacks came. */
  readonly acknowledged: string[] = [];
  readonly fences: ReadFence[] = [];
  readonly faults: ReadFault[] = [];
  /** What the take read. */
  readonly groups: (readonly ReadRecord[])[] = [];
  lastMoment: LastMoment | null = null;
  /** Called with each name that goes to `acknowledged`. */
  onAcknowledged: (name: string) => void = () => undefined;
  readonly #ids: SimulatedIds;
  #journal: Journal | null = null;

  constructor(name: string, clock: SimulatedClock, log: Log, ids: SimulatedIds) {
    this.name = name;
    this.clock = clock;
    this.log = log;
    this.#ids = ids;
  }

  get journal(): Journal {
    invariant(this.#journal !== null, "the partition was taken", { owner: this.name });
    return this.#journal;
  }

  get hasTaken(): boolean {
    return this.#journal !== null;
  }

  async take(): Promise<void> {
    this.#journal = await Journal.take(
      {
        log: this.log,
        clock: this.clock,
        ids: this.#ids,
        owner: this.name,
        durability: "fsync",
        fenceSubject: FENCE_SUBJECT,
        onEnd: (error) => this.ended.push(error),
        onNotice: (notice) => this.notices.push(notice),
      },
      {
        fence: (fence) => this.fences.push(fence),
        fault: (fault) => this.faults.push(fault),
        group: (records) => this.groups.push(records),
      },
    );
  }

  open(): void {
    this.journal.open(this.lastMoment);
  }

  /** Stages a group of records in these scopes; its name is written down when it is acknowledged. */
  stage(group: string, scopes: readonly string[] = ["task.w.j"], options: GroupOptions = {}): void {
    this.journal.append(markedGroup(group, scopes, options), () => this.#noted(group));
  }

  stageMany(count: number, name = "g"): string[] {
    const names = Array.from({ length: count }, (_, at) => `${name}${at + 1}`);
    for (const group of names) this.stage(group);
    return names;
  }

  barrier(name: string): void {
    this.journal.barrier(() => this.#noted(name));
  }

  #noted(name: string): void {
    this.acknowledged.push(name);
    this.onAcknowledged(name);
  }

  noticeKinds(): string[] {
    return this.notices.map(({ kind }) => kind);
  }

  /** The process dies: nothing is heard of it any more. */
  kill(): void {
    this.clock.kill();
    void this.log.close(); // Its sockets go with it.
  }
}
