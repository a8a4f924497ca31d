/**
 * What a job is from the moment it is submitted: everything that later turns, a reload and outside readers need to know of
 * it without asking its definition (T3: configuration comes in events).
 */
import { z } from "zod";
import { JsonSchema } from "../json.ts";

/** RTY-1. `retry_from_checkpoint` and `retry_requires_reconciliation` belong to managed tasks. */
export const RetryClass = z.enum([
  "safe_to_retry",
  "retry_from_checkpoint",
  "retry_requires_reconciliation",
  "non_idempotent_no_automatic_retry",
  "unknown_no_automatic_retry",
]);
export type RetryClass = z.infer<typeof RetryClass>;

/** What becomes of children that are still live when their parent has ended. */
export const ChildPolicy = z.enum(["cancel", "keep"]);
export type ChildPolicy = z.infer<typeof ChildPolicy>;

export const Dependency = z.object({ id: z.string(), workflow: z.string() });
export type Dependency = z.infer<typeof Dependency>;

export const JobSpec = z.object({
  id: z.string(),
  type: z.string(),
  /** A tool works; a doer submits and waits, and holds nothing. */
  kind: z.enum(["tool", "doer"]),
  name: z.string(),
  workflow: z.string(),
  user: z.string(),
  /** Null for a root. */
  parent: z.string().nullable(),
  /** The child's identity under its parent; null for a root. */
  key: z.string().nullable(),
  /** Digest of type and input; null where the id was minted here, so that nobody can ask for it twice. */
  digest: z.string().nullable(),
  input: JsonSchema,
  dependencies: z.array(Dependency),
  /** Whether it runs although a dependency failed. */
  toleratesFailures: z.boolean(),
  /** Per attempt, ms; null: none. */
  timeoutMs: z.number().nullable(),
  retryClass: RetryClass,
  /** Automatic new attempts after a lost one, at most. */
  retryBudget: z.number(),
  /** What becomes of it when its parent ends first; it means nothing for a root. */
  whenParentEnds: ChildPolicy,
  /** `iteration_number`, `obs.caller_class`, and what the caller gave. */
  metadata: z.record(z.string(), JsonSchema),
});
export type JobSpec = z.infer<typeof JobSpec>;

/** Metadata key of a child's place in its parent's execution order (TREE-2). */
export const META_ITERATION = "iteration_number";
/** Metadata key of the submitting job's type (DOOR-5). */
export const META_CALLER = "obs.caller_class";

/** The ordinal among its siblings; null when it was submitted without one. */
export function ordinalOf(spec: Pick<JobSpec, "metadata">): number | null {
  const ordinal = spec.metadata[META_ITERATION];
  return typeof ordinal === "number" ? ordinal : null;
}
