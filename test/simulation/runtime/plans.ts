/**
 * What jobs of a run do, as data: drawn from the seed, journaled as their input, the same on every attempt.
 *
 * Owns: the shape of a plan and its drawing. Does not own: carrying it out (workshop.ts).
 */
import type { Random } from "../../../infra/simulated/random.ts";

/** Tools by their class, and doers by what becomes of the children they leave. */
export const TOOL_TYPES = ["safe", "unknown", "unsafe"] as const;
export const DOER_TYPES = ["flow", "keeper", "fragile"] as const;
export type ToolType = (typeof TOOL_TYPES)[number];
export type DoerType = (typeof DOER_TYPES)[number];

export interface ToolPlan {
  /** How long it works, ms. */
  readonly ms: number;
  /** `hang`: it never returns; such a job has a timeout. */
  readonly end: "return" | "throw" | "hang";
  /** Whether it stops working when it is told to. */
  readonly heeds: boolean;
}

export type ChildPlan = {
  /** Null: derived by the runtime. */
  readonly key: string | null;
  /** Keys of children of earlier stages. */
  readonly after: readonly string[];
  readonly toleratesFailures: boolean;
  readonly timeoutMs: number | null;
  /** Whether its parent goes on without its result. */
  readonly isLeft: boolean;
} & JobPlan;

export type JobPlan =
  | { readonly type: ToolType; readonly input: ToolPlan }
  | { readonly type: DoerType; readonly input: DoerPlan };

export type StageItem =
  | { readonly do: "child"; readonly child: ChildPlan }
  | {
      readonly do: "step";
      readonly key: string;
      readonly ms: number;
      /** Whether its work throws in the first attempt of the job. */
      readonly failsFirst: boolean;
    }
  | { readonly do: "wait"; readonly name: string };

export interface DoerPlan {
  /** Whether it lets a cancel through; one that does not goes on with whatever is refused to it. */
  readonly heeds: boolean;
  /** One after the other; what one holds runs side by side. */
  readonly stages: readonly (readonly StageItem[])[];
}

export interface RootPlan {
  readonly job: JobPlan;
  /** Null: minted. */
  readonly id: string | null;
  readonly after: readonly string[];
  readonly toleratesFailures: boolean;
  readonly timeoutMs: number | null;
}

const DEPTH_MAX = 2;

function drawTool(random: Random): JobPlan {
  const end = random.weighted({ return: 7, throw: 2, hang: 1 });
  const ms = random.pick([0, 0, 3, 20, 200, 2_000]);
  return { type: random.pick(TOOL_TYPES), input: { ms, end, heeds: random.chance(0.6) } };
}

/** `label` tells its keys from those of every other doer. */
function drawDoer(random: Random, label: string, depth: number): JobPlan {
  const keys: string[] = [];
  const count = random.integer(1, 3);
  const stages = Array.from({ length: count }, (_, at) => {
    const before = [...keys];
    const items = Array.from({ length: random.integer(1, 3) }, (__, place) =>
      drawItem(random, `${label}-${at}-${place}`, before, depth),
    );
    for (const item of items)
      if (item.do === "child" && item.child.key !== null) keys.push(item.child.key);
    // The same once more, at the same time: it is the same child, step or wait.
    return random.chance(0.1) ? [...items, random.pick(items)] : items;
  });
  return { type: random.pick(DOER_TYPES), input: { heeds: random.chance(0.7), stages } };
}

function drawItem(
  random: Random,
  name: string,
  before: readonly string[],
  depth: number,
): StageItem {
  const kind = random.weighted({ child: 7, step: 2, wait: 1 });
  if (kind === "step") {
    const ms = random.pick([0, 10, 300]);
    return { do: "step", key: name, ms, failsFirst: random.chance(0.1) };
  }
  if (kind === "wait") return { do: "wait", name };
  const job =
    depth < DEPTH_MAX && random.chance(0.25) ? drawDoer(random, name, depth + 1) : drawTool(random);
  const child = {
    key: random.chance(0.8) ? name : null,
    after: before.length > 0 && random.chance(0.3) ? [random.pick(before)] : [],
    toleratesFailures: random.chance(0.5),
    timeoutMs: drawTimeout(random, job),
    isLeft: random.chance(0.15),
  };
  return { do: "child", child: { ...child, ...job } };
}

/** What may never return has one. */
function drawTimeout(random: Random, job: JobPlan): number | null {
  const hangs = "end" in job.input && job.input.end === "hang";
  const isBounded = hangs || random.chance(job.type === "flow" ? 0.15 : 0.3);
  return isBounded ? random.pick([30, 300, 1_500, 6_000]) : null;
}

/** `known`: ids that it may depend on. */
export function drawRoot(random: Random, number: number, known: readonly string[]): RootPlan {
  const label = `r${number}`;
  const job = random.chance(0.55) ? drawTool(random) : drawDoer(random, label, 0);
  const count = known.length === 0 ? 0 : random.pick([0, 0, 0, 1, 2]);
  const after = Array.from({ length: count }, () => random.pick(known));
  if (random.chance(0.03)) after.push("nobody");
  return {
    job,
    id: random.chance(0.5) ? label : null,
    after: [...new Set(after)],
    toleratesFailures: random.chance(0.5),
    timeoutMs: drawTimeout(random, job),
  };
}
