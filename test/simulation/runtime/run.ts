/**
 * One run of the simulated world: a seed, several lives of the whole runtime on one log, and what befalls them.
 *
 * Owns: drawing what happens next, carrying out the weather. Does not own: what must hold (book.ts at the instant, judge.ts in
 * the end), one life's calls (life.ts).
 */

import { SimulatedMachine } from "../../../infra/simulated/clock.ts";
import { drawnFates } from "../../../infra/simulated/fates.ts";
import { Random } from "../../../infra/simulated/random.ts";
import { SimulatedStore } from "../../../infra/simulated/store.ts";
import { drawForeign } from "../journal/weather.ts";
import { Book, INVARIANTS, type Violation } from "./book.ts";
import { type Action, type Climate, drawClimate } from "./climate.ts";
import { judge } from "./judge.ts";
import { Life, type Plant } from "./life.ts";
import { DOER_TYPES, drawRoot, type RootPlan, TOOL_TYPES } from "./plans.ts";
import type { SentGroups } from "./tap.ts";

/** Actions of one run: enough for a handful of lives. */
const ACTIONS_MAX = 80;
const ROOTS_MAX = 9;
const TRACE_MAX = 80;

export interface RunOptions {
  readonly seed: number;
  readonly plant?: Plant;
}

export interface Figures {
  /** Owners that took the partition; some of them died over their recovery. */
  readonly lives: number;
  /** Owners that recovered and were ready. */
  readonly readyLives: number;
  readonly takeOvers: number;
  readonly crashes: number;
  readonly folds: number;
  readonly resyncs: number;
  readonly jobs: number;
  readonly attempts: number;
  readonly answers: number;
  readonly messages: number;
  readonly voids: number;
  readonly events: number;
}

export interface RunReport {
  readonly seed: number;
  readonly figures: Figures;
  /** Every kind of move that a job made: `<from> <event> <to>`. */
  readonly moves: ReadonlySet<string>;
  /** Empty when all is well. */
  readonly violations: readonly Violation[];
  /** The last things that happened. */
  readonly trace: readonly string[];
  /** Alike for runs that went alike. */
  readonly digest: () => string;
}

const VIOLATIONS_TOLD_MAX = 10;

/** What a failing run says: how to see it again, what was wrong, what happened before. */
export const complaintOf = ({ seed, violations, trace }: RunReport): string =>
  [
    `HOLDFAST_SEED=${seed} npx vitest run test/simulation/runtime/lives.test.ts`,
    ...violations
      .slice(0, VIOLATIONS_TOLD_MAX)
      .map(({ invariant, text }) => `${invariant} (${INVARIANTS[invariant]}): ${text}`),
    ...trace,
  ].join("\n");

export async function run(options: RunOptions): Promise<RunReport> {
  const random = new Random(options.seed);
  const climate = drawClimate(random.fork("climate"));
  const machine = new SimulatedMachine();
  const store = await SimulatedStore.start({
    machine,
    batchMax: climate.batchMax,
    random: random.fork("latency"),
  });
  return new Simulation(store, climate, random, options).play();
}

export class Simulation {
  readonly store: SimulatedStore;
  readonly book: Book;
  readonly climate: Climate;
  readonly lives: Life[] = [];
  /** What anybody sent, as it was sent. */
  readonly groups: SentGroups = new Map();
  readonly #options: RunOptions;
  readonly #root: Random;
  readonly #random: Random;
  readonly #roots: RootPlan[] = [];
  #foreignCount = 0;
  #crashes = 0;

  constructor(store: SimulatedStore, climate: Climate, random: Random, options: RunOptions) {
    this.store = store;
    this.climate = climate;
    this.book = new Book(store);
    this.#options = options;
    this.#root = random;
    this.#random = random.fork("actions");
    store.followLagMs = climate.followLagMs;
    const foreign = random.fork("foreign");
    store.fateOf = drawnFates(random.fork("fates"), climate.rates, () => this.#foreign(foreign));
  }

  get time() {
    return this.store.machine.time;
  }

  get random(): Random {
    return this.#random;
  }

  /** Lives that take commands. */
  get open(): readonly Life[] {
    return this.lives.filter(({ phase }) => phase === "open");
  }

  async play(): Promise<RunReport> {
    for (let count = 0; count < ACTIONS_MAX; count += 1) {
      if (!this.lives.some((life) => life.isAlive) && this.#isWorthStarting()) {
        this.begin();
        // Long enough for most to be ready, so that not all die over their start.
        if (this.#random.chance(0.7)) await this.time.advance(this.#random.integer(30, 150));
      }
      await this.#act(this.#random.weighted(this.climate.actions));
      if (this.#random.chance(0.1)) for (const life of this.open) life.checkFold();
    }
    const voids = await judge(this);
    return this.#report(voids);
  }

  #report(voids: number): RunReport {
    const { machine, messages } = this.store;
    const notices = this.lives.flatMap((life) => life.notices);
    const figures: Figures = {
      lives: this.lives.filter(({ tap }) => tap.toldPosition() > 0).length,
      readyLives: this.lives.filter(({ runtime }) => runtime !== null).length,
      takeOvers: this.lives.flatMap(({ ends }) => ends).filter(isFenced).length,
      crashes: this.#crashes,
      folds: this.lives.reduce((sum, life) => sum + life.foldCount, 0),
      resyncs: notices.filter(({ kind }) => kind === "resynced").length,
      jobs: this.book.facts.jobs.size,
      attempts: this.book.runCount,
      answers: this.book.answerCount,
      messages: messages.length,
      voids,
      events: machine.time.ranCount,
    };
    const moves = [...this.book.facts.jobs.values()].flatMap((job) =>
      job.moves.map(({ from, event, to }) => `${from} ${event.type.replace("job.", "")} ${to}`),
    );
    const facts = () => [
      machine.time.nowMs,
      machine.time.ranCount,
      figures,
      messages.map(({ id, subject, frame }) => `${id} ${subject} ${frame}`),
      this.lives.map(({ phase, ends }) => [phase, ends.map(String)]),
      notices.map(({ kind }) => kind),
      [...this.book.ran],
      this.book.trace,
    ];
    return {
      seed: this.#options.seed,
      figures,
      moves: new Set(moves),
      violations: this.book.violations,
      trace: this.book.trace.slice(-TRACE_MAX),
      digest: () => JSON.stringify(facts()),
    };
  }

  /** Whoever starts while the store is away fails, which is seen often enough. */
  #isWorthStarting(): boolean {
    const { isUp, isFull, isSilent } = this.store;
    return (isUp && !isFull && !isSilent) || this.#random.chance(0.1);
  }

  /** `isComplete`: it knows every type. */
  begin(isComplete = this.#random.chance(0.85)): Life {
    const life = new Life({
      name: `L${this.lives.length + 1}`,
      store: this.store,
      random: this.#root,
      book: this.book,
      groups: this.groups,
      durability: this.climate.durability,
      lacks: isComplete ? null : this.#random.pick([...TOOL_TYPES, ...DOER_TYPES]),
      plant: this.#options.plant ?? {},
    });
    this.lives.push(life);
    this.note(`${life.name} starts`);
    return life;
  }

  note(what: string): void {
    this.book.trace.push(
      `${Math.round(this.time.nowMs)} ms, ${this.store.messages.length}: ${what}`,
    );
  }

  async #act(action: Action): Promise<void> {
    const random = this.#random;
    switch (action) {
      case "pass":
        return this.time.advance(random.integer(0, 12));
      case "step":
        for (let left = random.integer(1, 4); left > 0; left -= 1) await this.time.step();
        return;
      case "wait":
        return this.time.advance(random.integer(20, 1_500));
      case "waitLong":
        return this.time.advance(random.integer(4_000, 12_000));
      case "take":
        this.begin();
        return;
      case "submit":
      case "resubmit":
      case "command":
        return this.#ask(action);
      case "kill":
      case "killSoon":
      case "freeze":
      case "detach":
      case "shutdown":
        return this.#strike(action);
      default:
        this.note(action);
        return this.#befall(action);
    }
  }

  #ask(action: "submit" | "resubmit" | "command"): void {
    const random = this.#random;
    // Now and then somebody asks an owner that is stopping, or is over and does not know who asks.
    const isLate = random.chance(0.05);
    const asked = this.lives.filter(({ phase, clock, runtime }) => {
      return phase === "open" || (isLate && runtime !== null && !clock.isDead);
    });
    if (asked.length === 0) return;
    const life = random.pick(asked);
    if (action === "command") {
      // Several at once race for the same job now and then.
      for (let left = random.pick([1, 1, 1, 2, 3]); left > 0; left -= 1) this.command(life);
      return;
    }
    if (action === "submit") {
      if (this.#roots.length >= ROOTS_MAX) return;
      const known = [...this.book.facts.jobs.keys()];
      const root = drawRoot(random, this.#roots.length + 1, known);
      this.#roots.push(root);
      this.note(`submit ${root.id ?? root.job.type} to ${life.name}`);
      life.submit(root);
      if (random.chance(0.1)) life.submit(root); // Twice in one instant.
      return;
    }
    const chosen = this.#roots.filter(({ id }) => id !== null);
    if (chosen.length === 0) return;
    const root = random.pick(chosen);
    this.note(`submit ${root.id} again to ${life.name}`);
    // The same content is the same job, other content is a conflict.
    const other = drawRoot(random, 0, []);
    life.submit(random.chance(0.8) ? root : { ...other, id: root.id });
  }

  /** A person's word on some job. */
  command(life: Life): void {
    const random = this.#random;
    const jobs = [...this.book.facts.jobs.values()];
    if (jobs.length === 0) return;
    // The newest are the likeliest to be live.
    const job = random.pick(random.chance(0.5) ? jobs.slice(-4) : jobs);
    const { id } = job;
    switch (random.weighted({ cancel: 2, find: 2, look: 2, resolve: 3, answer: 3 })) {
      case "cancel":
        this.note(`cancel ${id} at ${life.name}`);
        return life.cancel(id);
      case "find":
        return life.find(id);
      case "look":
        return life.look(id, random.chance(0.4));
      case "resolve": {
        const lost = jobs.filter(({ state }) => state === "interrupted");
        return this.resolve(life, (lost.length === 0 ? job : random.pick(lost)).id);
      }
      case "answer": {
        const asking = jobs.filter(({ end, moves }) => {
          return end === null && moves.some(({ event }) => event.type === "job.waitDeclared");
        });
        return this.answer(life, (asking.length === 0 ? job : random.pick(asking)).id);
      }
    }
  }

  resolve(life: Life, job: string): void {
    const kind = this.#random.weighted({ retry: 3, completed: 1, failed: 1 });
    this.note(`resolve ${job} as ${kind} at ${life.name}`);
    if (kind === "completed") life.resolve(job, { kind, result: `word on ${job}` });
    else if (kind === "failed") life.resolve(job, { kind, message: "seen to fail" });
    else life.resolve(job, { kind });
  }

  /** Says of those that have ended that it is known what they did. */
  tell(life: Life, jobs: readonly string[]): void {
    for (const job of jobs)
      if (this.book.facts.job(job).end !== null) life.resolve(job, { kind: "known" });
  }

  /** Answers whatever the job waits for. */
  answer(life: Life, job: string): void {
    const awaited = life.world?.cells.task(job)?.job.now.context.awaited ?? [];
    for (const name of awaited.length === 0 ? ["nothing"] : awaited) {
      this.note(`answer ${name} of ${job} at ${life.name}`);
      life.answer(job, name, `answer ${this.#random.integer(1, 1_000_000)}`);
    }
  }

  #strike(action: "kill" | "killSoon" | "freeze" | "detach" | "shutdown"): void {
    const random = this.#random;
    const alive = this.lives.filter((life) => life.isAlive);
    if (alive.length === 0) return;
    const life = random.pick(alive);
    this.note(`${action} ${life.name}`);
    switch (action) {
      case "kill":
        return this.kill(life);
      case "killSoon":
        this.time.in(random.integer(0, 15), () => {
          if (life.isAlive) this.kill(life);
        });
        return;
      case "freeze": {
        const { clock } = life;
        clock.stop();
        this.time.in(random.integer(1, 15_000), () => clock.goOn());
        return;
      }
      default:
        void life.stop(action, random.pick([0, 50, 3_000]), random.chance(0.7));
    }
  }

  kill(life: Life): void {
    this.#crashes += 1;
    life.kill();
  }

  /** What strikes the server, the machine, or the network. */
  async #befall(action: Action): Promise<void> {
    const { store, climate } = this;
    const { machine } = store;
    const random = this.#random;
    const underWay = random.chance(0.5) ? "arrives" : "isLost";
    const later = (msMax: number, undo: () => void) => this.time.in(random.integer(0, msMax), undo);
    switch (action) {
      case "breakConnections":
        return store.breakConnections("the network broke", underWay);
      case "restart":
        store.stop(underWay);
        later(5_000, () => store.start());
        return;
      case "cutPower":
        return this.#cutPower();
      case "fill":
        store.isFull = true;
        later(5_000, () => {
          store.isFull = false;
        });
        return;
      case "hush":
        store.isSilent = true;
        store.isDeaf = random.chance(0.3);
        later(12_000, () => {
          store.isSilent = false;
          store.isDeaf = false;
        });
        return;
      case "foreign":
        return store.storeForeign(this.#foreign(random));
      case "stepWall":
        return machine.stepWall(random.integer(-3_600_000, 3_600_000));
      case "suspend":
        return machine.suspend(random.integer(1, 3_600_000));
      case "reboot":
        for (const life of this.lives) if (life.isAlive) this.kill(life);
        for (const { clock } of this.lives) clock.kill();
        await this.#cutPower();
        return machine.reboot();
      default:
        throw new RangeError(`no such weather in ${climate.durability}: ${action}`);
    }
  }

  /** An id of its own, so that the judge knows what the weather put there. */
  #foreign(random: Random) {
    this.#foreignCount += 1;
    return { ...drawForeign(random), id: `foreign.${this.#foreignCount}` };
  }

  /** Takes messages off the log's end: only what nobody was told of, unless the climate is lossy. */
  async #cutPower(): Promise<void> {
    const { store, book, climate } = this;
    const told = this.lives.map(({ tap }) => tap.toldPosition());
    const { length } = store.messages;
    const unheard = Math.max(0, length - Math.max(0, ...told));
    const count = this.#random.integer(0, climate.isLossy ? 12 : unheard);
    const kept = Math.max(0, length - count);
    await store.cutPower(count);
    const lost = book.facts.forget();
    if (climate.isLossy) book.forgive(lost);
    for (const [at, life] of this.lives.entries()) if ((told[at] ?? 0) > kept) life.hasLost = true;
    this.time.in(this.#random.integer(0, 3_000), () => store.start());
    this.note(`${count} messages of ${length} are lost`);
  }
}

const isFenced = (end: unknown): boolean => (end as { code?: string }).code === "fenced"; // Whatever ended it.
