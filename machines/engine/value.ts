/**
 * State values as one line of text, and back.
 *
 * Owns: the correspondence between the path that records, logs and people use and the object that XState uses.
 * Does not own: which values a chart has (state-values.ts).
 *
 *     a                        "a"                          a leaf
 *     a.b                      { a: "b" }                   a leaf inside a
 *     a.(x|y.z)                { a: { x: {}, y: "z" } }     two regions: x has no states of its own, y is in z
 *
 * V1. Regions stand in alphabetical order: XState's own order of keys depends on what moved last, a record's text must not.
 * V2. `parseValue(formatValue(v))` equals v, and `formatValue(parseValue(p))` is p for every p that `formatValue` makes.
 */

import type { StateValue } from "xstate";

/** What a state may be called. It keeps paths readable, and free of the signs the text form is made of. */
export const STATE_KEY = /^[A-Za-z][A-Za-z0-9_]*$/;

export function formatValue(value: StateValue): string {
  if (typeof value === "string") return value;
  const keys = Object.keys(value);
  const only = keys[0];
  if (keys.length === 1 && only !== undefined) {
    const inner = formatRegion(only, value[only]);
    // A lone region without states of its own is still a region; without the parentheses it would read as a leaf.
    return inner === only ? `(${inner})` : inner;
  }
  const regions = keys.sort().map((key) => formatRegion(key, value[key]));
  return `(${regions.join("|")})`;
}

function formatRegion(key: string, value: StateValue | undefined): string {
  const hasNoStates =
    value === undefined || (typeof value === "object" && Object.keys(value).length === 0);
  return hasNoStates ? key : `${key}.${formatValue(value)}`;
}

/** Throws RangeError for text that is no state value. */
export function parseValue(path: string): StateValue {
  const cursor = { path, at: 0 };
  const value = readValue(cursor, false);
  if (cursor.at !== path.length) throw malformed(cursor);
  return value;
}

interface Cursor {
  readonly path: string;
  at: number;
}

function readValue(cursor: Cursor, isRegion: boolean): StateValue {
  if (cursor.path[cursor.at] === "(") return readRegions(cursor);
  const key = readKey(cursor);
  if (cursor.path[cursor.at] === ".") {
    cursor.at += 1;
    return { [key]: readValue(cursor, false) };
  }
  return isRegion ? { [key]: {} } : key;
}

function readRegions(cursor: Cursor): StateValue {
  const regions: Record<string, StateValue | undefined> = {};
  do {
    // Past the opening parenthesis, or past the bar.
    cursor.at += 1;
    const region = readValue(cursor, true);
    if (typeof region === "string") throw malformed(cursor);
    for (const [key, value] of Object.entries(region)) {
      if (Object.hasOwn(regions, key)) throw malformed(cursor);
      regions[key] = value;
    }
  } while (cursor.path[cursor.at] === "|");
  if (cursor.path[cursor.at] !== ")") throw malformed(cursor);
  cursor.at += 1;
  return regions;
}

function readKey(cursor: Cursor): string {
  const start = cursor.at;
  while (cursor.at < cursor.path.length && !".|()".includes(cursor.path.charAt(cursor.at))) {
    cursor.at += 1;
  }
  const key = cursor.path.slice(start, cursor.at);
  if (!STATE_KEY.test(key)) throw malformed(cursor);
  return key;
}

function malformed(cursor: Cursor): RangeError {
  return new RangeError(
    `not a state value: ${JSON.stringify(cursor.path)}, at character ${cursor.at}`,
  );
}
