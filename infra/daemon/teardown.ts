/**
 * Taking down in reverse what was put up.
 *
 * Owns: the order, a bound for each step, and that one failing step keeps no other from being done. Does not own: the steps.
 */
import { isDoneWithin } from "../system/bounded-wait.ts";

/** What a step may take when it says nothing else, ms. */
export const STEP_WAIT_MS_DEFAULT = 10_000;

export interface Step {
  /** A noun, for whoever reads that it failed: "the API". */
  readonly what: string;
  /** Default: 10 000 ms. */
  readonly waitMs?: number;
  readonly close: () => Promise<void> | void;
}

export type StepFault =
  | { readonly kind: "failed"; readonly what: string; readonly error: unknown }
  | { readonly kind: "slow"; readonly what: string; readonly waitMs: number };

export class Teardown {
  readonly #steps: Step[] = [];
  #isRun = false;

  /** What is put up after it has been run is taken down at once: its owner was given up while it still came up. */
  add(step: Step): void {
    this.#steps.push(step);
    if (this.#isRun) void this.run();
  }

  /** Runs what was added, the last first; each step once. Resolves with what did not end well. Never rejects. */
  async run(): Promise<readonly StepFault[]> {
    this.#isRun = true;
    const faults: StepFault[] = [];
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      const { what, close, waitMs = STEP_WAIT_MS_DEFAULT } = step;
      try {
        const isDone = await isDoneWithin(Promise.resolve(close()), waitMs);
        if (!isDone) faults.push({ kind: "slow", what, waitMs });
      } catch (error) {
        faults.push({ kind: "failed", what, error });
      }
    }
    return faults;
  }
}
