/**
 * One run of the simulated world: a seed, several lives on one log, and what must hold in the end.
 *
 * Owns: carrying out what the weather brings, and the verdict. Does not own: one life's own promises (life.ts).
 *
 * In the end, when all is calm again:
 * V1. Exactly one owner is left, that of the latest fence, and everything it staged is acknowledged.
 * V2. The log reads without a halt: groups whole, none twice, journal time never going back; a reader of all scopes agrees.
 * V3. Of each life a prefix of what it staged is valid, in the order of staging, and lives follow each other as their takes do.
 * V4. Every group that was called back is there, except what a power cut took.
 * V5. A life that was told something is in the log which a power cut took has ended.
 * V6. Who was fenced was so by a later fence than its own; nobody ended for another reason without such a cut.
 */
import { drawnFates } from "../../../infra/simulated/fates.ts";
import { Random } from "../../../infra/simulated/random.ts";
import { type Decorate, type Owner, World } from "../../unit/journal/rig/owner.ts";
import { PREFIX } from "../../unit/journal/rig/records.ts";
import { judge, type Verdict } from "../../unit/journal/rig/verdict.ts";
import { describe, isOrderlyEnd, Life } from "./life.ts";
import { StoredGroups } from "./stored-groups.ts";
import { type Action, type Climate, drawClimate, drawForeign } from "./weather.ts";

/** Actions of one run: enough for a handful of lives. */
const ACTIONS_MAX = 90;
const TRACE_MAX = 60;
/** In calm weather everything comes to an end within this, ms. */
const CALM_MS_MAX = 120_000;

export interface RunOptions {
  readonly seed: number;
  /** Puts something between the journal and its log, in every life. */
  readonly decorate?: Decorate;
}

export interface RunReport {
  readonly seed: number;
  readonly lifeCount: number;
  readonly messageCount: number;
  readonly resyncCount: number;
  readonly eventCount: number;
  /** Empty when all is well. */
  readonly violations: readonly string[];
  /** The last things that happened. */
  readonly trace: readonly string[];
  /** Alike for runs that went alike. */
  readonly digest: () => string;
}

export async function run(options: RunOptions): Promise<RunReport> {
  const { seed } = options;
  const climate = drawClimate(new Random(seed).fork("climate"));
  const world = await World.start({ seed, batchMax: climate.batchMax });
  const simulation = new Simulation(world, climate, options);
  await simulation.play();
  return simulation.report();
}

class Simulation {
  readonly #world: World;
  readonly #options: RunOptions;
  readonly #random: Random;
  readonly #climate: Climate;
  readonly #stored: StoredGroups;
  readonly #lives: Life[] = [];
  readonly #lost = new Set<string>();
  readonly #violations: string[] = [];
  readonly #trace: string[] = [];

  constructor(world: World, climate: Climate, options: RunOptions) {
    this.#world = world;
    this.#options = options;
    this.#random = world.random.fork("actions");
    this.#climate = climate;
    this.#stored = new StoredGroups(world.store);
    world.store.followLagMs = this.#climate.followLagMs;
    const foreign = world.random.fork("foreign");
    world.store.fateOf = drawnFates(world.random.fork("fates"), this.#climate.rates, () =>
      drawForeign(foreign),
    );
  }

  async play(): Promise<void> {
    for (let count = 0; count < ACTIONS_MAX; count += 1) {
      if (!this.#lives.some((life) => life.isAlive)) this.#begin();
      await this.#act(this.#random.weighted(this.#climate.actions));
    }
    await this.#calm();
    await this.#judge();
  }

  report(): RunReport {
    const { machine, store } = this.#world;
    const owners = this.#lives.map(({ owner }) => owner);
    const resyncs = owners
      .flatMap(({ notices }) => notices)
      .filter(({ kind }) => kind === "resynced");
    const facts = () => [
      machine.time.nowMs,
      machine.time.ranCount,
      store.messages.map(({ id, subject }) => `${id} ${subject}`),
      owners.map((owner) => [owner.acknowledged, owner.noticeKinds(), owner.ended.map(describe)]),
    ];
    return {
      seed: this.#options.seed,
      lifeCount: this.#lives.length,
      messageCount: store.messages.length,
      resyncCount: resyncs.length,
      eventCount: machine.time.ranCount,
      violations: [...this.#lives.flatMap((life) => life.violations), ...this.#violations],
      trace: this.#trace.slice(-TRACE_MAX),
      digest: () => JSON.stringify(facts()),
    };
  }

  #begin(): void {
    const name = `L${this.#lives.length + 1}`;
    const owner = this.#world.owner(name, this.#options.decorate);
    this.#lives.push(new Life(owner, this.#stored));
    this.#note(`${name} takes`);
  }

  /** One of the lives that may still act; null: none is open. */
  #pick(): Life | null {
    const open = this.#lives.filter((life) => life.phase === "open");
    return open.length === 0 ? null : this.#random.pick(open);
  }

  async #act(action: Action): Promise<void> {
    const random = this.#random;
    switch (action) {
      case "stage":
        return this.#stage(this.#pick());
      case "barrier":
        return this.#pick()?.barrier();
      case "pass":
        return this.#world.advance(random.integer(0, 12));
      case "wait":
        return this.#world.advance(random.integer(20, 1_500));
      case "waitLong":
        return this.#world.advance(random.integer(4_000, 12_000));
      case "take":
        return this.#begin();
      case "kill":
      case "close":
      case "freeze":
        return this.#strike(action, random.pick(this.#lives));
      default:
        this.#note(action);
        return this.#befall(action);
    }
  }

  #stage(life: Life | null): void {
    if (life === null) return;
    const count = this.#random.integer(1, 8);
    for (let group = 0; group < count; group += 1)
      life.stage(this.#random.integer(1, this.#climate.partsMax));
  }

  #strike(action: "kill" | "close" | "freeze", life: Life): void {
    if (!life.isAlive || (action === "close" && life.phase !== "open")) return;
    this.#note(`${action} ${life.name}`);
    if (action === "kill") life.kill();
    else if (action === "close") life.close();
    else {
      const { clock } = life.owner;
      clock.stop();
      this.#world.machine.time.in(this.#random.integer(1, 15_000), () => clock.goOn());
    }
  }

  /** What strikes the server, the machine, or the network. */
  async #befall(action: Action): Promise<void> {
    const { store, machine } = this.#world;
    const random = this.#random;
    const underWay = random.chance(0.5) ? "arrives" : "isLost";
    const later = (undo: () => void) => machine.time.in(random.integer(0, 5_000), undo);
    switch (action) {
      case "breakConnections":
        return store.breakConnections("the network broke", underWay);
      case "restart":
        store.stop(underWay);
        later(() => store.start());
        return;
      case "cutPower":
        return this.#cutPower();
      case "fill":
        store.isFull = true;
        later(() => {
          store.isFull = false;
        });
        return;
      case "hush":
        store.isSilent = true;
        store.isDeaf = random.chance(0.3);
        machine.time.in(random.integer(0, 12_000), () => {
          store.isSilent = false;
          store.isDeaf = false;
        });
        return;
      case "foreign":
        return store.storeForeign(drawForeign(random));
      case "stepWall":
        return machine.stepWall(random.integer(-3_600_000, 3_600_000));
      case "suspend":
        return machine.suspend(random.integer(1, 3_600_000));
      case "reboot":
        for (const life of this.#lives) if (life.isAlive) life.kill();
        await this.#cutPower();
        return machine.reboot();
      default:
        throw new Error(`no such weather: ${action}`);
    }
  }

  /** Takes messages off the log's end: only what nobody was told of, unless the climate is lossy. */
  async #cutPower(): Promise<void> {
    const { store, machine } = this.#world;
    const told = this.#lives.map(({ owner }) =>
      owner.hasTaken ? owner.journal.acknowledgedPosition : 0,
    );
    // A take that is under way may have been told of its fence, and of nothing else.
    const isTaking = this.#lives.some((life) => life.phase === "taking");
    const length = store.messages.length;
    const unheard = isTaking ? 0 : Math.max(0, length - Math.max(0, ...told));
    const count = this.#random.integer(0, this.#climate.isLossy ? 12 : unheard);
    const kept = Math.max(0, length - count);
    const before = this.#lives.map((life) => life.acknowledgedGroups);
    await store.cutPower(count);
    this.#stored.forget();
    for (const [at, life] of this.#lives.entries()) {
      const gone = (before[at] ?? []).filter((group) => !this.#stored.hasWhole(group));
      for (const group of gone) this.#lost.add(group);
      if ((told[at] ?? 0) > kept) life.hasLost = true;
    }
    machine.time.in(this.#random.integer(0, 3_000), () => store.start());
    this.#note(`${count} messages of ${length} are lost`);
  }

  /** Ends every fault, and lets what is under way come to its end. */
  async #calm(): Promise<void> {
    const { store, machine } = this.#world;
    this.#note("calm");
    store.fateOf = () => ({ kind: "deliver" });
    store.followLagMs = 0;
    // Frozen lives go on and servers come back by themselves within this.
    await machine.time.advance(20_000);
    if (!this.#lives.some((life) => life.isAlive)) this.#begin();
    const isQuiet = (): boolean =>
      this.#lives.every((life) => life.phase !== "taking" && this.#isDrained(life));
    try {
      await machine.time.runUntil(isQuiet, CALM_MS_MAX);
      // Whoever has nothing to append sees a rival's fence alone.
      await machine.time.advance(1_000);
    } catch {
      this.#violations.push("something hangs in calm weather");
    }
  }

  #isDrained({ phase, owner }: Life): boolean {
    return phase !== "open" || owner.journal.pendingCount === 0;
  }

  async #judge(): Promise<void> {
    const verdict = judge(this.#world.store.messages);
    this.#violations.push(...verdict.wrong);
    this.#judgeEnds();
    this.#judgeOrder(verdict);
    const valid = new Set(verdict.names);
    for (const life of this.#lives) {
      const missing = life.acknowledgedGroups.filter(
        (name) => !valid.has(name) && !this.#lost.has(name),
      );
      if (missing.length > 0)
        this.#violations.push(`${missing} were acknowledged and are not there`);
    }
    await this.#judgeSurvivor(verdict);
  }

  /** V6. */
  #judgeEnds(): void {
    for (const { name, owner, hasLost, takeError } of this.#lives) {
      if (owner.ended.length > 1) this.#violations.push(`${name} ended twice`);
      const ends: readonly unknown[] = takeError === null ? owner.ended : [takeError];
      for (const error of ends) {
        const fence = owner.hasTaken ? owner.journal.fencePosition : owner.fences.at(-1)?.position;
        if (!isOrderlyEnd(error, { hasLost, fence: fence ?? 0 }))
          this.#violations.push(`${name}, fenced at ${fence}, ended by ${describe(error)}`);
      }
    }
  }

  /** V3. */
  #judgeOrder({ names }: Verdict): void {
    const lives = names.map((name) => Number(name.slice(1).split(".")[0]));
    const order = [...new Set(lives)];
    const runs = lives.filter((life, at) => life !== lives[at - 1]);
    if (runs.length !== order.length) this.#violations.push(`lives are mixed: ${runs}`);
    for (const life of this.#lives) {
      const found = names.filter((name) => name.startsWith(`${life.name}.`));
      const prefix = life.staged.slice(0, found.length);
      if (found.join() !== prefix.join())
        this.#violations.push(`of ${life.name} ${found} are valid, not ${prefix}`);
    }
  }

  /** V1, V5, and V2's reader of all scopes. */
  async #judgeSurvivor({ epochs }: Verdict): Promise<void> {
    const left = this.#lives.filter((life) => life.isAlive);
    const [survivor] = left;
    if (left.length !== 1 || survivor === undefined) {
      this.#violations.push(`left are ${left.map(({ name }) => name)}, not one`);
      return;
    }
    const { owner, hasLost } = survivor;
    if (hasLost)
      this.#violations.push(`${owner.name} goes on though the log lost what it was told`);
    const [fence, last] = [owner.journal.fencePosition, epochs.at(-1)?.fence];
    if (fence !== last)
      this.#violations.push(`${owner.name} owns ${fence}, the last fence is ${last}`);
    if (survivor.acknowledgedGroups.length !== survivor.staged.length)
      this.#violations.push(`${owner.name} has groups that nobody acknowledged`);
    const expected = epochs.flatMap(({ groups }) =>
      groups.flatMap(({ messages }) => messages.map(({ sequence }) => sequence)),
    );
    const read = await this.#readAll(owner);
    if (read.join() !== expected.join())
      this.#violations.push(`by scope ${read} are read, not ${expected}`);
  }

  async #readAll(owner: Owner): Promise<number[]> {
    const positions: number[] = [];
    const reading = owner.journal.readScopes([`${PREFIX}>`], ({ position }) =>
      positions.push(position),
    );
    await this.#world.settled(reading);
    return positions;
  }

  #note(what: string): void {
    this.#trace.push(`${Math.round(this.#world.machine.time.nowMs)} ms: ${what}`);
  }
}
