/**
 * The code of a run's jobs: it carries out plans, and says at each step what it was given.
 *
 * Owns: the definitions of one owner. Does not own: what may be said when (book.ts).
 */
import { z } from "zod";
import type { ToolContext } from "../../../actors/attempt/context.ts";
import { defineDoer, defineTool, type JobDefinition } from "../../../actors/attempt/definition.ts";
import type { DoerContext } from "../../../actors/attempt/doer-context.ts";
import type { JobHandle } from "../../../actors/jobs/handle.ts";
import type { Json } from "../../../machines/json.ts";
import type { ChildPlan, DoerPlan, DoerType, StageItem, ToolPlan, ToolType } from "./plans.ts";

/** The process that the code runs in. */
export interface Site {
  began(context: ToolContext): void;
  stepBegan(context: DoerContext, key: string): void;
  /** Resolves when the process lives on for so long. */
  pause(ms: number): Promise<void>;
  /** Alike for no two calls. */
  nonce(): string;
  /** A value that the runtime handed to the code. */
  given(context: DoerContext, event: string, fields: Readonly<Record<string, Json>>): void;
  submitted(handle: JobHandle<unknown>): void;
  /** What a handle says in the end. Rejects only when the owner has ended. */
  outcome(handle: JobHandle<unknown>): Promise<Json>;
}

type Definitions = Readonly<Record<ToolType | DoerType, JobDefinition>>;

export function definitionsAt(site: Site): Definitions {
  const tool = (type: ToolType, retry: Parameters<typeof defineTool>[0]["retry"]) =>
    defineTool({
      type,
      input: z.custom<ToolPlan>(),
      output: z.unknown(),
      timeoutMs: null,
      ...(retry === undefined ? {} : { retry }),
      run: (context, plan) => work(site, context, plan),
    });
  const doer = (type: DoerType, childrenLeft: "cancel" | "keep") =>
    defineDoer({
      type,
      input: z.custom<DoerPlan>(),
      output: z.unknown(),
      childrenLeft,
      run: (context, plan) => orchestrate(site, definitions, context, plan),
    });
  const definitions: Definitions = {
    safe: tool("safe", { class: "safe_to_retry", budget: 2 }),
    unknown: tool("unknown", undefined),
    unsafe: tool("unsafe", { class: "non_idempotent_no_automatic_retry" }),
    flow: doer("flow", "cancel"),
    keeper: doer("keeper", "keep"),
  };
  return definitions;
}

async function work(site: Site, context: ToolContext, plan: ToolPlan): Promise<Json> {
  site.began(context);
  if (plan.ms > 0) await site.pause(plan.ms);
  if (plan.heeds) context.checkCancellation();
  if (plan.end === "throw") throw new RangeError("it breaks every time");
  if (plan.end === "hang") await told(context, plan.heeds);
  return { job: context.id, attempt: context.attempt, nonce: site.nonce() };
}

/** Rejects when the job is told to end, if it heeds that; never resolves. */
const told = (context: ToolContext, heeds: boolean): Promise<never> =>
  new Promise((_, reject) => {
    if (heeds) context.onCancel(() => reject(new RangeError("it was told to end")));
  });

async function orchestrate(
  site: Site,
  definitions: Definitions,
  context: DoerContext,
  { stages }: DoerPlan,
): Promise<Json> {
  site.began(context);
  const handles = new Map<string, JobHandle<unknown>>();
  const results: Json[] = [];
  for (const items of stages) {
    context.checkCancellation();
    context.nextStep();
    const under = items.map((item) => play(site, definitions, context, handles, item));
    results.push(await Promise.all(under));
  }
  return results;
}

async function play(
  site: Site,
  definitions: Definitions,
  context: DoerContext,
  handles: Map<string, JobHandle<unknown>>,
  item: StageItem,
): Promise<Json> {
  if (item.do === "child") return await child(site, definitions, context, handles, item.child);
  if (item.do === "wait") {
    const { name } = item;
    const value = await context.waitFor(name);
    site.given(context, "job.answered", { name, value });
    return value;
  }
  const { key, ms } = item;
  const value = await context.step(key, async () => {
    site.stepBegan(context, key);
    if (ms > 0) await site.pause(ms);
    return site.nonce();
  });
  site.given(context, "job.stepRecorded", { key, value });
  return value;
}

async function child(
  site: Site,
  definitions: Definitions,
  context: DoerContext,
  handles: Map<string, JobHandle<unknown>>,
  plan: ChildPlan,
): Promise<Json> {
  const { key, type, input, timeoutMs, toleratesFailures, isLeft } = plan;
  const after = plan.after.flatMap((name) => handles.get(name) ?? []);
  const handle = await context.submitInCurrentStep(definitions[type], input, {
    after,
    timeoutMs,
    toleratesFailures,
    ...(key === null ? {} : { key }),
  });
  if (key !== null) handles.set(key, handle);
  site.submitted(handle);
  if (isLeft) {
    // Whoever leaves a child hears of its end all the same, if the owner lives to see it.
    site.outcome(handle).catch(() => null);
    return null;
  }
  return await site.outcome(handle);
}
