/**
 * The handle: a caller's hold on one job.
 *
 * Owns: waiting for the end, and how the end is told to a caller. Does not own: the job.
 *
 * H1. A handle settles once, last of all: who is woken by it finds the job finished (ATT-7).
 * H2. Whatever the failure, `result()` rejects with `job_failed`, and its `cause` is the failure itself.
 * H3. A job of which nobody knows the end leaves its handle pending (WAIT-5); only the end of the owner releases who waits.
 */
import type { JobOutcome } from "../../machines/job/chart.ts";
import type { Json } from "../../machines/json.ts";
import {
  type HoldfastError,
  InvalidArgumentError,
  JobFailedError,
  WaitTimeoutError,
} from "../errors.ts";
import { type Clock, wakeAfter } from "../ports/clock.ts";
import { type BadEnd, errorOfOutcome } from "./outcome-error.ts";

export interface CancelAnswer {
  /** Whether the job was found queued or running. */
  readonly isCancelled: boolean;
  readonly decision: "cancelled" | "cancelling" | "ended" | "not_found";
}

export interface HandlePorts {
  readonly clock: Clock;
  readonly cancel: (job: string, reason: string) => Promise<CancelAnswer>;
}

export type Settlement =
  | { readonly kind: "completed"; readonly result: Json }
  | {
      readonly kind: "failed";
      readonly error: JobFailedError;
      /** How it ended: its failure alone does not tell, for code may throw another job's cancellation as its own. */
      readonly end: BadEnd["kind"];
    };

interface Waiter {
  settle: (settlement: Settlement) => void;
  reject: (error: HoldfastError) => void;
}

export class JobHandle<Result = Json> {
  readonly id: string;
  readonly workflow: string;
  readonly #ports: HandlePorts;
  #settlement: Settlement | null = null;
  #abandoned: HoldfastError | null = null;
  #waiters: Waiter[] = [];

  constructor(id: string, workflow: string, ports: HandlePorts) {
    this.id = id;
    this.workflow = workflow;
    this.#ports = ports;
  }

  /** Null while the job is live. */
  get settlement(): Settlement | null {
    return this.#settlement;
  }

  /**
   * The job's result. Rejects with JobFailedError when it ends in any other way, and with WaitTimeoutError when `timeoutMs`
   * (> 0; default: none) passes first; the job goes on then. Rejects with the owner's error (`fenced`, `journal`,
   * `illegal_state` after a detach) when this runtime ends before the job.
   */
  result(options: { readonly timeoutMs?: number } = {}): Promise<Result> {
    const { timeoutMs } = options;
    if (timeoutMs !== undefined && !(Number.isFinite(timeoutMs) && timeoutMs > 0))
      return Promise.reject(waitFault(timeoutMs));
    return new Promise((resolve, reject) => {
      const settle = (settlement: Settlement): void => {
        if (settlement.kind === "failed") reject(settlement.error);
        else resolve(settlement.result as Result); // The definition's output schema parsed it before it was journaled.
      };
      if (this.#settlement !== null) settle(this.#settlement);
      else if (this.#abandoned !== null) reject(this.#abandoned);
      else this.#wait({ settle, reject }, timeoutMs);
    });
  }

  /** Asks the job to end (cooperatively when it runs). */
  cancel(reason = "cancelled by its submitter"): Promise<CancelAnswer> {
    return this.#ports.cancel(this.id, reason);
  }

  /** The runtime's word, once (H1). */
  settle(settlement: Settlement): void {
    if (this.#settlement !== null) return;
    this.#settlement = settlement;
    for (const waiter of this.#waiters.splice(0)) waiter.settle(settlement);
  }

  /** The owner has ended while the job had not: who waits here is told so; the job goes on under the next owner (H3). */
  abandon(error: HoldfastError): void {
    this.#abandoned = error;
    for (const waiter of this.#waiters.splice(0)) waiter.reject(error);
  }

  #wait(waiter: Waiter, timeoutMs: number | undefined): void {
    this.#waiters.push(waiter);
    if (timeoutMs === undefined) return;
    const { settle, reject } = waiter;
    const timer = wakeAfter(this.#ports.clock, timeoutMs, () => {
      this.#waiters = this.#waiters.filter((each) => each !== waiter);
      reject(waitTimeout(this.id, timeoutMs));
    });
    waiter.settle = (settlement) => {
      timer.cancel();
      settle(settlement);
    };
    waiter.reject = (error) => {
      timer.cancel();
      reject(error);
    };
  }
}

const waitFault = (timeoutMs: unknown) =>
  new InvalidArgumentError(
    `timeoutMs: a number of ms, more than 0 and finite; found ${String(timeoutMs)}.`,
  );

const waitTimeout = (job: string, timeoutMs: number) =>
  new WaitTimeoutError(`The job ${job} has not ended within ${timeoutMs} ms; it goes on.`, {
    details: { job, timeoutMs },
  });

/** How an end is told to callers (H2). */
export function settlementOf(job: string, outcome: JobOutcome): Settlement {
  if (outcome.kind === "completed") return outcome;
  const error = failureOf(job, errorOfOutcome(job, outcome));
  return { kind: "failed", error, end: outcome.kind };
}

export const failureOf = (job: string, cause: HoldfastError): JobFailedError =>
  new JobFailedError(`The job ${job} did not complete: ${cause.message}`, {
    cause,
    details: { job, code: cause.code },
  });
