/**
 * The campaign of kills: cycles of SIGKILL on the daemon and on the server, at random moments, under load.
 *
 * Owns: the cycles, gathering what the judgement needs, the figures. Does not own: what must hold (judgement.ts, log-laws.ts,
 * `holdfast verify`), how it is asked (load.ts).
 *
 * usage: npm run campaign -- kills [--cycles 200] [--seed S] [--durability process|fsync]
 *
 * C1. The seed decides what is killed and when after the beginning of a cycle; what runs at that moment is the machine's.
 * C2. The check behind `holdfast verify` runs after each cycle, the command itself at the end of each stretch.
 * C3. A folder serves STRETCH cycles, so that histories grow and yet a campaign of any length takes bounded memory.
 */
import { cpSync, readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import type { Durability } from "../../../actors/journal/codec.ts";
import type { StoredMessage } from "../../../actors/journal/log.ts";
import { Random } from "../../../infra/simulated/random.ts";
import { LogCheck } from "../../../infra/verify/log-check.ts";
import { openFolderSource } from "../../../infra/verify/source.ts";
import { buildProgram } from "../../acceptance/cli/workplace.ts";
import { assertLaws, historiesOf } from "../../support/log-laws.ts";
import { type Asked, changesOf, countsOf, effectsIn, endedIn, faultsOf } from "./judgement.ts";
import { Load, outcomeText, recordOf } from "./load.ts";
import { Stage } from "./stage.ts";

const CYCLES_DEFAULT = 200;
const STRETCH = 25;
/** Jobs that are asked for again after each cycle: the newest, and some of those of earlier cycles. */
const NEW_ONES = 40;
const OLD_ONES = 20;
const ASKED_AT_ONCE = 20;

export interface KillsOptions {
  readonly cycles: number;
  readonly seed: number;
  readonly durability: Durability;
  readonly print: (line: string) => void;
}

export interface KillsReport {
  /** Everything that did not hold, one sentence each. Empty: all held. */
  readonly faults: readonly string[];
  readonly figures: Readonly<Record<string, number>>;
}

const print = (line: string): void => {
  process.stdout.write(`${line}\n`);
};

/** The entry of `npm run campaign -- kills`. The exit code: 0 when everything held. */
export async function campaign(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      cycles: { type: "string", default: String(CYCLES_DEFAULT) },
      seed: { type: "string", default: String(Date.now() % 1_000_000) },
      durability: { type: "string", default: "process" },
    },
  });
  const cycles = Number(values.cycles);
  const seed = Number(values.seed);
  const { durability } = values;
  if (!Number.isInteger(cycles) || cycles < 1) throw new Error(`--cycles ${values.cycles}`);
  if (!Number.isInteger(seed)) throw new Error(`--seed ${values.seed}`);
  if (durability !== "process" && durability !== "fsync")
    throw new Error(`--durability ${durability}`);
  const { faults, figures } = await runKills({ cycles, seed, durability, print });
  for (const [name, value] of Object.entries(figures)) print(`${name.padEnd(34)} ${value}`);
  for (const fault of faults) print(`FAULT ${fault}`);
  print(
    faults.length === 0
      ? `all held: npm run campaign -- kills --cycles ${cycles} --seed ${seed} --durability ${durability}`
      : `${faults.length} faults: npm run campaign -- kills --cycles ${cycles} --seed ${seed} --durability ${durability}`,
  );
  return faults.length === 0 ? 0 : 1;
}

export async function runKills(options: KillsOptions): Promise<KillsReport> {
  buildProgram();
  const random = new Random(options.seed);
  const faults: string[] = [];
  const figures = new Figures();
  for (let done = 0; done < options.cycles && faults.length === 0; done += STRETCH) {
    const stretch = new Stretch(await Stage.open(options.durability), random, figures);
    const cycles = Math.min(STRETCH, options.cycles - done);
    try {
      faults.push(...(await stretch.play(cycles, done, options.print)));
      if (faults.length > 0) options.print(`the log and the effects are kept in ${stretch.keep()}`);
    } finally {
      await stretch.clear();
    }
  }
  return { faults, figures: figures.all };
}

class Figures {
  readonly #counts = new Map<string, number>();
  readonly #backMs: number[] = [];

  add(name: string, count = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + count);
  }

  back(ms: number): void {
    this.#backMs.push(ms);
  }

  get all(): Readonly<Record<string, number>> {
    const sorted = [...this.#backMs].sort((a, b) => a - b);
    return {
      ...Object.fromEntries(this.#counts),
      "kill to next result, median ms": Math.round(sorted[sorted.length >> 1] ?? 0),
      "kill to next result, longest ms": Math.round(sorted.at(-1) ?? 0),
    };
  }
}

type Target = "daemon" | "server" | "both";

/** Cycles on one folder. */
class Stretch {
  readonly #stage: Stage;
  readonly #random: Random;
  readonly #figures: Figures;
  readonly #load: Load;
  #messages: readonly StoredMessage[] = [];

  constructor(stage: Stage, random: Random, figures: Figures) {
    this.#stage = stage;
    this.#random = random;
    this.#figures = figures;
    this.#load = new Load(stage, () => this.#effectText(), random.fork("load"));
  }

  async play(
    cycles: number,
    from: number,
    print: (line: string) => void,
  ): Promise<readonly string[]> {
    await this.#stage.up();
    for (let cycle = 1; cycle <= cycles; cycle += 1) {
      const told = await this.#cycle();
      const found = await this.#judge(cycle === cycles);
      print(`cycle ${from + cycle}: ${told}; ${found.length} faults`);
      if (found.length > 0) return found.map((fault) => `cycle ${from + cycle}: ${fault}`);
    }
    this.#count();
    return [];
  }

  /** A copy of the folder, for whoever looks at a fault. */
  keep(): string {
    const { folder } = this.#stage.place;
    const kept = `${folder}-kept`;
    cpSync(folder, kept, { recursive: true });
    return kept;
  }

  async clear(): Promise<void> {
    await this.#stage.clear();
  }

  async #cycle(): Promise<string> {
    const random = this.#random;
    const before = this.#load.asked.size;
    this.#load.start();
    await pause(random.integer(20, 500));
    const target = random.weighted<Target>({ daemon: 4, server: 4, both: 2 });
    const killedAt = performance.now();
    await this.#kill(target);
    // Until a result arrives that was asked for after the kill.
    while (this.#load.resultAskedAt <= killedAt && performance.now() - killedAt < 30_000)
      await pause(2);
    const backMs = performance.now() - killedAt;
    this.#figures.back(backMs);
    await pause(random.integer(0, 150));
    await this.#load.drain();
    this.#figures.add("cycles");
    this.#figures.add(`kills of ${target}`);
    return `${target} killed, back after ${Math.round(backMs)} ms, ${this.#load.asked.size - before} jobs`;
  }

  async #kill(target: Target): Promise<void> {
    if (target !== "daemon") await this.#stage.killServer();
    if (target === "server") return;
    await this.#stage.killDaemon();
    // Now and then those that come up, and recover, are killed too.
    const again = this.#random.chance(0.3) ? [this.#random.integer(50, 900)] : [];
    this.#figures.add("kills of a daemon coming up", again.length);
    await this.#stage.up(again);
  }

  async #judge(isLast: boolean): Promise<readonly string[]> {
    const { stuck, asked, marks } = this.#load;
    const faults = stuck.map((job) => `${job} does not end`);
    faults.push(...this.#stage.deaths.splice(0).map((said) => `a daemon ended by itself: ${said}`));
    const messages = await this.#readLog();
    faults.push(...changesOf(this.#messages, messages));
    this.#messages = messages;
    const effects = effectsIn(this.#effectText());
    try {
      assertLaws(messages);
    } catch (error) {
      faults.push(`a law of the log: ${error instanceof Error ? error.message : String(error)}`);
    }
    const histories = historiesOf(messages);
    faults.push(...faultsOf({ asked: asked.values(), effects, histories, marks }));
    const counts = countsOf(effects);
    for (const job of endedIn(histories)) if (!marks.has(job)) marks.set(job, counts.get(job) ?? 0);
    faults.push(...verdictOf(messages), ...(await this.#askAgain(isLast)));
    if (isLast) faults.push(...(await this.#verify()));
    this.#figures.add("logs checked");
    return faults;
  }

  /** What ended stands as it was told, and asking for it starts nothing: that is seen in the next cycle's effects. */
  async #askAgain(isLast: boolean): Promise<readonly string[]> {
    const all = [...this.#load.asked.values()];
    const chosen = all.filter(
      (_, at) => isLast || all.length - at <= NEW_ONES || this.#isChosen(all),
    );
    this.#figures.add("records and results asked again", chosen.length);
    const faults: string[] = [];
    for (let from = 0; from < chosen.length; from += ASKED_AT_ONCE)
      faults.push(...(await this.#askFor(chosen.slice(from, from + ASKED_AT_ONCE))));
    return faults;
  }

  async #askFor(jobs: readonly Asked[]): Promise<readonly string[]> {
    const { client } = this.#stage;
    const faults = await Promise.all(
      jobs.map(async ({ id, type, input, outcome, record }) => {
        const answer = await client?.submit({ id, type, input, wait: 5_000 });
        const now = answer?.ok === true && answer.outcome ? outcomeText(answer.outcome) : null;
        const read = await recordOf(client, id);
        return [
          ...(now === outcome ? [] : [`${id}: ${outcome} was told, now ${now} is`]),
          ...(read === record ? [] : [`${id}: its record was ${record}, now it is ${read}`]),
        ];
      }),
    );
    return faults.flat();
  }

  #isChosen(all: readonly unknown[]): boolean {
    return this.#random.chance(OLD_ONES / all.length);
  }

  /** By the command itself, beside the daemon that runs. */
  async #verify(): Promise<readonly string[]> {
    const { code, stdout, stderr } = await this.#stage.place.run(["verify", "--json"]);
    this.#figures.add("runs of holdfast verify");
    return code === 0 ? [] : [`holdfast verify ends with ${code}: ${stdout}${stderr}`];
  }

  async #readLog(): Promise<readonly StoredMessage[]> {
    const { dataDir } = this.#stage.place;
    await using source = await openFolderSource({ dataDir, onProgress: () => undefined });
    const messages: StoredMessage[] = [];
    await source.log.read({ from: 1 }, (message) => messages.push(message));
    return messages;
  }

  #effectText(): string {
    try {
      return readFileSync(this.#stage.place.path("effects"), "utf8");
    } catch {
      return ""; // No job has run yet.
    }
  }

  #count(): void {
    const { asked, resolved } = this.#load;
    const histories = historiesOf(this.#messages);
    const moves = [...histories.values()].flat();
    const figures = this.#figures;
    figures.add("jobs asked for", asked.size);
    figures.add("jobs in the log", endedIn(histories).length);
    figures.add("transitions", moves.length);
    figures.add("messages", this.#messages.length);
    figures.add("effects", effectsIn(this.#effectText()).length);
    figures.add("attempts interrupted", countOf(moves, "job.interrupted"));
    figures.add("attempts run again", countOf(moves, "job.rerunScheduled"));
    figures.add("ends said by a person", resolved);
    figures.add("starts of a daemon that failed", this.#stage.failedStarts);
  }
}

/** The check behind `holdfast verify`, of a log that is read already. */
function verdictOf(messages: readonly StoredMessage[]): readonly string[] {
  const check = new LogCheck();
  for (const message of messages) check.push(message);
  const { ok, findings } = check.finish();
  return ok ? [] : findings.map((finding) => `verify: ${JSON.stringify(finding)}`);
}

const countOf = (moves: readonly { readonly event: { readonly type: string } }[], type: string) =>
  moves.filter(({ event }) => event.type === type).length;
