/**
 * The public entry of Holdfast: what a service that embeds it, or a module that defines jobs, imports.
 *
 * Names are listed by hand. What is for tests of one's own charts stands in `testing.ts`.
 */

export {
  type ErrorCode,
  type ErrorRecord,
  HoldfastError,
  isHoldfastError,
  type Retry,
} from "./actors/errors.ts";
export {
  type DoerOptions,
  defineDoer,
  defineTool,
  type JobDefinition,
  type RetryPolicy,
  type ToolOptions,
} from "./actors/jobs/definition.ts";
export { JobHandle } from "./actors/jobs/handle.ts";
export { Runtime, type RuntimeOptions } from "./actors/jobs/runtime.ts";
