/**
 * The load of a campaign of kills: jobs that are submitted and waited for without a pause, whoever is being killed.
 *
 * Owns: drawing jobs, asking until the answer is there, writing down what was answered. Does not own: judging it (judgement.ts).
 *
 * Whoever gets no answer asks again with the same id: it is the same job.
 */
import { setTimeout as pause } from "node:timers/promises";
import { isHoldfastError } from "../../../actors/errors.ts";
import type { ApiClient } from "../../../infra/api/client.ts";
import type { Random } from "../../../infra/simulated/random.ts";
import { type Asked, effectsIn, RESOLVED } from "./judgement.ts";

const LANES = 8;
const ASK_AGAIN_MS = 20;
/** One wait for a job's end; afterwards it is looked whether a person has to say something. */
const WAIT_MS = 400;
const SETTLE_WAIT_MS = 60_000;

interface Stagehand {
  readonly client: ApiClient | null;
  readonly place: { path(name: string): string };
}

export class Load {
  readonly asked = new Map<string, Asked>();
  /** Lines of a job when the driver learned of its end. */
  readonly marks = new Map<string, number>();
  /** Jobs that had not ended SETTLE_WAIT_MS after the load stopped. */
  readonly stuck: string[] = [];
  /** When the last of the questions that brought a result was asked, by `performance.now()`. */
  resultAskedAt = 0;
  resolved = 0;
  readonly #stage: Stagehand;
  readonly #effects: () => string;
  readonly #random: Random;
  #lanes: Promise<void>[] = [];
  #isOver = false;
  #deadline = Number.POSITIVE_INFINITY;

  constructor(stage: Stagehand, effects: () => string, random: Random) {
    this.#stage = stage;
    this.#effects = effects;
    this.#random = random;
  }

  start(): void {
    this.#isOver = false;
    this.#deadline = Number.POSITIVE_INFINITY;
    this.#lanes = Array.from({ length: LANES }, () => this.#lane());
  }

  /** Asks for nothing new; resolves when everything that was asked for has ended. */
  async drain(): Promise<void> {
    this.#isOver = true;
    this.#deadline = performance.now() + SETTLE_WAIT_MS;
    await Promise.all(this.#lanes);
  }

  async #lane(): Promise<void> {
    while (!this.#isOver) {
      const job = this.#draw();
      this.asked.set(job.id, job);
      if (this.#random.chance(0.5)) await this.#until(job, () => this.#submit(job));
      await this.#until(job, () => this.#settle(job));
      await this.#until(job, () => this.#read(job));
    }
  }

  #draw(): Asked {
    const type = this.#random.weighted({ again: 6, once: 3, family: 2 });
    const ms = this.#random.pick([0, 0, 5, 30, 100]);
    const id = `${type}-${this.asked.size + 1}`;
    const input = type === "family" ? { ms, width: this.#random.integer(1, 4) } : { ms };
    return { id, type, input, isAcknowledged: false, outcome: null, record: null };
  }

  /** Asks until it is answered. */
  async #until(job: Asked, ask: () => Promise<boolean>): Promise<void> {
    while (performance.now() < this.#deadline) {
      try {
        if (await ask()) return;
      } catch (error) {
        // No answer came: nobody is up, or the connection went. Whatever else it is is not to be asked again.
        const isAway = isHoldfastError(error) && NO_ANSWER.has(error.code);
        if (!isAway) throw error;
      }
      await pause(ASK_AGAIN_MS);
    }
    if (!this.stuck.includes(job.id)) this.stuck.push(job.id);
  }

  async #submit(job: Asked): Promise<boolean> {
    const { id, type, input } = job;
    const answer = await this.#stage.client?.submit({ id, type, input });
    if (answer?.ok !== true) return refused(job, answer);
    job.isAcknowledged = true;
    return true;
  }

  async #settle(job: Asked): Promise<boolean> {
    const { id, type, input } = job;
    const askedAt = performance.now();
    const answer = await this.#stage.client?.submit({ id, type, input, wait: WAIT_MS });
    if (answer?.ok !== true) return refused(job, answer);
    job.isAcknowledged = true;
    if (answer.outcome === undefined) {
      if (type === "once") await this.#resolve(job);
      return false;
    }
    job.outcome ??= outcomeText(answer.outcome);
    this.resultAskedAt = Math.max(this.resultAskedAt, askedAt);
    const lines = effectsIn(this.#effects()).filter((effect) => effect.job === id);
    this.marks.set(id, lines.length);
    return true;
  }

  /** What nobody saw end waits for a person's word. */
  async #resolve({ id }: Asked): Promise<void> {
    const { client } = this.#stage;
    const answer = await client?.record(id);
    if (answer?.ok !== true || answer.record.job.value !== "interrupted") return;
    const resolution = { kind: "completed", result: RESOLVED } as const;
    const resolved = await client?.resolve({ job: id, resolution, reason: "looked up" });
    if (resolved?.ok === true) this.resolved += 1;
  }

  async #read(job: Asked): Promise<boolean> {
    const record = await recordOf(this.#stage.client, job.id);
    job.record ??= record;
    return record !== null;
  }
}

const NO_ANSWER: ReadonlySet<string> = new Set(["external_service", "illegal_state"]);

/** False: to be asked again. Throws: asking again will not help. */
function refused(job: Asked, answer: { readonly retry?: string } | undefined): false {
  if (answer?.retry === "never") throw new Error(`${job.id} is refused: ${JSON.stringify(answer)}`);
  return false;
}

/** Null: nobody is up, or it was refused. */
export async function recordOf(client: ApiClient | null, job: string): Promise<string | null> {
  const answer = await client?.record(job);
  return answer?.ok === true ? JSON.stringify(answer.record) : null;
}

/** As the judgement reads it: kind and result. */
export function outcomeText(outcome: { readonly kind: string; readonly result?: unknown }): string {
  const { kind, result } = outcome;
  return JSON.stringify(kind === "completed" ? { kind, result } : outcome);
}
