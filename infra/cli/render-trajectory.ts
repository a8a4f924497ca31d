/**
 * A trajectory for people: what was done, in order, one line a job.
 *
 * T1. A job that its parent named is shown by type and key, which is how people know it; its id stands in the tree.
 *
 * Owns: the columns. Pure. Does not own: the order (projections/trajectory.ts).
 */
import type { Entry } from "../api/contract/answers.ts";
import { markOf, paintState, type RenderOptions, ranMsOf, stateName } from "./render-tree.ts";
import { duration, oneLine, padEnd, padStart, printable, widthOf, wrap } from "./text.ts";

const PATH_WIDTH_MAX = 20;
const STATE_WIDTH = 12;
const ATTEMPT_WIDTH = 4;
const TIME_WIDTH = 11;
const GAP = "  ";
const REASON_LENGTH_MAX = 600;

export function renderTrajectory(entries: readonly Entry[], options: RenderOptions): string[] {
  const { columns, paint } = options;
  const paths = entries.map(({ path }) => widthOf(path));
  const pathWidth = Math.min(PATH_WIDTH_MAX, Math.max(4, ...paths));
  const rightWidth = STATE_WIDTH + ATTEMPT_WIDTH + 2 * TIME_WIDTH + GAP.length;
  const ids = entries.map((entry) => widthOf(nameOf(entry)));
  const idWidth = Math.max(
    8,
    Math.min(Math.max(3, ...ids), columns - pathWidth - rightWidth - GAP.length),
  );
  const head =
    padEnd("PATH", pathWidth) +
    GAP +
    padEnd("JOB", idWidth) +
    GAP +
    padEnd("STATE", STATE_WIDTH) +
    padStart("TRY", ATTEMPT_WIDTH) +
    padStart("WAITED", TIME_WIDTH) +
    padStart("RAN", TIME_WIDTH);
  const rows = entries.flatMap((entry) => row(entry, { ...options, pathWidth, idWidth }));
  return [paint("dim", head.trimEnd()), ...rows];
}

/** T1. */
const nameOf = ({ id, type, key }: Entry): string =>
  printable(key === null || type === null ? id : `${type} ${key}`);

interface RowOptions extends RenderOptions {
  readonly pathWidth: number;
  readonly idWidth: number;
}

function row(entry: Entry, options: RowOptions): string[] {
  const { pathWidth, idWidth, paint, now, columns } = options;
  const { path, state, attempts, waitMs, endedAt, outcome } = entry;
  const id = nameOf(entry);
  const ranMs = ranMsOf(entry, now);
  const isRunning = ranMs !== null && endedAt === null;
  const right =
    paintState(state, padEnd(`${markOf(state)} ${stateName(state)}`, STATE_WIDTH), paint) +
    padStart(attempts === 0 ? "" : String(attempts), ATTEMPT_WIDTH) +
    padStart(waitMs === null ? "" : duration(waitMs), TIME_WIDTH) +
    padStart(ranMs === null ? "" : `${duration(ranMs)}${isRunning ? "…" : ""}`, TIME_WIDTH);
  const left = padEnd(path, pathWidth) + GAP;
  const reason = outcome?.message ?? null;
  const reasons =
    reason === null
      ? []
      : wrap(
          oneLine(`${outcome?.code ?? "failure"}: ${reason}`).slice(0, REASON_LENGTH_MAX),
          Math.max(20, columns - widthOf(left)),
        ).map((line) => " ".repeat(widthOf(left)) + paint("red", line));
  // A longer id is never cut: what stands right of it goes below.
  const isRoomy = widthOf(path) <= pathWidth && widthOf(id) <= idWidth;
  const own = isRoomy
    ? [left + padEnd(id, idWidth) + GAP + right]
    : [left + id, " ".repeat(pathWidth + idWidth + 2 * GAP.length) + right];
  return [...own.map((line) => line.trimEnd()), ...reasons];
}
