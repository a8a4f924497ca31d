/**
 * The world: what the parts of one runtime share.
 *
 * Owns: nothing but the references. The parts (door, execution, recovery, commands) get it whole, and each header says
 * what its part decides.
 */

import type { ToolContext } from "../attempt/context.ts";
import type { Registry } from "../attempt/definition.ts";
import type { HoldfastError } from "../errors.ts";
import type { JobHandle } from "../jobs/handle.ts";
import type { Journal, JournalNotice } from "../journal/journal.ts";
import type { Redactor } from "../journal/redaction.ts";
import type { Ambient } from "../ports/ambient.ts";
import type { Clock } from "../ports/clock.ts";
import type { Ids } from "../ports/ids.ts";
import type { CellStore } from "../turn/cell.ts";
import type { Timers } from "../turn/timers.ts";
import type { Turn } from "../turn/turn.ts";
import type { Finding } from "./fold.ts";
import type { History } from "./history.ts";
import type { Kinship } from "./kinship.ts";
import type { Space } from "./space.ts";

/** Told to the composition root, for people; nothing depends on anybody listening. */
export type Notice =
  | JournalNotice
  | {
      readonly kind: "recovered";
      readonly liveJobs: number;
      readonly interrupted: number;
      readonly transitions: number;
    }
  | { readonly kind: "found"; readonly finding: Finding }
  | {
      readonly kind: "fault";
      readonly where: string;
      readonly job: string | null;
      readonly error: unknown;
    }
  | { readonly kind: "ended"; readonly error: HoldfastError };

export interface World {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ambient: Ambient<ToolContext>;
  readonly registry: Registry;
  readonly journal: Journal;
  readonly history: History;
  readonly cells: CellStore;
  readonly kinship: Kinship;
  readonly space: Space;
  readonly timers: Timers;
  readonly redactor: Redactor;
  /** Handles of live jobs that somebody holds, by job. */
  readonly handles: Map<string, JobHandle<unknown>>;
  /** Jobs that the fold set aside: they are there, and cannot be driven. */
  readonly setAside: ReadonlyMap<string, Finding>;
  /** Jobs that were ended without their code, and whose code has returned in this process since (TO-3). */
  readonly returned: Set<string>;
  /** Subject prefix of the partition, with its last dot. */
  readonly prefix: string;
  readonly owner: string;
  /** Runs one turn; `answered` when it and everything before it is acknowledged. Throws what `decide` throws. */
  readonly runTurn: <Answer>(
    cause: string,
    decide: (turn: Turn) => Answer,
    answered?: (answer: Answer) => void,
  ) => Answer;
  /** Runs one turn and promises its answer, which comes when it is acknowledged; rejects when the owner ends before. */
  readonly answer: <Answer>(cause: string, decide: (turn: Turn) => Answer) => Promise<Answer>;
  /** Resolves when everything staged so far is acknowledged; rejects when the owner ends before. */
  readonly acknowledged: () => Promise<void>;
  /** What ended the owner, and what its answers then reject with; null while it lives. */
  readonly over: () => HoldfastError | null;
  readonly notice: (notice: Notice) => void;
}
