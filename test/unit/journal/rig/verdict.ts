/**
 * What a log says after all: for tests that end with it.
 */
import type { StoredMessage } from "../../../../actors/journal/log.ts";
import { type NaiveVerdict, readNaively } from "./naive-reader.ts";
import { type Mark, markOf } from "./records.ts";

export interface Verdict extends NaiveVerdict {
  /** Names of the valid groups, in order. */
  readonly names: readonly string[];
  /** What is wrong with them, by their own marks; empty when all is well. */
  readonly wrong: readonly string[];
}

/** A valid group by its frames that is not one by its bodies: torn, mixed, or out of order. */
function faultOf(marks: readonly (Mark | null)[]): string | null {
  const [first] = marks;
  if (first === null || first === undefined) return "a group without a mark";
  const isWhole =
    marks.length === first.parts &&
    marks.every((mark, at) => mark?.group === first.group && mark.part === at + 1);
  return isWhole
    ? null
    : `${first.group}: ${marks.map((mark) => `${mark?.group} ${mark?.part}/${mark?.parts}`).join(", ")}`;
}

/** Judges a whole log: groups whole by their bodies, none twice, time never going back. */
export function judge(messages: readonly StoredMessage[]): Verdict {
  const naive = readNaively(messages);
  const groups = naive.epochs.flatMap((epoch) => epoch.groups);
  const marks = groups.map((group) => group.messages.map(({ body }) => markOf(body)));
  const names = marks.flatMap(([first]) => first?.group ?? []);
  const wrong = marks.flatMap((group) => faultOf(group) ?? []);
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) wrong.push(`${name} stands there twice`);
    seen.add(name);
  }
  const times = marks.flat().map((mark) => mark?.t ?? 0);
  for (let at = 1; at < times.length; at += 1) {
    const [before = 0, after = 0] = [times[at - 1], times[at]];
    if (after < before) wrong.push(`journal time goes back from ${before} to ${after}`);
  }
  if (naive.haltedAt !== null) wrong.push(`reading halts at ${naive.haltedAt}`);
  return { ...naive, names, wrong };
}
