/**
 * The bounded history of a record: how it began and what happened last.
 *
 * Owns: one entry, and which are kept. Does not own: what a move changes beside it.
 *
 * H1. The first `historyFirstMax` and the last `historyLastMax` moves are kept, in journal order, with their reasons and
 *     evidence cut to their bounds; those between are counted.
 */
import { boundValue, cutText, cutTextOrNull } from "../bounded-value.ts";
import type { JournaledMove } from "../journaled-move.ts";
import { type ExecutionRecord, type HistoryEntry, RECORD_BOUNDS } from "./schema.ts";

const {
  nameBytesMax,
  termBytesMax,
  reasonBytesMax,
  evidenceBytesMax,
  historyFirstMax,
  historyLastMax,
} = RECORD_BOUNDS;

type History = ExecutionRecord["history"];

export const entryOf = (move: JournaledMove): HistoryEntry => ({
  actor: cutText(move.actor, nameBytesMax),
  sequence: move.sequence,
  event: cutText(move.eventType, termBytesMax),
  from: cutText(move.from, termBytesMax),
  to: cutText(move.to, termBytesMax),
  reason: cutTextOrNull(move.reason, reasonBytesMax),
  evidence: move.evidence === null ? null : boundValue(move.evidence, evidenceBytesMax),
  at: move.at,
  position: move.position,
});

export function remember(history: History, entry: HistoryEntry): History {
  const { first, last, dropped } = history;
  if (first.length < historyFirstMax) return { first: [...first, entry], last, dropped };
  if (last.length < historyLastMax) return { first, last: [...last, entry], dropped };
  const newest = last.slice(1);
  newest.push(entry);
  return { first, last: newest, dropped: dropped + 1 };
}
