/**
 * Random workflows: jobs that complete, fail or hang, depend on each other, have children, are cancelled, and whose process
 * dies now and then.
 *
 * Owns: drawing them, and playing one against a runtime. Does not own: what must hold of what it left (log-laws.ts).
 */
import * as fc from "fast-check";
import type { DoerContext } from "../../actors/attempt/doer-context.ts";
import type { JobHandle } from "../../actors/jobs/handle.ts";
import { worldOf } from "../../actors/runtime/runtime.ts";
import type { Json } from "../../machines/json.ts";
import { codeOf, flush, TestRuntime } from "./runtime.ts";
import { Workshop } from "./workshop.ts";

interface PlannedJob {
  readonly kind: "safe" | "unsure" | "quick" | "broken" | "doer" | "keeper";
  /** Of the jobs before it, by their distance. */
  readonly after: readonly number[];
  readonly toleratesFailures: boolean;
  readonly timeoutMs: number | null;
  /** What a doer does, one after the other. */
  readonly children: readonly ("safe" | "unsure" | "quick" | "broken" | "step" | "wait")[];
  readonly isFanOut: boolean;
}

export type Action =
  | { readonly kind: "submit"; readonly job: PlannedJob }
  | { readonly kind: "end" | "fail" | "cancel" | "answer" | "resolve"; readonly pick: number }
  | { readonly kind: "pass"; readonly ms: number }
  /** The process dies: with everything acknowledged, or with what the next action stages unanswered. */
  | { readonly kind: "crash"; readonly isUnanswered: boolean };

const plannedJob: fc.Arbitrary<PlannedJob> = fc.record({
  kind: fc.constantFrom("safe", "unsure", "quick", "broken", "doer", "doer", "keeper"),
  after: fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 3 }),
  toleratesFailures: fc.boolean(),
  timeoutMs: fc.constantFrom(null, null, null, 2_000),
  children: fc.array(fc.constantFrom("safe", "unsure", "quick", "broken", "step", "wait"), {
    maxLength: 4,
  }),
  isFanOut: fc.boolean(),
});

const pick = fc.nat(99);

export const workflowPlan: fc.Arbitrary<readonly Action[]> = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant("submit" as const), job: plannedJob }) },
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constantFrom("end" as const, "end" as const, "fail" as const),
        pick,
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constantFrom("cancel" as const, "answer" as const, "resolve" as const),
        pick,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant("pass" as const), ms: fc.constantFrom(500, 2_000) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant("crash" as const), isUnanswered: fc.boolean() }),
    },
  ),
  { minLength: 4, maxLength: 24, size: "max" },
);

/** Plays a plan; everything is acknowledged when it resolves. */
export class PlayedWorkflow {
  readonly shop = new Workshop();
  readonly test: TestRuntime;
  /** Of the jobs whose submission was answered, by their number. */
  readonly #handles = new Map<number, JobHandle<unknown>>();
  #submitted = 0;

  private constructor(test: TestRuntime, shop: Workshop) {
    this.test = test;
    this.shop = shop;
  }

  static async play(plan: readonly Action[], whenSettled: (test: TestRuntime) => void) {
    const shop = new Workshop();
    const played = new PlayedWorkflow(await TestRuntime.start({ definitions: shop.all }), shop);
    for (const action of plan) {
      await played.#act(action);
      if (played.test.answers.heldCount === 0) whenSettled(played.test);
    }
    played.test.answers.release();
    await flush();
    whenSettled(played.test);
    return played;
  }

  /** Ends everything that runs and gives every word that is waited for, until nothing moves any more. */
  async drain(): Promise<void> {
    for (let rounds = 0; rounds < 200; rounds += 1) {
      const { length } = this.test.log.messages;
      for (const label of Object.keys(this.shop.counts)) this.shop.end(label);
      for (const job of this.#live("running")) await this.#answer(job);
      await flush();
      if (this.test.log.messages.length === length) return;
    }
    throw new Error("it does not come to rest");
  }

  async #act(action: Action): Promise<void> {
    const { runtime } = this.test;
    switch (action.kind) {
      case "submit":
        this.#submit(action.job);
        break;
      case "end":
      case "fail": {
        const labels = Object.keys(this.shop.counts);
        const label = labels[action.pick % Math.max(1, labels.length)];
        if (label === undefined) break;
        // Ending what has ended, or belonged to a process that is dead, is nothing.
        if (action.kind === "end") this.shop.end(label);
        else this.shop.fail(label);
        break;
      }
      case "cancel": {
        const job = this.#pick(action.pick);
        if (job !== undefined) void runtime.cancel(job, "no longer needed", "ada").catch(codeOf);
        break;
      }
      case "answer": {
        const job = this.#pick(action.pick);
        if (job !== undefined) void this.#answer(job);
        break;
      }
      case "resolve": {
        const lost = this.#live("interrupted");
        const job = lost[action.pick % Math.max(1, lost.length)];
        const resolution = action.pick % 2 === 0 ? "retry" : "completed";
        if (job !== undefined)
          void runtime
            .resolve(job, { kind: resolution, result: null } as never, "ada", "seen")
            .catch(codeOf);
        break;
      }
      case "pass":
        await this.test.advance(action.ms);
        break;
      case "crash":
        if (action.isUnanswered && this.test.answers.heldCount === 0) this.test.answers.hold();
        else await this.#crash();
        return;
    }
    await flush();
    // What was to be lost with the process is staged by now.
    if (this.test.answers.heldCount > 0) await this.#crash();
  }

  async #crash(): Promise<void> {
    this.test.answers.drop();
    await this.test.restart();
  }

  #submit(job: PlannedJob): void {
    this.#submitted += 1;
    const label = `j${this.#submitted}`;
    const definition = job.kind === "broken" ? this.shop.quick : this.shop[job.kind];
    if (job.kind === "broken") this.shop.answer(label, broken);
    this.shop.plan(label, (context) => this.#plan(label, job, context));
    const number = this.#submitted;
    const after = job.after.flatMap((distance) => this.#handles.get(number - distance) ?? []);
    const { toleratesFailures, timeoutMs } = job;
    const options = { after, toleratesFailures, timeoutMs };
    void this.test.runtime
      .submit(definition, { label }, options)
      .then((handle) => void this.#handles.set(number, handle), codeOf);
  }

  async #plan(
    parent: string,
    { children, isFanOut }: PlannedJob,
    context: DoerContext,
  ): Promise<Json> {
    const results: Promise<Json>[] = [];
    for (const [at, kind] of children.entries()) {
      const label = `${parent}.${at}`;
      if (kind === "step") results.push(context.step(label, () => label));
      else if (kind === "wait") results.push(context.waitFor(label));
      else {
        if (kind === "broken") this.shop.answer(label, broken);
        const definition = kind === "broken" ? this.shop.quick : this.shop[kind];
        const options = { key: label };
        const child = await context.submitInStep(definition, { label }, options);
        results.push(child.result().catch(codeOf));
      }
      if (!isFanOut) await results.at(-1);
    }
    return Promise.all(results);
  }

  #live(state: string): readonly string[] {
    return [...worldOf(this.test.runtime).cells.tasks()].flatMap(({ job }) =>
      job.now.value === state ? [job.id] : [],
    );
  }

  #pick(number: number): string | undefined {
    const live = [...worldOf(this.test.runtime).cells.tasks()].map(({ job }) => job.id);
    return live[number % Math.max(1, live.length)];
  }

  async #answer(job: string): Promise<void> {
    const { cells } = worldOf(this.test.runtime);
    for (const name of cells.task(job)?.job.now.context.awaited ?? [])
      await this.test.runtime.answer(job, name, name, "ada").catch(codeOf);
  }
}

const broken = (): never => {
  throw new Error("it breaks every time");
};
