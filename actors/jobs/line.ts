/**
 * The line: when a queued job starts.
 *
 * Owns: the start of an attempt, its timeout. Does not own: what a job needs before it may start; until accounts exist,
 * a queued job needs only a runtime that is ready and a definition.
 */
import { invariant } from "../../machines/invariant.ts";
import type { Registry } from "../attempt/definition.ts";
import type { Cell, CellStore } from "../turn/cell.ts";
import type { Turn } from "../turn/turn.ts";

export interface LinePorts {
  readonly cells: CellStore;
  readonly registry: Registry;
}

/** Starts a queued job, blocks one of an unknown type, and leaves it queued while the runtime recovers or stops. */
export function startQueued({ cells, registry }: LinePorts, turn: Turn, job: Cell<"job">): void {
  const { spec, attempt } = job.now.context;
  invariant(spec !== null && job.now.value === "queued", "only a queued job starts", {
    job: job.id,
    state: job.now.value,
  });
  if (cells.dispatcher.now.value !== "ready") return;
  if (registry.get(spec.type) === undefined) {
    turn.apply(job, { type: "job.blocked", reason: `its type ${spec.type} is not known here` });
    return;
  }
  const timeoutAt = spec.timeoutMs === null ? null : turn.t + spec.timeoutMs;
  turn.apply(job, { type: "job.started", attempt: attempt + 1, timeoutAt });
}
