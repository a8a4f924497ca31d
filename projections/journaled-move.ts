/**
 * One transition as a projection reads it: of an actor it knows or not, with an event it knows or not.
 *
 * Owns: the tolerant reading of what a journal holds (REC-8, ES-6), whoever wrote it. Does not own: which records are valid
 * (actors/journal), what a transition means for a document (the folds).
 *
 * J1. Nothing here throws, whatever a transition holds.
 * J2. A missing or misshapen field is null; an event of an older version has been brought to the present one.
 * J3. `event` is null for what this version does not know. `from` and `to` are read all the same: the chart that made the
 *     move knew where it led.
 */
import type { ReadRecord } from "../actors/journal/reader.ts";
import { parseTaskScope } from "../actors/journal/subjects.ts";
import { type ActorKind, CHARTS, parseActorName } from "../actors/turn/charts.ts";
import { ordinalOf } from "../machines/job/spec.ts";

/** What a field can be read from: an event, or an object inside one. */
export type Fields = Readonly<Record<string, unknown>>;

export interface JournaledMove {
  /** The actor's whole name; empty when it has none. */
  readonly actor: string;
  /** Null: a kind that this version does not know. */
  readonly kind: ActorKind | null;
  /** The actor's name without its kind. */
  readonly actorId: string;
  /** Of the actor, from 1; 0 when it is missing. */
  readonly sequence: number;
  /** As it was written, whether it is known or not. */
  readonly eventType: string;
  /** Null: not known, or not readable. */
  readonly event: Fields | null;
  readonly from: string;
  readonly to: string;
  /** Whether this version's chart has the state it leads to. */
  readonly isToKnown: boolean;
  /** Why: the word of who moved it, else what the event itself says. */
  readonly reason: string | null;
  readonly evidence: Fields | null;
  /** Wall clock, ms since the epoch. */
  readonly at: number;
  readonly position: number;
}

/** The scope a subject ends with, whatever stands before it, if it has the length of a task's; else null. */
export function taskScopeOf(subject: string): string | null {
  let at = subject.length;
  for (let token = 0; token < TASK_SCOPE_TOKENS; token += 1) {
    if (at < 0) return null;
    at = subject.lastIndexOf(".", at - 1);
  }
  return subject.slice(at + 1);
}

const TASK_SCOPE_TOKENS = 3;

/** Whose records stand under a subject; null: no task's. */
export function taskOf(
  subject: string,
): { readonly workflow: string; readonly job: string } | null {
  const scope = taskScopeOf(subject);
  return scope === null ? null : parseTaskScope(scope);
}

/** The moves of one record, in order. */
export function* movesOf({ position, body }: ReadRecord): Generator<JournaledMove> {
  for (const transition of body.transitions) yield readMove(transition, body.at, position);
}

function readMove(transition: unknown, at: number, position: number): JournaledMove {
  const fields = isObject(transition) ? transition : NO_FIELDS;
  const actor = textIn(fields, "actor") ?? "";
  const parsed = parseActorName(actor);
  const written = objectIn(fields, "event") ?? NO_FIELDS;
  const version = numberIn(fields, "v") ?? 1;
  const event = parsed === null ? null : readEvent(parsed.kind, written, version);
  const to = textIn(fields, "to") ?? "";
  return {
    actor,
    kind: parsed?.kind ?? null,
    actorId: parsed?.id ?? actor,
    sequence: numberIn(fields, "sequence") ?? 0,
    eventType: textIn(written, "type") ?? "",
    event,
    from: textIn(fields, "from") ?? "",
    to,
    isToKnown: parsed !== null && CHARTS[parsed.kind].engine.has(to),
    reason: textIn(fields, "reason") ?? (event === null ? null : reasonIn(event)),
    evidence: objectIn(fields, "evidence"),
    at,
    position,
  };
}

/** The event as the present version of its chart knows it; not parsed, so a missing field is no reason to drop it. */
function readEvent(kind: ActorKind, written: Fields, version: number): Fields | null {
  const read = CHARTS[kind].upcast(written, version);
  // What cannot be brought to the present version comes back without a `type`.
  return isObject(read) && textIn(read, "type") !== null ? read : null;
}

const NO_FIELDS: Fields = Object.freeze({});

function reasonIn(event: Fields): string | null {
  const failure = objectIn(event, "failure");
  return textIn(event, "reason") ?? (failure === null ? null : textIn(failure, "message"));
}

/** Whether this version knows what happened. */
export const isUnderstood = (move: JournaledMove): boolean => move.event !== null && move.isToKnown;

export function textIn(fields: Fields, name: string): string | null {
  const value = fields[name];
  return typeof value === "string" ? value : null;
}

export function numberIn(fields: Fields, name: string): number | null {
  const value = fields[name];
  return typeof value === "number" ? value : null;
}

/** Null for arrays too. */
export function objectIn(fields: Fields, name: string): Fields | null {
  const value = fields[name];
  return isObject(value) ? value : null;
}

/** The objects of an array; anything else in it is passed over. Empty for what is no array. */
export function objectsIn(fields: Fields, name: string): readonly Fields[] {
  const value = fields[name];
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** The option that a value is, else the one that stands for what is not known. */
export const optionIn = <Option extends string>(
  fields: Fields,
  name: string,
  options: readonly Option[],
  otherwise: Option,
): Option => options.find((option) => option === fields[name]) ?? otherwise;

/** The ordinal in a spec that may lack its metadata. */
export function ordinalIn(spec: Fields): number | null {
  const metadata = objectIn(spec, "metadata");
  // Only a number is taken from it, so what else it holds does not matter.
  return metadata === null ? null : ordinalOf({ metadata: metadata as Record<string, never> });
}

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
