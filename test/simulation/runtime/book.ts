/**
 * The book of a run: what the world saw of its jobs, held against what the log says, at the instant it was seen.
 *
 * Owns: the invariants by name, what code ran under which id, what callers were told. Does not own: what is only known in the
 * end (judge.ts).
 *
 * B1. What a lossy power cut took of a job forgives what was seen of that job before; nothing else does.
 */
import type { ToolContext } from "../../../actors/attempt/context.ts";
import type { SimulatedStore } from "../../../infra/simulated/store.ts";
import { Facts, fieldsOf, sameJson } from "./facts.ts";

/** Each is checked wherever it can be broken. */
export const INVARIANTS = {
  "log-clean": "an independent check of the log finds only what the weather put there",
  "readers-agree": "the runtime's reader and the check give one verdict on every message",
  "groups-whole": "what a turn wrote is valid together or not at all",
  "fold-is-live": "whenever all is acknowledged, a fold of the log is what lives in memory",
  "effects-after-ack":
    "code runs only when the log has its start, under the owner that was told so",
  "one-id": "an attempt runs once",
  "at-least-once": "a start that was acknowledged to a living owner is run",
  "unknown-stays": "what is not safe to retry runs again only when a person ordered it",
  "steps-once": "the work of a step that is recorded is not done again",
  "no-early-timer": "no timeout comes before its instant in journal time",
  ordinals: "children of two steps of one parent share no ordinal",
  "terminal-stays": "a job is submitted once and ends once, and every caller hears the same end",
  "answers-acknowledged": "every answer rests on what the log has",
  "ends-orderly":
    "an owner ends only when it is fenced later, stopped, or the log lost what it was told",
  "no-defect": "nobody is told of a defect",
  settles: "in calm weather every job settles, or stands where its class says",
  "nothing-hangs": "in calm weather no call, handle or timer is left",
} as const;

export type Invariant = keyof typeof INVARIANTS;

export interface Violation {
  readonly invariant: Invariant;
  readonly text: string;
}

/** What is seen of an owner. */
export interface Seen {
  readonly name: string;
  readonly isOver: boolean;
  /** Whether its fence is the latest one. */
  readonly isCurrent: boolean;
}

export class Book {
  readonly facts: Facts;
  readonly violations: Violation[] = [];
  readonly trace: string[] = [];
  /** `<job>#<attempt>` of everything that ran. */
  readonly ran = new Set<string>();
  readonly #runs = new Map<string, number>();
  readonly #retryOrders = new Map<string, number>();
  readonly #told = new Map<string, string>();
  readonly #forgiven = new Set<string>();
  answerCount = 0;

  constructor(store: SimulatedStore) {
    this.facts = new Facts(store);
  }

  get runCount(): number {
    return [...this.#runs.values()].reduce((sum, count) => sum + count, 0);
  }

  check(invariant: Invariant, holds: boolean, text: () => string): void {
    if (!holds) this.violations.push({ invariant, text: text() });
  }

  /** B1. */
  forgive(jobs: Iterable<string>): void {
    for (const job of jobs) this.#forgiven.add(job);
  }

  isForgiven(job: string): boolean {
    return this.#forgiven.has(job);
  }

  #checkOf(job: string, invariant: Invariant, holds: boolean, text: () => string): void {
    this.check(invariant, holds || this.isForgiven(job), text);
  }

  /** The code of an attempt begins. */
  began(context: ToolContext, owner: Seen): void {
    const { id, attempt, spec, dependencies } = context;
    const name = `${id}#${attempt}`;
    const facts = this.facts.job(id);
    this.#checkOf(id, "effects-after-ack", facts.has("job.started", { attempt }), () => {
      return `${owner.name} runs ${name}, and the log has no such start`;
    });
    this.check("effects-after-ack", !owner.isOver, () => `${owner.name} runs ${name}, and is over`);
    this.#checkOf(id, "one-id", !this.ran.has(name), () => `${owner.name} runs ${name} again`);
    this.ran.add(name);
    const runs = (this.#runs.get(id) ?? 0) + 1;
    this.#runs.set(id, runs);
    if (spec.retryClass !== "safe_to_retry") {
      const orders = this.#retryOrders.get(id) ?? 0;
      this.#checkOf(id, "unknown-stays", runs <= 1 + orders, () => {
        return `${name}, ${spec.retryClass}, runs for the ${runs}. time, on ${orders} orders`;
      });
    }
    this.#checkOf(id, "answers-acknowledged", sameJson(spec.input, facts.spec?.input), () => {
      return `${name} runs on other input than the log has`;
    });
    this.#checkOf(
      id,
      "effects-after-ack",
      dependencies.all.length === spec.dependencies.length,
      () => {
        return `${name} runs with ${dependencies.all.length} of ${spec.dependencies.length} dependencies`;
      },
    );
    for (const { id: dependency, result, error } of dependencies.all) {
      this.check("effects-after-ack", error === null || spec.toleratesFailures, () => {
        return `${name} runs though ${dependency} failed`;
      });
      const { end } = this.facts.job(dependency);
      const isTold = end !== null && (error !== null || sameJson(fieldsOf(end).result, result));
      this.#checkOf(dependency, "answers-acknowledged", isTold, () => {
        return `${name} is told of an end of ${dependency} that the log has not`;
      });
    }
  }

  /** Before the order is given: it may take effect even when its answer is lost. */
  ordered(job: string): void {
    this.#retryOrders.set(job, (this.#retryOrders.get(job) ?? 0) + 1);
  }

  /** The work of a step begins. */
  stepBegan(job: string, key: string, owner: Seen): void {
    const isRecorded = this.facts.job(job).has("job.stepRecorded", { key });
    this.#checkOf(job, "steps-once", !(isRecorded && owner.isCurrent), () => {
      return `${owner.name} does the work of step ${key} of ${job} again`;
    });
  }

  /** Something was told to somebody, and `holds` says whether the log has it. */
  answered(job: string, holds: boolean, what: string): void {
    this.answerCount += 1;
    this.#checkOf(job, "answers-acknowledged", holds, () => {
      const { state } = this.facts.job(job);
      return `${what} of ${job}, which is ${state} in the log`;
    });
  }

  /** A handle's word on an end: the result, or the code of the failure. */
  ended(job: string, told: { readonly result: unknown } | { readonly code: string }): void {
    const { end } = this.facts.job(job);
    const word = JSON.stringify(told);
    const holds =
      "result" in told
        ? end?.to === "completed" && sameJson(fieldsOf(end).result, told.result)
        : end !== null && isToldAs(end.to, told.code);
    this.answered(job, holds, `told ${word}`);
    const before = this.#told.get(job) ?? word;
    this.#told.set(job, word);
    this.#checkOf(job, "terminal-stays", before === word, () => {
      return `the end of ${job} was told as ${before}, then as ${word}`;
    });
  }
}

function isToldAs(end: string, code: string): boolean {
  if (end === "cancelled") return code === "job_cancelled";
  if (end === "timed_out") return code === "job_timeout";
  return end === "failed";
}
