/**
 * Cooperative cancellation, as the code of a job sees it.
 *
 * Owns: the flags, the callbacks, the abort signal of one attempt. Does not own: the decision to cancel (the job chart).
 *
 * Y1. A callback runs once: at the signal, or at once when registered after it (CTX-2).
 * Y2. After the job's end a timeout callback is dropped.
 */
import { HoldfastError } from "../errors.ts";

/** Unwinds a cancelled job through whatever it stands in (CAN-2). Never re-run, never charged to a limiter. */
export class CancellationSignal extends HoldfastError {
  constructor(reason: string) {
    super("job_cancelled", `Cancelled: ${reason}.`, { details: { reason } });
    this.name = "CancellationSignal";
  }
}

export class Cancellation {
  #reason: string | null = null;
  #hasTimedOut = false;
  #isOver = false;
  #controller: AbortController | null = null;
  /** Null until one is registered: most jobs have none. */
  #cancelCallbacks: (() => void)[] | null = null;
  #timeoutCallbacks: (() => void)[] | null = null;
  readonly #failed: (error: unknown) => void;

  /** `failed` is told what a callback threw. */
  constructor(failed: (error: unknown) => void) {
    this.#failed = failed;
  }

  get reason(): string | null {
    return this.#reason;
  }

  get hasTimedOut(): boolean {
    return this.#hasTimedOut;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Aborts at the signal; made on first use, since most jobs never look. */
  get signal(): AbortSignal {
    if (this.#controller === null) {
      this.#controller = new AbortController();
      if (this.#reason !== null) this.#controller.abort(new CancellationSignal(this.#reason));
    }
    return this.#controller.signal;
  }

  /** Raises the flags and runs the callbacks. A second call does nothing but add the timeout flag. */
  raise(reason: string, isTimeout: boolean): void {
    if (isTimeout && !this.#hasTimedOut) {
      this.#hasTimedOut = true;
      this.#run(this.#timeoutCallbacks?.splice(0));
    }
    if (this.#reason !== null) return;
    this.#reason = reason;
    this.#controller?.abort(new CancellationSignal(reason));
    this.#run(this.#cancelCallbacks?.splice(0));
  }

  onCancel(callback: () => void): void {
    if (this.#reason !== null) this.#run([callback]);
    else this.#cancelCallbacks = [...(this.#cancelCallbacks ?? []), callback];
  }

  onTimeout(callback: () => void): void {
    if (this.#hasTimedOut) this.#run([callback]);
    else if (!this.#isOver) this.#timeoutCallbacks = [...(this.#timeoutCallbacks ?? []), callback];
  }

  /** The attempt has ended. */
  close(): void {
    this.#isOver = true;
    this.#timeoutCallbacks = null;
  }

  #run(callbacks: readonly (() => void)[] | undefined): void {
    for (const callback of callbacks ?? []) {
      try {
        callback();
      } catch (error) {
        this.#failed(error);
      }
    }
  }
}
