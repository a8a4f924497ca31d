/**
 * Events to try on the runtime's three charts, in whatever state they are.
 *
 * Owns: for each state, events that fit it (the attempt that runs, a dependency that is pending) and their near misses (an
 * attempt that is over, a name that nobody asked for), so that every alternative of every guard is met.
 */
import type { DispatcherEvent } from "../../machines/dispatcher/chart.ts";
import type { ActorState } from "../../machines/engine/chart.ts";
import type { JobContext } from "../../machines/job/chart.ts";
import type { Failure, JobEvent } from "../../machines/job/events.ts";
import type { JobSpec } from "../../machines/job/spec.ts";
import type { LivenessEvent } from "../../machines/liveness/events.ts";

export const FAILURE: Failure = { code: "system", message: "it broke", retry: "never" };

/** A job as it is submitted, of a type and class of one's choice. */
export const specOf = (id: string, more: Partial<JobSpec> = {}): JobSpec => ({
  id,
  type: "t",
  kind: "tool",
  name: "t",
  workflow: id,
  user: "ada",
  parent: null,
  key: null,
  digest: null,
  input: null,
  dependencies: [],
  toleratesFailures: false,
  timeoutMs: null,
  retryClass: "unknown_no_automatic_retry",
  retryBudget: 0,
  whenParentEnds: "keep",
  metadata: {},
  ...more,
});

export const DEPENDENCIES = ["d1", "d2"].map((id) => ({ id, workflow: id }));

/** What of a job's context its guards ask for; everything else only grows. */
export const jobKey = ({ context }: ActorState<JobContext>): string => {
  const { pending, awaited, waitingFor, attempt } = context;
  return JSON.stringify([pending, awaited, waitingFor, Math.min(attempt, 2)]);
};

export const jobEvents =
  (spec: JobSpec = specOf("j")) =>
  ({ context: { attempt } }: ActorState<JobContext>): readonly JobEvent[] => [
    { type: "job.submitted", spec },
    { type: "job.submitted", spec: { ...spec, dependencies: DEPENDENCIES } },
    ...DEPENDENCIES.map(
      ({ id }) =>
        ({ type: "job.dependencySettled", dependency: id, outcome: "completed" }) as const,
    ),
    { type: "job.dependencySettled", dependency: "d1", outcome: "failed", failure: FAILURE },
    { type: "job.dependencyFailed", dependency: "d2", failure: FAILURE },
    { type: "job.started", attempt: attempt + 1, timeoutAt: 5_000 },
    { type: "job.started", attempt, timeoutAt: null },
    { type: "job.stepRecorded", key: "s", value: { deep: [1] } },
    { type: "job.waitDeclared", name: "w", kind: "approval", reason: "please" },
    { type: "job.answered", name: "w", value: "yes", by: "ada" },
    { type: "job.answered", name: "other", value: "no", by: "ada" },
    ...[attempt, attempt + 1].flatMap((number): readonly JobEvent[] => [
      { type: "job.completed", attempt: number, result: { answer: 42 } },
      { type: "job.failed", attempt: number, failure: FAILURE },
      { type: "job.timeoutReached", attempt: number, graceUntil: 5_500 },
      { type: "job.graceEnded", attempt: number },
      { type: "job.interrupted", attempt: number, isSideEffectUnknown: true },
      { type: "job.interrupted", attempt: number, isSideEffectUnknown: false },
      { type: "job.rerunScheduled", attempt: number, reason: "lost" },
    ]),
    { type: "job.cancelRequested", reason: "enough", by: "ada" },
    { type: "job.attemptsExhausted", failure: FAILURE },
    { type: "job.blocked", reason: "its type is away" },
    { type: "job.unblocked" },
    { type: "job.resolvedCompleted", result: 7, by: "ada", reason: "seen" },
    { type: "job.resolvedFailed", failure: FAILURE, by: "ada", reason: "seen" },
  ];

/** `diagnoses` and `retries` only count. */
export const livenessKey = ({ context }: ActorState<{ readonly attempt: number }>): string =>
  String(context.attempt > 0);

export const livenessEvents: readonly LivenessEvent[] = [
  { type: "liveness.opened", retryClass: "safe_to_retry", retryBudget: 3 },
  { type: "liveness.started", attempt: 1 },
  { type: "liveness.quietNoticed" },
  { type: "liveness.progressSeen" },
  { type: "liveness.staleSuspected" },
  { type: "liveness.diagnosisStarted" },
  { type: "liveness.foundAlive", isQuiet: true },
  { type: "liveness.foundAlive", isQuiet: false },
  { type: "liveness.foundInconclusive", sideEffect: "none" },
  { type: "liveness.foundInconclusive", sideEffect: "unknown" },
  { type: "liveness.waitDeclared", kind: "approval", reason: "please" },
  { type: "liveness.waitEnded" },
  { type: "liveness.cancelRequested" },
  { type: "liveness.ownerLost", sideEffect: "unknown" },
  { type: "liveness.retryScheduled", attempt: 2 },
  { type: "liveness.blocked" },
  { type: "liveness.unblocked" },
  { type: "liveness.ended", outcome: "completed", sideEffect: "completed" },
  { type: "liveness.ended", outcome: "failed", sideEffect: "none" },
  { type: "liveness.ended", outcome: "cancelled", sideEffect: "unknown" },
];

/** What an observer says that has seen nothing: of all of it together, no end and no retry may follow (STA-1, RTY-6). */
export const SILENCE: readonly LivenessEvent[] = livenessEvents.filter(({ type }) =>
  [
    "liveness.quietNoticed",
    "liveness.staleSuspected",
    "liveness.diagnosisStarted",
    "liveness.foundInconclusive",
    "liveness.ownerLost",
  ].includes(type),
);

/** `owner`, `fence` and `mode` are only kept. */
export const dispatcherKey = (): string => "";

export const dispatcherEvents: readonly DispatcherEvent[] = [
  {
    type: "dispatcher.taken",
    fence: 1,
    owner: "ada",
    boot: { id: "b", uptimeMs: 1 },
    closed: [{ fence: 1, validThrough: 2 }],
  },
  { type: "dispatcher.resynced", fence: 9, closed: [] },
  { type: "dispatcher.recovered", liveJobs: 3 },
  { type: "dispatcher.stopping", mode: "detach" },
  { type: "dispatcher.stopping", mode: "shutdown" },
  { type: "dispatcher.fenced", position: 12 },
];
