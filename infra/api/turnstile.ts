/**
 * A turnstile: so many at once, so many waiting, and no more.
 *
 * Owns: the order (first come, first served) and the two bounds. Does not own: what is done inside.
 */
import { IllegalStateError } from "../../actors/errors.ts";

export class Turnstile {
  readonly #what: string;
  readonly #insideMax: number;
  readonly #waitingMax: number;
  readonly #waiting: (() => void)[] = [];
  #inside = 0;

  /** `what` stands in the refusal: "queries". */
  constructor(options: {
    readonly what: string;
    readonly insideMax: number;
    readonly waitingMax: number;
  }) {
    this.#what = options.what;
    this.#insideMax = options.insideMax;
    this.#waitingMax = options.waitingMax;
  }

  /** Runs `work` when its turn comes. Rejects with `illegal_state` (retry: backoff) when too many wait already. */
  async pass<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.#inside < this.#insideMax) this.#inside += 1;
    else await this.#turn();
    try {
      return await work();
    } finally {
      // Whoever is next takes the place over, so that nobody slips in between.
      const next = this.#waiting.shift();
      if (next === undefined) this.#inside -= 1;
      else next();
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.length >= this.#waitingMax) {
      throw new IllegalStateError(
        `${this.#waitingMax} ${this.#what} wait already: ask again in a while.`,
        { retry: "backoff", details: { waiting: this.#waitingMax } },
      );
    }
    return new Promise((resolve) => this.#waiting.push(resolve));
  }
}
