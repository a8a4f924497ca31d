/**
 * Jobs whose every step a test decides.
 *
 * Owns: definitions that count their runs and stand still until they are told how to end. Runs are counted across restarts,
 * as a file of effects would: what was started by a runtime that is over counts, and is never told to end.
 */
import { z } from "zod";

import type { ToolContext } from "../../actors/attempt/context.ts";
import { defineDoer, defineTool, type JobDefinition } from "../../actors/attempt/definition.ts";
import type { DoerContext } from "../../actors/attempt/doer-context.ts";
import { type Json, JsonSchema } from "../../machines/json.ts";

export const Labelled = z.object({ label: z.string() });

interface Run {
  readonly context: ToolContext;
  readonly end: (value: Json) => void;
  readonly fail: (error: unknown) => void;
}

export type Plan = (context: DoerContext) => Promise<Json> | Json;

export class Workshop {
  readonly #runs = new Map<string, Run[]>();
  readonly #answers = new Map<string, () => Promise<Json> | Json>();
  readonly #plans = new Map<string, Plan>();
  /** Labels in the order in which their code began to run. */
  readonly order: string[] = [];

  /** Stands still until `end` or `fail`; a lost attempt is never run again. */
  readonly unsure = this.#tool("unsure", { class: "unknown_no_automatic_retry" });
  /** Stands still until `end` or `fail`; a lost attempt is run again, at most twice. */
  readonly safe = this.#tool("safe", { class: "safe_to_retry", budget: 2 });
  /** Completes at once with its label, unless `answer` said otherwise. */
  readonly quick = defineTool({
    type: "quick",
    input: Labelled,
    output: JsonSchema,
    retry: { class: "safe_to_retry", budget: 5 },
    run: (context, { label }) => {
      this.#mention(context, label);
      return this.#answers.get(label)?.() ?? label;
    },
  });
  /** Does what `plan` said for its label. */
  readonly doer = this.#doer("plan", "cancel");
  /** The same; what it leaves behind lives on. */
  readonly keeper = this.#doer("keeper", "keep");

  get all(): readonly JobDefinition[] {
    return [this.unsure, this.safe, this.quick, this.doer, this.keeper];
  }

  /** How often the code of this label began to run. */
  runs(label: string): number {
    return this.#runs.get(label)?.length ?? 0;
  }

  /** Every label with its runs. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#runs].map(([label, runs]) => [label, runs.length]));
  }

  context(label: string): ToolContext {
    return this.#last(label).context;
  }

  end(label: string, value: Json = label): void {
    this.#last(label).end(value);
  }

  fail(label: string, ...thrown: readonly [unknown?]): void {
    this.#last(label).fail(thrown.length === 0 ? new Error(`${label} broke`) : thrown[0]);
  }

  /** What a quick job of this label does instead of answering with its label. */
  answer(label: string, work: () => Promise<Json> | Json): void {
    this.#answers.set(label, work);
  }

  plan(label: string, plan: Plan): void {
    this.#plans.set(label, plan);
  }

  #last(label: string): Run {
    const run = this.#runs.get(label)?.at(-1);
    if (run === undefined) throw new Error(`${label} has not begun`);
    return run;
  }

  #begin(context: ToolContext, label: string): Promise<Json> {
    this.order.push(label);
    return new Promise((end, fail) => {
      this.#runs.set(label, [...(this.#runs.get(label) ?? []), { context, end, fail }]);
    });
  }

  /** Counts a run whose end is not the test's to decide. */
  #mention(context: ToolContext, label: string): void {
    // Told to fail all the same, it does not: nobody waits for this promise.
    this.#begin(context, label).catch(() => undefined);
  }

  #tool(
    type: string,
    retry: { class: "safe_to_retry" | "unknown_no_automatic_retry"; budget?: number },
  ) {
    return defineTool({
      type,
      input: Labelled,
      output: JsonSchema,
      retry,
      timeoutMs: null,
      run: (context, { label }) => this.#begin(context, label),
    });
  }

  #doer(type: string, childrenLeft: "cancel" | "keep") {
    return defineDoer({
      type,
      input: Labelled,
      output: JsonSchema,
      childrenLeft,
      run: (context, { label }) => {
        this.#mention(context, label);
        const plan = this.#plans.get(label);
        if (plan === undefined) throw new Error(`nobody planned ${label}`);
        return plan(context);
      },
    });
  }
}
