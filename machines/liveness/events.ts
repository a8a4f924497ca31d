/**
 * The events of a liveness record. Each carries what was seen; none carries a verdict that another event could contradict.
 */
import { z } from "zod";
import { RetryClass } from "../job/spec.ts";

/** REC-5. `declared`: it will have one; `completed`: it had it; `unknown`: it may have had it. */
export const SideEffect = z.enum(["none", "declared", "completed", "unknown"]);
export type SideEffect = z.infer<typeof SideEffect>;

/** STA-3. */
export const WaitKind = z.enum(["approval", "upstream", "rate_limit", "timer", "other"]);
export type WaitKind = z.infer<typeof WaitKind>;

const event = <Type extends string, Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.object({ type: z.literal(type), ...shape });

export const LivenessEvent = z.discriminatedUnion("type", [
  event("liveness.opened", { retryClass: RetryClass, retryBudget: z.number() }),
  event("liveness.started", { attempt: z.number() }),
  /** No progress was observed for a while. Nothing more is said by it. */
  event("liveness.quietNoticed", {}),
  event("liveness.progressSeen", {}),
  event("liveness.staleSuspected", {}),
  event("liveness.diagnosisStarted", {}),
  event("liveness.foundAlive", { isQuiet: z.boolean() }),
  event("liveness.foundInconclusive", { sideEffect: SideEffect }),
  event("liveness.waitDeclared", { kind: WaitKind, reason: z.string() }),
  event("liveness.waitEnded", {}),
  event("liveness.cancelRequested", {}),
  /** The owner is gone and no exit was recorded. */
  event("liveness.ownerLost", { sideEffect: SideEffect }),
  event("liveness.retryScheduled", { attempt: z.number() }),
  event("liveness.blocked", {}),
  event("liveness.unblocked", {}),
  event("liveness.ended", {
    outcome: z.enum(["completed", "failed", "cancelled"]),
    sideEffect: SideEffect,
  }),
]);
export type LivenessEvent = z.infer<typeof LivenessEvent>;
