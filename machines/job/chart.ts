/**
 * The job chart: where one execution stands.
 *
 * Owns: the states of an execution, its attempts, what is told to whom at each move. Does not own: what is known about the
 * task being alive (machines/liveness), who may submit (the door), when a queued job may start (the line).
 *
 * Q1. Every event here is a fact that was decided; a state that has no place for it refuses it, and nothing else does.
 * Q2. A final state is left by nothing (CTX-5). A cancel that comes first wins over every later end (CAN-3).
 * Q3. `interrupted` says that nobody saw the end: only a scheduled re-run, a person's word or a cancel leaves it.
 */
import { defineChart } from "../engine/define-chart.ts";
import type { Json } from "../json.ts";
import type { SideEffect } from "../liveness/events.ts";
import { type DependencyOutcome, type Failure, JobEvent } from "./events.ts";
import type { JobSpec } from "./spec.ts";

/** How a job ended, as its handle and its dependents are told. */
export type JobOutcome =
  | { readonly kind: "completed"; readonly result: Json }
  | { readonly kind: "failed"; readonly failure: Failure }
  | {
      readonly kind: "cancelled";
      readonly reason: string;
      readonly by: string;
      readonly failure?: Failure;
    }
  | { readonly kind: "timed_out"; readonly failure?: Failure; readonly isLeaked: boolean };

export interface JobContext {
  /** Null only before `job.submitted`. */
  readonly spec: JobSpec | null;
  /** Of the running or last attempt; 0 before the first. */
  readonly attempt: number;
  /** Journal time at which that attempt runs out, ms; null without a timeout. */
  readonly timeoutAt: number | null;
  /** Dependencies that have not settled. */
  readonly pending: readonly string[];
  readonly settled: Readonly<
    Record<string, { outcome: DependencyOutcome; failure?: Failure | undefined }>
  >;
  /** Results of `context.step`, by key. */
  readonly steps: Readonly<Record<string, Json>>;
  readonly answers: Readonly<Record<string, Json>>;
  /** Words from outside that this attempt or one before asked for, and that have not come: they are taken when they do. */
  readonly awaited: readonly string[];
  /** Those of them that the running attempt itself waits for. */
  readonly waitingFor: readonly string[];
  readonly cancel: { readonly reason: string; readonly by: string } | null;
  /** Null until it ends. */
  readonly outcome: JobOutcome | null;
}

const NOTHING: Readonly<Record<string, never>> = Object.freeze({});
const NOBODY: readonly string[] = Object.freeze([]);

const EMPTY: JobContext = Object.freeze({
  spec: null,
  attempt: 0,
  timeoutAt: null,
  pending: NOBODY,
  settled: NOTHING,
  steps: NOTHING,
  answers: NOTHING,
  awaited: NOBODY,
  waitingFor: NOBODY,
  cancel: null,
  outcome: null,
});

/** Stands where an end has no failure of its own; no event that `fail` runs on comes without one. */
const NO_FAILURE: Failure = { code: "system", message: "no failure was recorded", retry: "never" };

/**
 * The move into a final state: what is told of it, and what becomes of its effect where that is not as the outcome says. Code
 * that threw has ended; what it had done before that is unknown (RTY-6).
 */
const ended = (
  target: "completed" | "failed" | "cancelled" | "timed_out",
  reducer: "complete" | "fail" | "concludeCancel" | "timeOut",
  reason: string,
  sideEffect: SideEffect = target === "completed" ? "completed" : "none",
) => ({
  target,
  actions: [reducer, "do.settle", { type: "tell.ended", params: { reason, sideEffect } }] as const,
});

/** What an attempt that was lost may have done is as unknown as it was, whatever became of the job since. */
const effectOfLost = ({ spec, attempt }: JobContext): SideEffect =>
  attempt === 0 || spec?.retryClass === "safe_to_retry" ? "none" : "unknown";

const cancelledBeforeStart = {
  target: "cancelled",
  actions: [
    "markCancelled",
    "concludeCancel",
    "do.settle",
    {
      type: "tell.ended",
      params: ({ context }: { readonly context: JobContext }) => ({
        reason: "cancelled before it started",
        sideEffect: effectOfLost(context),
      }),
    },
  ],
} as const;

const withName = (names: readonly string[], name: string): readonly string[] =>
  names.includes(name) ? names : [...names, name];

/** Answered while nobody waits, between two attempts or before this one asks: who asks finds the answer. */
const answeredMeanwhile = { guard: "isAwaited", actions: ["answer"] } as const;

export const jobChart = defineChart({
  id: "job",
  version: 1,
  context: (): JobContext => EMPTY,
  events: JobEvent,
  guards: {
    hasDependencies: ({ event }) =>
      event.type === "job.submitted" && event.spec.dependencies.length > 0,
    isLastDependency: ({ context, event }) =>
      event.type === "job.dependencySettled" &&
      context.pending.every((id) => id === event.dependency),
    isTimely: ({ context, event }) => "attempt" in event && event.attempt === context.attempt,
    isTimelyAndDoubtful: ({ context, event }) =>
      event.type === "job.interrupted" &&
      event.attempt === context.attempt &&
      event.isSideEffectUnknown,
    isNextAttempt: ({ context, event }) =>
      "attempt" in event && event.attempt === context.attempt + 1,
    isAwaited: ({ context, event }) =>
      event.type === "job.answered" && context.awaited.includes(event.name),
    isWaitedFor: ({ context, event }) =>
      event.type === "job.answered" && context.waitingFor.includes(event.name),
  },
  reducers: {
    open: ({ event }) =>
      event.type === "job.submitted"
        ? {
            spec: event.spec,
            pending:
              event.spec.dependencies.length === 0
                ? NOBODY
                : event.spec.dependencies.map(({ id }) => id),
          }
        : {},
    settleDependency: ({ context, event }) =>
      event.type === "job.dependencySettled"
        ? {
            pending: context.pending.filter((id) => id !== event.dependency),
            settled: {
              ...context.settled,
              [event.dependency]: { outcome: event.outcome, failure: event.failure },
            },
          }
        : {},
    beginAttempt: ({ event }) =>
      event.type === "job.started"
        ? { attempt: event.attempt, timeoutAt: event.timeoutAt, waitingFor: NOBODY }
        : {},
    recordStep: ({ context, event }) =>
      event.type === "job.stepRecorded"
        ? { steps: { ...context.steps, [event.key]: event.value } }
        : {},
    await: ({ context, event }) =>
      event.type === "job.waitDeclared"
        ? {
            awaited: withName(context.awaited, event.name),
            waitingFor: withName(context.waitingFor, event.name),
          }
        : {},
    answer: ({ context, event }) =>
      event.type === "job.answered"
        ? {
            awaited: context.awaited.filter((name) => name !== event.name),
            waitingFor: context.waitingFor.filter((name) => name !== event.name),
            answers: { ...context.answers, [event.name]: event.value },
          }
        : {},
    markCancelled: ({ event }) =>
      event.type === "job.cancelRequested"
        ? { cancel: { reason: event.reason, by: event.by } }
        : {},
    complete: ({ event }) => ({
      outcome: { kind: "completed", result: "result" in event ? event.result : null },
    }),
    fail: ({ event }) => ({
      outcome: {
        kind: "failed",
        failure: "failure" in event && event.failure !== undefined ? event.failure : NO_FAILURE,
      },
    }),
    concludeCancel: ({ context, event }) => ({
      outcome: {
        kind: "cancelled",
        reason: context.cancel?.reason ?? "",
        by: context.cancel?.by ?? "",
        ...("failure" in event && event.failure !== undefined ? { failure: event.failure } : {}),
      },
    }),
    timeOut: ({ event }) => ({
      outcome: {
        kind: "timed_out",
        isLeaked: event.type === "job.graceEnded",
        ...("failure" in event && event.failure !== undefined ? { failure: event.failure } : {}),
      },
    }),
  },
  effects: [
    "tell.opened",
    "tell.queued",
    "tell.started",
    "tell.waitDeclared",
    "tell.answered",
    "tell.cancelling",
    "tell.interrupted",
    "tell.rerun",
    "tell.blocked",
    "tell.unblocked",
    "tell.ended",
    "do.start",
    "do.armTimer",
    "do.signalCancel",
    "do.signalTimeout",
    "do.answer",
    "do.settle",
  ],
  initial: "new",
  states: {
    new: {
      on: {
        "job.submitted": [
          { guard: "hasDependencies", target: "waiting", actions: ["open", "tell.opened"] },
          { target: "queued", actions: ["open", "tell.opened", "tell.queued"] },
        ],
      },
    },
    waiting: {
      on: {
        "job.dependencySettled": [
          {
            guard: "isLastDependency",
            target: "queued",
            actions: ["settleDependency", "tell.queued"],
          },
          { actions: ["settleDependency"] },
        ],
        "job.dependencyFailed": ended("failed", "fail", "a dependency failed"),
        "job.cancelRequested": cancelledBeforeStart,
      },
    },
    queued: {
      on: {
        "job.started": {
          guard: "isNextAttempt",
          target: "running",
          actions: [
            "beginAttempt",
            "do.start",
            {
              type: "do.armTimer",
              params: ({ event }) => ({ timer: "timeout", dueAt: event.timeoutAt }),
            },
            "tell.started",
          ],
        },
        "job.answered": answeredMeanwhile,
        "job.blocked": {
          target: "blocked",
          actions: [{ type: "tell.blocked", params: ({ event }) => ({ reason: event.reason }) }],
        },
        "job.cancelRequested": cancelledBeforeStart,
      },
    },
    running: {
      on: {
        "job.stepRecorded": { actions: ["recordStep"] },
        "job.waitDeclared": {
          actions: [
            "await",
            {
              type: "tell.waitDeclared",
              params: ({ event }) => ({ kind: event.kind, reason: event.reason }),
            },
          ],
        },
        "job.answered": [
          {
            guard: "isWaitedFor",
            actions: [
              "answer",
              {
                type: "do.answer",
                params: ({ event }) => ({ name: event.name, value: event.value }),
              },
              {
                type: "tell.answered",
                params: ({ context }) => ({ remaining: context.waitingFor.length }),
              },
            ],
          },
          answeredMeanwhile,
        ],
        "job.completed": {
          guard: "isTimely",
          ...ended("completed", "complete", "its code returned"),
        },
        "job.failed": {
          guard: "isTimely",
          ...ended("failed", "fail", "its code threw", "unknown"),
        },
        "job.cancelRequested": {
          target: "cancelling",
          actions: [
            "markCancelled",
            { type: "do.signalCancel", params: ({ event }) => ({ reason: event.reason }) },
            { type: "tell.cancelling", params: ({ event }) => ({ reason: event.reason }) },
          ],
        },
        "job.timeoutReached": {
          guard: "isTimely",
          target: "expiring",
          actions: [
            "do.signalTimeout",
            {
              type: "do.armTimer",
              params: ({ event }) => ({ timer: "grace", dueAt: event.graceUntil }),
            },
            { type: "tell.cancelling", params: { reason: "it ran past its timeout" } },
          ],
        },
        "job.interrupted": {
          guard: "isTimely",
          target: "interrupted",
          actions: [
            {
              type: "tell.interrupted",
              params: ({ event }) => ({ isSideEffectUnknown: event.isSideEffectUnknown }),
            },
          ],
        },
      },
    },
    cancelling: {
      on: {
        "job.completed": {
          guard: "isTimely",
          ...ended(
            "cancelled",
            "concludeCancel",
            "cancelled while it ran; its code returned",
            "completed",
          ),
        },
        "job.failed": {
          guard: "isTimely",
          ...ended(
            "cancelled",
            "concludeCancel",
            "cancelled while it ran; its code threw",
            "unknown",
          ),
        },
        "job.timeoutReached": {
          guard: "isTimely",
          actions: [
            "do.signalTimeout",
            {
              type: "do.armTimer",
              params: ({ event }) => ({ timer: "grace", dueAt: event.graceUntil }),
            },
          ],
        },
        "job.graceEnded": {
          guard: "isTimely",
          ...ended(
            "cancelled",
            "concludeCancel",
            "cancelled while it ran; its code has not returned",
            "unknown",
          ),
        },
        "job.interrupted": [
          {
            guard: "isTimelyAndDoubtful",
            ...ended(
              "cancelled",
              "concludeCancel",
              "cancelled while it ran; its process is gone",
              "unknown",
            ),
          },
          {
            guard: "isTimely",
            ...ended("cancelled", "concludeCancel", "cancelled while it ran; its process is gone"),
          },
        ],
      },
    },
    expiring: {
      on: {
        "job.completed": {
          guard: "isTimely",
          ...ended("timed_out", "timeOut", "it returned after its timeout", "completed"),
        },
        "job.failed": {
          guard: "isTimely",
          ...ended("timed_out", "timeOut", "it threw after its timeout", "unknown"),
        },
        "job.graceEnded": {
          guard: "isTimely",
          ...ended("timed_out", "timeOut", "its code has not returned", "unknown"),
        },
        "job.interrupted": [
          {
            guard: "isTimelyAndDoubtful",
            ...ended("timed_out", "timeOut", "its process is gone", "unknown"),
          },
          { guard: "isTimely", ...ended("timed_out", "timeOut", "its process is gone") },
        ],
      },
    },
    interrupted: {
      on: {
        "job.answered": answeredMeanwhile,
        "job.rerunScheduled": {
          guard: "isNextAttempt",
          target: "queued",
          actions: [
            {
              type: "tell.rerun",
              params: ({ event }) => ({ attempt: event.attempt, reason: event.reason }),
            },
            "tell.queued",
          ],
        },
        "job.attemptsExhausted": ended("failed", "fail", "its retry budget is spent"),
        "job.resolvedCompleted": ended("completed", "complete", "a person said that it completed"),
        "job.resolvedFailed": {
          target: "failed",
          actions: [
            "fail",
            "do.settle",
            {
              type: "tell.ended",
              params: ({ context }: { readonly context: JobContext }) => ({
                reason: "a person said that it failed",
                sideEffect: effectOfLost(context),
              }),
            },
          ],
        },
        "job.cancelRequested": {
          target: "cancelled",
          actions: [
            "markCancelled",
            "concludeCancel",
            "do.settle",
            {
              type: "tell.ended",
              params: {
                reason: "cancelled; nobody saw its last attempt end",
                sideEffect: "unknown",
              },
            },
          ],
        },
      },
    },
    blocked: {
      on: {
        "job.answered": answeredMeanwhile,
        "job.unblocked": { target: "queued", actions: ["tell.unblocked", "tell.queued"] },
        "job.cancelRequested": cancelledBeforeStart,
      },
    },
    completed: { type: "final" },
    failed: { type: "final" },
    cancelled: { type: "final" },
    timed_out: { type: "final" },
  },
});
