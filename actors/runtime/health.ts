/**
 * Health: how an owner of a partition is, and how much of that is acknowledged.
 *
 * Owns: what is told of the runtime itself, the state of the dispatcher and the number of live jobs as the log has them. Does
 * not own: measuring anything.
 *
 * HE1. Memory runs ahead of the log; what is told does not (ES-10). A store that is away is told of all the same: nothing here
 *     waits for it.
 */
import type { Durability } from "../journal/codec.ts";
import type { CellStore } from "../turn/cell.ts";
import type { Committed } from "../turn/turn.ts";
import type { Finding } from "./fold.ts";

export interface Health {
  /** recovering, ready, stopping, fenced. */
  readonly state: string;
  readonly journal: string;
  readonly durability: Durability;
  readonly owner: string;
  readonly fence: number;
  readonly acknowledged: number;
  readonly pendingMessages: number;
  readonly liveJobs: number;
  readonly runningJobs: number;
  readonly leakedJobs: number;
  readonly setAside: readonly ({ readonly job: string } & Finding)[];
  readonly types: readonly string[];
}

/** What is acknowledged of what is staged, turn by turn. */
export class Standing {
  readonly #cells: CellStore;
  /** Jobs whose submission is staged and not acknowledged. */
  #opening = 0;
  /** Of the dispatcher: acknowledged, and after each of its moves that is staged. */
  #state: string;
  readonly #states: string[] = [];

  /** Begins with what a fold gave. */
  constructor(cells: CellStore) {
    this.#cells = cells;
    this.#state = cells.dispatcher.state.value;
  }

  get state(): string {
    return this.#state;
  }

  get liveJobs(): number {
    return this.#cells.size - this.#opening; // An ended job leaves the store when its end is acknowledged.
  }

  staged(moves: readonly Committed[]): void {
    for (const { cell, event } of moves) {
      if (event.type === "job.submitted") this.#opening += 1;
      else if (cell.kind === "dispatcher") this.#states.push(cell.state.value);
    }
  }

  acknowledged(moves: readonly Committed[]): void {
    for (const { cell, event } of moves) {
      if (event.type === "job.submitted") this.#opening -= 1;
      else if (cell.kind === "dispatcher") this.#state = this.#states.shift() ?? this.#state;
    }
  }

  /** The log itself said so, by another owner's fence. */
  fenced(): void {
    this.#state = "fenced";
  }
}
