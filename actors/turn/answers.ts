/**
 * Answers: promises of what turns decided, kept until it is acknowledged.
 *
 * Owns: rejecting those that will never be acknowledged here. Does not own: deciding.
 *
 * W1. A promise given here settles: with its answer when that is acknowledged (T2), or with the error that ended the owner.
 *     What was staged then may be in the log or not; only who owns the log next can tell.
 */
import type { HoldfastError } from "../errors.ts";

export class Answers {
  readonly #pending = new Set<(error: HoldfastError) => void>();
  #over: HoldfastError | null = null;

  /** The error that ended the owner; null while it lives. */
  get over(): HoldfastError | null {
    return this.#over;
  }

  /**
   * `ask` is called at once, and calls its argument when the answer is acknowledged. What it throws is thrown, at once: the
   * promise rejects for the owner's end alone.
   */
  give<Answer>(ask: (resolve: (answer: Answer) => void) => void): Promise<Answer> {
    if (this.#over !== null) return Promise.reject(this.#over);
    let isRefused = false;
    let refusal: unknown;
    const answer = new Promise<Answer>((resolve, reject) => {
      this.#pending.add(reject);
      try {
        ask((given) => {
          this.#pending.delete(reject);
          resolve(given);
        });
      } catch (error) {
        this.#pending.delete(reject);
        isRefused = true;
        refusal = error;
      }
    });
    if (isRefused) throw refusal;
    return answer;
  }

  /** Nothing is acknowledged any more. What ended the owner first is what it is over for. */
  end(error: HoldfastError): void {
    this.#over ??= error;
    for (const reject of this.#pending) reject(this.#over);
    this.#pending.clear();
  }
}
