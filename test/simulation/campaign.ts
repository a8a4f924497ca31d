/**
 * The campaign of lives: one seed after the other, a run of the journal and a run of the whole runtime from each.
 *
 * Owns: playing many, adding up, saying how far it is and how to see a failure again. Does not own: a run (journal/run.ts,
 * runtime/run.ts).
 */
import { parseArgs } from "node:util";
import { say } from "../support/say.ts";
import { complaintOf as journalComplaint } from "./journal/complaint.ts";
import { run as runJournal } from "./journal/run.ts";
import { type Figures, run as runRuntime, complaintOf as runtimeComplaint } from "./runtime/run.ts";

const LIVES_DEFAULT = 100_000;
const PROGRESS_MS = 10_000;

/** What is added up: of journal runs only the lives, of runtime runs everything. */
class Tally {
  readonly #startedAt = performance.now();
  readonly #cpu = process.cpuUsage();
  readonly #sums = new Map<string, number>();
  #saidAt = 0;
  seeds = 0;
  lives = 0;
  failures = 0;

  add(journalLives: number, figures: Figures): void {
    this.seeds += 1;
    this.lives += journalLives + figures.lives;
    this.#count("journal lives", journalLives);
    for (const [name, figure] of Object.entries(figures)) this.#count(name, figure);
  }

  #count(name: string, by: number): void {
    this.#sums.set(name, (this.#sums.get(name) ?? 0) + by);
  }

  sayIfDue(): void {
    if (performance.now() - this.#saidAt < PROGRESS_MS) return;
    this.#saidAt = performance.now();
    say(this.text());
  }

  text(): string {
    const seconds = (performance.now() - this.#startedAt) / 1_000;
    const { user, system } = process.cpuUsage(this.#cpu);
    const cpuSeconds = (user + system) / 1e6;
    const sums = [...this.#sums].map(([name, sum]) => `${sum} ${name}`);
    return [
      `${this.seeds} seeds, ${this.lives} lives, ${this.failures} failures`,
      `${seconds.toFixed(0)} s (${cpuSeconds.toFixed(0)} s of a core)`,
      `${(this.lives / seconds).toFixed(0)} lives/s`,
      ...sums,
    ].join(", ");
  }
}

/** Plays one seed; says what is wrong with it. */
async function play(seed: number, tally: Tally): Promise<void> {
  const [journal, runtime] = [await runJournal({ seed }), await runRuntime({ seed })];
  tally.add(journal.lifeCount, runtime.figures);
  const isSound = journal.violations.length + runtime.violations.length === 0;
  if (isSound) return;
  tally.failures += 1;
  if (journal.violations.length > 0) say(journalComplaint(journal));
  if (runtime.violations.length > 0) say(runtimeComplaint(runtime));
  say(`replay: npm run campaign -- lives --seed ${seed} --runs 1`);
}

/**
 * `--runs N`: seeds to play (default: until 100,000 lives were lived); `--seed S`: the first one (default 1).
 * Returns the exit code: 0, or 1 when a run failed.
 */
export async function campaign(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { runs: { type: "string" }, seed: { type: "string", default: "1" } },
  });
  const first = Number(values.seed);
  const runs = values.runs === undefined ? null : Number(values.runs);
  if (!Number.isSafeInteger(first) || (runs !== null && !(Number.isSafeInteger(runs) && runs > 0)))
    throw new RangeError("--seed and --runs: integers, and at least one run");
  const tally = new Tally();
  const isDone = () => (runs === null ? tally.lives >= LIVES_DEFAULT : tally.seeds >= runs);
  for (let seed = first; !isDone(); seed += 1) {
    await play(seed, tally);
    tally.sayIfDue();
  }
  say(tally.text());
  return tally.failures === 0 ? 0 : 1;
}
