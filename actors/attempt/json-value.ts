/**
 * Values as JSON: what crosses into the journal.
 *
 * Owns: making a value JSON or saying where it is not, its size, its canonical text. Does not own: schemas.
 *
 * A job gets the same value on every attempt: what was parsed at the door is turned into JSON and back before anything
 * runs, so that a first attempt cannot see a Date where a second one sees a string.
 */
import type { Json } from "../../machines/json.ts";
import { InvalidArgumentError } from "../errors.ts";

/** Largest input or result, bytes of JSON. Larger data go by reference: a path, a URL, a key. */
export const VALUE_BYTES_MAX = 128 * 1024;

/** Deepest nesting of an input or result. Every reader walks values by recursion: none may meet one it cannot walk. */
export const VALUE_DEPTH_MAX = 128;

const encoder = new TextEncoder();

/** Longest value whose UTF-8 cannot exceed the limit, so that most are not measured byte by byte. */
const SURELY_FITS = Math.floor(VALUE_BYTES_MAX / 3);

/** The value as JSON. `undefined` is null. Errors: InvalidArgumentError, naming `what`, its size or depth, and the limit. */
export function toJson(value: unknown, what: string): Json {
  if (value === undefined || value === null) return null;
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    throw new InvalidArgumentError(`It is not JSON: ${what}.`, { details: { what }, cause: error });
  }
  if (text === undefined)
    throw new InvalidArgumentError(`It is not JSON: ${what} is a ${typeof value}.`, {
      details: { what },
    });
  const bytes = text.length <= SURELY_FITS ? 0 : encoder.encode(text).length;
  if (bytes > VALUE_BYTES_MAX) {
    throw new InvalidArgumentError(
      `Too large: ${what} takes ${bytes} bytes of JSON, at most ${VALUE_BYTES_MAX} are allowed. Hand it over by reference.`,
      { details: { what, bytes, bytesMax: VALUE_BYTES_MAX } },
    );
  }
  const json: Json = JSON.parse(text);
  if (text.includes(PROTO_MEMBER) && holdsProtoKey(json)) {
    throw new InvalidArgumentError(`It cannot be kept: ${what} has a member named __proto__.`, {
      details: { what, member: "__proto__" },
    });
  }
  if (isDeeper(json, VALUE_DEPTH_MAX)) {
    throw new InvalidArgumentError(
      `Too deep: ${what} is nested more than ${VALUE_DEPTH_MAX} levels.`,
      { details: { what, depthMax: VALUE_DEPTH_MAX } },
    );
  }
  return freezeJson(json);
}

/** As every JSON text spells it that was made here. */
const PROTO_MEMBER = '"__proto__"';

/**
 * Whether a member of it is named `__proto__`. The schemas that read a log pass over such a member, so that what a fold gives
 * would not be what was live (ES-2); and whoever copies it by assignment changes a prototype instead.
 */
export function holdsProtoKey(value: unknown): boolean {
  const ahead = [value];
  for (let next = ahead.pop(); next !== undefined; next = ahead.pop()) {
    if (typeof next !== "object" || next === null) continue;
    if (Object.hasOwn(next, "__proto__")) return true;
    for (const item of Object.values(next)) if (item !== undefined) ahead.push(item);
  }
  return false;
}

/** Stops at the limit, so that no depth can exhaust the stack. */
function isDeeper(value: Json, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((item) => isDeeper(item, levels - 1));
}

/** Freezes it in depth and hands it back; what is frozen already was frozen here, in depth. */
export function freezeJson(value: Json): Json {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const item of Object.values(value)) freezeJson(item);
  return Object.freeze(value);
}

/** The same text for the same value, whatever the order of its keys. */
export function canonicalJson(value: Json): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members = Object.entries(value as Readonly<Record<string, Json>>) // Not an array, so an object.
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`);
  return `{${members.join(",")}}`;
}
