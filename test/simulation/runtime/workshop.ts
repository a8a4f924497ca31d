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
  const doer = (
    type: DoerType,
    childrenLeft: "cancel" | "keep",
    retry: Parameters<typeof defineDoer>[0]["retry"] = {},
  ) =>
    defineDoer({
      type,
      input: z.custom<DoerPlan>(),
      output: z.unknown(),
      childrenLeft,
      retry,
      run: (context, plan) => orchestrate(site, definitions, context, plan),
    });
  const definitions: Definitions = {
    safe: tool("safe", { class: "safe_to_retry", budget: 1 }),
    unknown: tool("unknown", undefined),
    unsafe: tool("unsafe", { class: "non_idempotent_no_automatic_retry" }),
    flow: doer("flow", "cancel"),
    keeper: doer("keeper", "keep"),
    fragile: doer("fragile", "cancel", { class: "unknown_no_automatic_retry" }),
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

/** One attempt of a doer, with the children it has asked for so far. */
interface Course {
  readonly site: Site;
  readonly definitions: Definitions;
  readonly context: DoerContext;
  readonly handles: Map<string, JobHandle<unknown>>;
  readonly heeds: boolean;
}

async function orchestrate(
  site: Site,
  definitions: Definitions,
  context: DoerContext,
  { stages, heeds }: DoerPlan,
): Promise<Json> {
  site.began(context);
  const course: Course = { site, definitions, context, handles: new Map(), heeds };
  const results: Json[] = [];
  for (const items of stages) {
    if (heeds) context.checkCancellation();
    if (context.isOver) break; // Nothing can be asked for any more.
    context.nextStep();
    results.push(await Promise.all(items.map((item) => stubbornly(course, item))));
  }
  return results;
}

/** What does not heed takes a refusal as a result. */
async function stubbornly(course: Course, item: StageItem): Promise<Json> {
  if (course.heeds) return await play(course, item);
  try {
    return await play(course, item);
  } catch (error) {
    return { failed: (error as { code?: string }).code ?? String(error) }; // Whatever was thrown.
  }
}

async function play(course: Course, item: StageItem): Promise<Json> {
  const { site, context } = course;
  if (item.do === "child") return await child(course, item.child);
  if (item.do === "wait") {
    const { name } = item;
    const value = await context.waitFor(name);
    site.given(context, "job.answered", { name, value });
    return value;
  }
  const { key, ms, failsFirst } = item;
  const value = await context.step(key, async () => {
    site.stepBegan(context, key);
    if (ms > 0) await site.pause(ms);
    if (failsFirst && context.attempt === 1) throw new RangeError("it breaks at first");
    return site.nonce();
  });
  site.given(context, "job.stepRecorded", { key, value });
  return value;
}

async function child(course: Course, plan: ChildPlan): Promise<Json> {
  const { site, definitions, context, handles } = course;
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
