/**
 * The events of a job: past tense, journaled as they are, and exactly what the chart steps on.
 */
import { z } from "zod";
import { JsonSchema } from "../json.ts";
import { JobSpec } from "./spec.ts";

/** A failure as it stands in an event: the wire form of a coded error. */
export const Failure = z.object({
  code: z.string(),
  message: z.string(),
  retry: z.enum(["never", "now", "backoff"]),
  details: z.record(z.string(), z.unknown()).optional(),
  get cause() {
    return Failure.optional();
  },
});
export type Failure = z.infer<typeof Failure>;

/** How a dependency ended, as its dependents are told. */
export const DependencyOutcome = z.enum(["completed", "failed", "cancelled", "timed_out"]);
export type DependencyOutcome = z.infer<typeof DependencyOutcome>;

const event = <Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.object({ type: z.literal(type), ...shape });

export const JobEvent = z.discriminatedUnion("type", [
  event("job.submitted", { spec: JobSpec }),
  event("job.dependencySettled", {
    dependency: z.string(),
    outcome: DependencyOutcome,
    failure: Failure.optional(),
  }),
  /** The dependency ended in a way that the job does not tolerate. */
  event("job.dependencyFailed", { dependency: z.string(), failure: Failure }),
  event("job.started", { attempt: z.number(), timeoutAt: z.number().nullable() }),
  event("job.stepRecorded", { key: z.string(), value: JsonSchema }),
  event("job.waitDeclared", { name: z.string(), kind: z.string(), reason: z.string() }),
  event("job.answered", { name: z.string(), value: JsonSchema, by: z.string() }),
  event("job.completed", { attempt: z.number(), result: JsonSchema }),
  event("job.failed", { attempt: z.number(), failure: Failure }),
  event("job.cancelRequested", { reason: z.string(), by: z.string() }),
  /** The attempt ran past its timeout: it has until `graceUntil` (journal time, ms) to end by itself. */
  event("job.timeoutReached", { attempt: z.number(), graceUntil: z.number() }),
  /** The grace is over and its code still runs: it settles for its caller, and is leaked. */
  event("job.graceEnded", { attempt: z.number() }),
  /** The process that ran the attempt is gone, and nobody saw it end. */
  event("job.interrupted", { attempt: z.number(), isSideEffectUnknown: z.boolean() }),
  event("job.rerunScheduled", { attempt: z.number(), reason: z.string() }),
  event("job.attemptsExhausted", { failure: Failure }),
  /** Nothing here knows its type; it runs when a later reload does. */
  event("job.blocked", { reason: z.string() }),
  event("job.unblocked", {}),
  /** A person said what became of an attempt whose end nobody saw. */
  event("job.resolvedCompleted", { result: JsonSchema, by: z.string(), reason: z.string() }),
  event("job.resolvedFailed", { failure: Failure, by: z.string(), reason: z.string() }),
]);
export type JobEvent = z.infer<typeof JobEvent>;
