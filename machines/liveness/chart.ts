/**
 * The liveness chart: what is known about a task being alive. Thirteen states, and no other (STA-0).
 *
 * Owns: which evidence leads where. Does not own: thresholds and looking (the observer hands in what it saw), where an
 * execution stands (machines/job), process ownership.
 *
 * V1. Silence leads to `quiet`, to `stale_suspected`, to `diagnosing` and to `observer_unknown`: never to an end, never to
 *     a retry (STA-1, STA-4, RTY-6).
 * V2. `stale_suspected` is left by a diagnosis, by the task's own word (a wait, an end), by a cancel or a lost owner.
 * V3. Nothing leaves completed, failed, cancelled (STA-6). A retry passes `retrying` first.
 */
import { defineChart } from "../engine/define-chart.ts";
import type { RetryClass } from "../job/spec.ts";
import { LivenessEvent, type SideEffect, type WaitKind } from "./events.ts";

export interface LivenessContext {
  readonly attempt: number;
  readonly retryClass: RetryClass;
  readonly retryBudget: number;
  /** Automatic and ordered new attempts so far. */
  readonly retries: number;
  readonly sideEffect: SideEffect;
  readonly wait: { readonly kind: WaitKind; readonly reason: string } | null;
  /** Diagnoses since it was last found alive. */
  readonly diagnoses: number;
}

const EMPTY: LivenessContext = Object.freeze({
  attempt: 0,
  retryClass: "unknown_no_automatic_retry",
  retryBudget: 0,
  retries: 0,
  sideEffect: "none",
  wait: null,
  diagnoses: 0,
});

/** An end can be observed in every state that is none itself: the evidence of an exit outranks every suspicion. */
const ends = [
  { guard: "isCompleted", target: "completed", actions: ["close"] },
  { guard: "isFailed", target: "failed", actions: ["close"] },
  { target: "cancelled", actions: ["close"] },
] as const;

const cancel = { target: "cancelling", actions: ["leaveWait"] } as const;
/** A task's own word is evidence of its life, whatever was suspected. */
const waits = { target: "external_wait", actions: ["declareWait"] } as const;
const lost = { target: "observer_unknown", actions: ["loseOwner"] } as const;

export const livenessChart = defineChart({
  id: "liveness",
  version: 1,
  context: (): LivenessContext => EMPTY,
  events: LivenessEvent,
  guards: {
    isCompleted: ({ event }) => event.type === "liveness.ended" && event.outcome === "completed",
    isFailed: ({ event }) => event.type === "liveness.ended" && event.outcome === "failed",
    hasStartedBefore: ({ context }) => context.attempt > 0,
    isQuiet: ({ event }) => event.type === "liveness.foundAlive" && event.isQuiet,
  },
  reducers: {
    open: ({ event }) =>
      event.type === "liveness.opened"
        ? { retryClass: event.retryClass, retryBudget: event.retryBudget }
        : {},
    start: ({ event }) =>
      event.type === "liveness.started" ? { attempt: event.attempt, diagnoses: 0 } : {},
    declareWait: ({ event }) =>
      event.type === "liveness.waitDeclared"
        ? { wait: { kind: event.kind, reason: event.reason } }
        : {},
    leaveWait: () => ({ wait: null }),
    countDiagnosis: ({ context }) => ({ diagnoses: context.diagnoses + 1 }),
    clearDiagnoses: () => ({ diagnoses: 0 }),
    doubt: ({ event }) =>
      event.type === "liveness.foundInconclusive" ? { sideEffect: event.sideEffect } : {},
    loseOwner: ({ event }) =>
      event.type === "liveness.ownerLost" ? { sideEffect: event.sideEffect, wait: null } : {},
    // What the attempt before may have done is as unknown as it was: a new one is no evidence of it (RTY-6).
    countRetry: ({ context }) => ({ retries: context.retries + 1 }),
    close: ({ event }) =>
      event.type === "liveness.ended" ? { sideEffect: event.sideEffect, wait: null } : {},
  },
  effects: [],
  initial: "queued",
  states: {
    queued: {
      on: {
        "liveness.opened": { actions: ["open"] },
        "liveness.started": { target: "running", actions: ["start"] },
        "liveness.blocked": { target: "blocked" },
        "liveness.ended": ends,
      },
    },
    running: {
      on: {
        "liveness.quietNoticed": { target: "quiet" },
        "liveness.staleSuspected": { target: "stale_suspected" },
        "liveness.waitDeclared": waits,
        "liveness.cancelRequested": cancel,
        "liveness.ownerLost": lost,
        "liveness.ended": ends,
      },
    },
    quiet: {
      on: {
        "liveness.progressSeen": { target: "running" },
        "liveness.staleSuspected": { target: "stale_suspected" },
        "liveness.waitDeclared": waits,
        "liveness.cancelRequested": cancel,
        "liveness.ownerLost": lost,
        "liveness.ended": ends,
      },
    },
    stale_suspected: {
      on: {
        "liveness.diagnosisStarted": { target: "diagnosing", actions: ["countDiagnosis"] },
        "liveness.waitDeclared": waits,
        "liveness.cancelRequested": cancel,
        "liveness.ownerLost": lost,
        "liveness.ended": ends,
      },
    },
    diagnosing: {
      on: {
        "liveness.foundAlive": [
          { guard: "isQuiet", target: "quiet", actions: ["clearDiagnoses"] },
          { target: "running", actions: ["clearDiagnoses"] },
        ],
        "liveness.foundInconclusive": { target: "observer_unknown", actions: ["doubt"] },
        "liveness.waitDeclared": waits,
        "liveness.cancelRequested": cancel,
        "liveness.ownerLost": lost,
        "liveness.ended": ends,
      },
    },
    external_wait: {
      on: {
        // A second wait beside the first: the newest one is shown, the last answer ends it.
        "liveness.waitDeclared": { actions: ["declareWait"] },
        "liveness.waitEnded": { target: "running", actions: ["leaveWait"] },
        "liveness.cancelRequested": cancel,
        "liveness.ownerLost": lost,
        "liveness.ended": ends,
      },
    },
    blocked: {
      on: {
        "liveness.unblocked": [
          { guard: "hasStartedBefore", target: "retrying" },
          { target: "queued" },
        ],
        "liveness.retryScheduled": { target: "retrying", actions: ["countRetry"] },
        "liveness.ended": ends,
      },
    },
    cancelling: { on: { "liveness.ownerLost": lost, "liveness.ended": ends } },
    retrying: {
      on: {
        "liveness.started": { target: "running", actions: ["start"] },
        "liveness.blocked": { target: "blocked" },
        "liveness.ended": ends,
      },
    },
    observer_unknown: {
      on: {
        "liveness.diagnosisStarted": { target: "diagnosing", actions: ["countDiagnosis"] },
        "liveness.foundAlive": [
          { guard: "isQuiet", target: "quiet", actions: ["clearDiagnoses"] },
          { target: "running", actions: ["clearDiagnoses"] },
        ],
        "liveness.retryScheduled": { target: "retrying", actions: ["countRetry"] },
        "liveness.blocked": { target: "blocked" },
        "liveness.waitDeclared": waits,
        "liveness.cancelRequested": cancel,
        // It was unknown before; now it is known that nobody will ever say.
        "liveness.ownerLost": { actions: ["loseOwner"] },
        "liveness.ended": ends,
      },
    },
    completed: { type: "final" },
    failed: { type: "final" },
    cancelled: { type: "final" },
  },
});

export const LIVENESS_STATES = [
  "queued",
  "running",
  "quiet",
  "stale_suspected",
  "diagnosing",
  "external_wait",
  "blocked",
  "cancelling",
  "retrying",
  "completed",
  "failed",
  "cancelled",
  "observer_unknown",
] as const;

export type LivenessState = (typeof LIVENESS_STATES)[number];
