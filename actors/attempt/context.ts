/**
 * The context of a tool: what the code of a job sees of the runtime while one attempt runs.
 *
 * Owns: the public surface of an attempt. Does not own: submitting children (doer-context.ts), deciding (turns), running
 * (execution.ts).
 *
 * O1. A context belongs to one attempt; after its end, calls that would act refuse with `illegal_state`.
 */
import type { JobSpec } from "../../machines/job/spec.ts";
import type { Json } from "../../machines/json.ts";
import { IllegalStateError } from "../errors.ts";
import { type Cancellation, CancellationSignal } from "./cancellation.ts";
import type { Dependencies } from "./dependencies.ts";

export class ToolContext {
  readonly spec: JobSpec;
  /** Counts from 1; a fencing token for systems outside that can compare numbers. */
  readonly attempt: number;
  readonly dependencies: Dependencies;
  protected readonly cancellation: Cancellation;
  readonly #remaining: () => number | null;

  constructor(options: {
    spec: JobSpec;
    attempt: number;
    dependencies: Dependencies;
    cancellation: Cancellation;
    remaining: () => number | null;
  }) {
    this.spec = options.spec;
    this.attempt = options.attempt;
    this.dependencies = options.dependencies;
    this.cancellation = options.cancellation;
    this.#remaining = options.remaining;
  }

  get id(): string {
    return this.spec.id;
  }

  get type(): string {
    return this.spec.type;
  }

  get kind(): "tool" | "doer" {
    return this.spec.kind;
  }

  get workflow(): string {
    return this.spec.workflow;
  }

  get user(): string {
    return this.spec.user;
  }

  /** Null for a root. */
  get parent(): string | null {
    return this.spec.parent;
  }

  get metadata(): Readonly<Record<string, Json>> {
    return this.spec.metadata;
  }

  /** Whether this attempt has ended: code that is still running then runs outside any job. */
  get isOver(): boolean {
    return this.cancellation.isOver;
  }

  /** Aborts when the job is cancelled or times out. */
  get signal(): AbortSignal {
    return this.cancellation.signal;
  }

  isCancelled(): boolean {
    return this.cancellation.reason !== null;
  }

  hasTimedOut(): boolean {
    return this.cancellation.hasTimedOut;
  }

  /** Throws the cancellation signal when the job is cancelled; let it through. */
  checkCancellation(): void {
    if (this.cancellation.reason !== null) throw new CancellationSignal(this.cancellation.reason);
  }

  /** Runs once at the cancel or timeout, at once when it is cancelled already. */
  onCancel(callback: () => void): void {
    this.cancellation.onCancel(callback);
  }

  /** Runs once at the timeout, at once after it; dropped when the attempt has ended. */
  onTimeout(callback: () => void): void {
    this.cancellation.onTimeout(callback);
  }

  /** Ms until the attempt times out, at least 0; null without a timeout. */
  remainingTimeMs(): number | null {
    return this.#remaining();
  }

  /** O1. */
  protected assertLive(what: string): void {
    if (!this.isOver) return;
    throw new IllegalStateError(`${what}: attempt ${this.attempt} of job ${this.id} has ended.`, {
      details: { job: this.id, attempt: this.attempt },
    });
  }
}
