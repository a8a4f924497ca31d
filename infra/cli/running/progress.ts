/**
 * Progress of a workflow while somebody waits for it: a line for each job that has moved.
 *
 * Owns: what has changed between two looks, and how much of it is told. Pure but for what it remembers. Does not own: looking.
 *
 * P1. A look tells at most LINES_MAX changes one by one and counts the rest, so that a wide workflow cannot flood a terminal.
 */
import type { Entry } from "../../api/contract/answers.ts";
import { markOf, paintState, type RenderOptions, renderCounts, stateName } from "../render-tree.ts";
import { duration, printable } from "../text.ts";

export const LINES_MAX = 12;

export class Progress {
  /** `state/attempts` of each job at the last look. */
  readonly #seen = new Map<string, string>();

  /** Lines for what moved since the last look; none when nothing did. */
  look(entries: readonly Entry[], options: Pick<RenderOptions, "paint">): string[] {
    const moved = entries.filter((entry) => this.#hasMoved(entry));
    if (moved.length === 0) return [];
    const told = moved.slice(0, LINES_MAX).map((entry) => lineOf(entry, options));
    const more = moved.length - told.length;
    const counts = renderCounts(entries);
    return [...told, options.paint("dim", more === 0 ? counts : `… ${more} more. ${counts}`)];
  }

  #hasMoved({ id, state, attempts }: Entry): boolean {
    const now = `${state}/${attempts}`;
    if (this.#seen.get(id) === now) return false;
    this.#seen.set(id, now);
    return true;
  }
}

function lineOf(entry: Entry, { paint }: Pick<RenderOptions, "paint">): string {
  const { state, path, id, attempts, durationMs } = entry;
  const words = [
    paintState(state, markOf(state), paint),
    path,
    printable(id),
    paintState(state, stateName(state), paint),
  ];
  if (attempts > 1) words.push(`attempt ${attempts}`);
  if (durationMs !== null) words.push(duration(durationMs));
  return words.join(" ");
}
