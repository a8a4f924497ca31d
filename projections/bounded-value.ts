/**
 * What a document says of something that may be of any size: all of it, or how large it is and how it begins.
 *
 * Owns: cutting texts and JSON values to a number of bytes. Does not own: the bounds, which stand beside what they bound.
 *
 * B1. Sizes are bytes of JSON in UTF-8, escapes included, quotes excluded: what the thing takes inside a document.
 * B2. A cut never splits a character and says that it is one: the text ends in an ellipsis, a value is of kind `cut`.
 * B3. What fits is kept as it is, the same reference.
 */
import { z } from "zod";
import { type Json, JsonSchema } from "../machines/json.ts";

export const BoundedValue = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("whole"), bytes: z.number(), value: JsonSchema }),
  z
    .strictObject({ kind: z.literal("cut"), bytes: z.number(), preview: z.string() })
    .describe("Too large for the document: `preview` is how its JSON begins, `bytes` its size."),
]);
export type BoundedValue = Readonly<z.infer<typeof BoundedValue>>;

const ELLIPSIS = "…";
const ELLIPSIS_BYTES = 3;
/** Most bytes that one UTF-16 unit can take: a control character, or half of a pair on its own, as `\u0000`. */
const UNIT_BYTES_MAX = 6;

/** The text itself when it takes at most `bytesMax` (≥ 3) bytes, else its beginning and an ellipsis. */
export function cutText(text: string, bytesMax: number): string {
  if (text.length * UNIT_BYTES_MAX <= bytesMax) return text;
  let bytes = 0;
  /** Units that leave room for the ellipsis. */
  let roomUntil = 0;
  for (let at = 0; at < text.length; ) {
    const units = unitsAt(text, at);
    bytes += bytesAt(text, at);
    if (bytes > bytesMax) return text.slice(0, roomUntil) + ELLIPSIS;
    at += units;
    if (bytes + ELLIPSIS_BYTES <= bytesMax) roomUntil = at;
  }
  return text;
}

/** The same for a text that may be missing. */
export const cutTextOrNull = (text: string | null, bytesMax: number): string | null =>
  text === null ? null : cutText(text, bytesMax);

/** A value as a document may hold it. What is no JSON (undefined, a function) is null, as it is for `JSON.stringify`. */
export function boundValue(value: unknown, bytesMax: number): BoundedValue {
  const json = JSON.stringify(value) ?? "null";
  const bytes = utf8BytesOf(json);
  if (bytes > bytesMax) return { kind: "cut", bytes, preview: cutText(json, bytesMax) };
  // It was written as JSON just now, and events are read from JSON: nothing else is in there.
  return { kind: "whole", bytes, value: (value ?? null) as Json };
}

const isPairAt = (text: string, at: number): boolean => (text.codePointAt(at) ?? 0) > 0xffff;

const unitsAt = (text: string, at: number): number => (isPairAt(text, at) ? 2 : 1);

const SHORT_ESCAPES = new Set(Array.from('"\\\b\t\n\f\r', (character) => character.charCodeAt(0)));

/** Bytes of the character at `at` inside a JSON text. */
function bytesAt(text: string, at: number): number {
  const code = text.codePointAt(at) ?? 0;
  if (SHORT_ESCAPES.has(code)) return 2;
  if (code < 0x20) return UNIT_BYTES_MAX;
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  if (code > 0xffff) return 4;
  const isHalfOfPair = code >= 0xd800 && code <= 0xdfff;
  return isHalfOfPair ? UNIT_BYTES_MAX : 3;
}

/** Bytes of a well-formed text as it is; `JSON.stringify` writes no other. */
function utf8BytesOf(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    // A pair is two units of two bytes each: together the four that it takes.
    if (unit >= 0x80) bytes += unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 1 : 2;
  }
  return bytes;
}
