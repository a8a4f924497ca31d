/**
 * The public entry of Holdfast: what a service that embeds it, a module that defines jobs, or a client of a daemon imports.
 *
 * Names are listed by hand. What is for tests of one's own charts stands in `testing.ts`.
 */

export type { ToolContext } from "./actors/attempt/context.ts";
export {
  type DoerOptions,
  defineDoer,
  defineTool,
  type JobDefinition,
  type RetryPolicy,
  type ToolOptions,
} from "./actors/attempt/definition.ts";
export type { Dependencies, SettledDependency } from "./actors/attempt/dependencies.ts";
export type { ChildOptions, DoerContext, WaitOptions } from "./actors/attempt/doer-context.ts";
export {
  type ErrorCode,
  type ErrorRecord,
  HoldfastError,
  isHoldfastError,
  type Retry,
} from "./actors/errors.ts";
export type { CancelAnswer, JobHandle } from "./actors/jobs/handle.ts";
export type { SubmitOptions } from "./actors/jobs/submission.ts";
export type { Health } from "./actors/runtime/health.ts";
export type { Runtime } from "./actors/runtime/runtime.ts";
export { type ApiClient, connectClient } from "./infra/api/client.ts";
export {
  type EmbeddedRuntime,
  type EmbeddingOptions,
  openRuntime,
} from "./infra/embedding/open-runtime.ts";
export { currentJob } from "./infra/system/ambient.ts";
export { defineChart } from "./machines/engine/define-chart.ts";
export type { Json } from "./machines/json.ts";
export { ExecutionRecord } from "./projections/execution-record/schema.ts";
export type { JobTree, TreeNode } from "./projections/job-tree.ts";
export type { TrajectoryEntry } from "./projections/trajectory.ts";
