/**
 * Space: whether the store has room for new work.
 *
 * Owns: the decision, what is known of the room, when it is asked for again. Does not own: measuring (infra), what a full store
 * does to a submission (the door).
 *
 * SP1. New work is refused while a bound of the store has less than its reserve left. Work that runs goes on, its children
 *      included: the reserve is what it closes its records with.
 * SP2. A store that does not answer says nothing new: what it said last stands. Only asking is passed over, never a refusal.
 * SP3. Asking follows the work: a submission that finds the last answer old has it asked again for those behind it. An idle
 *      owner asks nothing.
 */
import { isHoldfastError, JournalError } from "../errors.ts";
import type { Clock } from "../ports/clock.ts";

/** One of the limits that a store is under. */
export interface StoreBound {
  /** stream, account and server: a size limit of each. disk: what the store's file system has left for it. */
  readonly what: "stream" | "account" | "server" | "disk";
  readonly usedBytes: number;
  /** ≥ 0. */
  readonly limitBytes: number;
  /** The reserve is at least this. Default: 0. */
  readonly reserveBytesMin?: number;
}

/** The bound that is nearest to its reserve. */
export interface Room {
  readonly what: StoreBound["what"];
  readonly usedBytes: number;
  readonly limitBytes: number;
  /** What is kept for work that runs: new work is refused when less is left. */
  readonly reserveBytes: number;
  readonly isFull: boolean;
}

/** Part of a limit that is kept for work that runs. */
const RESERVE_RATIO = 0.1;
/** An answer older than this is asked for again. */
export const ROOM_AGE_MS_MAX = 250;

/** Null: there is no bound. */
export function roomIn(bounds: readonly StoreBound[]): Room | null {
  let nearest: Room | null = null;
  let leastRatio = Number.POSITIVE_INFINITY;
  for (const { what, usedBytes, limitBytes, reserveBytesMin = 0 } of bounds) {
    const reserveBytes = Math.max(Math.ceil(RESERVE_RATIO * limitBytes), reserveBytesMin, 1);
    const leftBytes = limitBytes - usedBytes;
    const ratio = leftBytes / reserveBytes;
    if (ratio >= leastRatio) continue;
    leastRatio = ratio;
    nearest = { what, usedBytes, limitBytes, reserveBytes, isFull: leftBytes < reserveBytes };
  }
  return nearest;
}

export const storeFull = (job: string, { what, usedBytes, limitBytes, reserveBytes }: Room) =>
  new JournalError(
    `The job ${job} is refused: the store is full (${what}: ${usedBytes} of ${limitBytes} bytes used, ${reserveBytes} are kept for work that runs).`,
    {
      retry: "backoff",
      details: {
        outcome: "refused",
        reason: "store_full",
        job,
        what,
        usedBytes,
        limitBytes,
        reserveBytes,
      },
    },
  );

interface SpacePorts {
  /** Null: nobody can say. */
  readonly ask: (() => Promise<readonly StoreBound[]>) | null;
  readonly clock: Clock;
  /** An answer that will not get better by asking again. */
  readonly onFault: (error: unknown) => void;
}

export class Space {
  readonly #ports: SpacePorts;
  #room: Room | null = null;
  #looking: Promise<void> | null = null;
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(ports: SpacePorts) {
    this.#ports = ports;
  }

  /** As it was told last; null: there is no bound, or nobody has said. */
  get room(): Room | null {
    return this.#room;
  }

  /** For one submission: the room there is. Has it asked again when that is old (SP3). */
  roomForWork(): Room | null {
    const { ask, clock } = this.#ports;
    if (ask === null) return null;
    if (clock.monotonicMs() - this.#lookedAtMs > ROOM_AGE_MS_MAX) void this.look();
    return this.#room;
  }

  /** Asks, or waits for who asks already. Never rejects (SP2). */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
      this.#lookedAtMs = this.#ports.clock.monotonicMs();
    });
    return this.#looking;
  }

  async #look(): Promise<void> {
    const { ask, onFault } = this.#ports;
    if (ask === null) return;
    try {
      this.#room = roomIn(await ask());
    } catch (error) {
      // A store that is away is told of by the journal, which waits for it.
      if (!isHoldfastError(error) || error.retry === "never") onFault(error);
    }
  }
}
