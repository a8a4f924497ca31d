/**
 * Health: how an owner of a partition is, and how much of that is acknowledged.
 *
 * Owns: what is told of the runtime itself, the state of the dispatcher and the number of live jobs as the log has them. Does
 * not own: measuring anything.
 *
 * HE1. Memory runs ahead of the log; what is told does not (ES-10). A store that is away is told of all the same: nothing here
 *     waits for it.
 */
import type { ChartEvent } from "../../machines/engine/chart.ts";
import type { HoldfastError } from "../errors.ts";
import type { Durability } from "../journal/codec.ts";
import type { CellStore } from "../turn/cell.ts";
import type { Committed } from "../turn/turn.ts";
import type { Finding } from "./fold.ts";
import type { Room } from "./space.ts";

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
  /** Of the store, as it was told last; null: without limits, or not known. */
  readonly room: Room | null;
}

/** What one staged turn changes of what is told, when it is acknowledged. */
export interface Staged {
  /** Jobs that it submits. */
  readonly opened: number;
  /** Where it leaves the dispatcher; null: where it was. */
  readonly state: string | null;
}

/** Nearly every turn is one of these: none is made for each. */
const NOTHING: Staged = Object.freeze({ opened: 0, state: null });
const ONE_JOB: Staged = Object.freeze({ opened: 1, state: null });

/** What is acknowledged of what is staged, turn by turn. */
export class Standing {
  readonly #cells: CellStore;
  /** Jobs whose submission is staged and not acknowledged. */
  #opening = 0;
  /** Of the dispatcher. */
  #state: string;

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

  staged(moves: readonly Committed[]): Staged {
    let opened = 0;
    let state: string | null = null;
    for (const { cell, event } of moves) {
      if (event.type === "job.submitted") opened += 1;
      else if (cell.kind === "dispatcher") state = cell.state.value;
    }
    this.#opening += opened;
    if (state !== null || opened > 1) return { opened, state };
    return opened === 1 ? ONE_JOB : NOTHING;
  }

  acknowledged({ opened, state }: Staged): void {
    this.#opening -= opened;
    if (state !== null) this.#state = state;
  }

  /** The log itself said so, by another owner's fence: in memory alone (D2). */
  fenced(error: HoldfastError): void {
    const { dispatcher } = this.#cells;
    const step = dispatcher.chart.engine.step(dispatcher.state, fencedEvent(error));
    this.#state = "fenced";
    if (step !== null) dispatcher.state = step.state;
  }
}

const fencedEvent = (error: HoldfastError): ChartEvent => {
  const { position } = error.details;
  const event = {
    type: "dispatcher.fenced",
    position: typeof position === "number" ? position : 0,
  };
  return event;
};
