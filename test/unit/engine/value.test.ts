/** Text form of state values: invariants V1 and V2 of machines/engine/value.ts. */

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { StateValue } from "xstate";

import { formatValue, parseValue } from "../../../machines/engine/value.ts";

const EXAMPLES: readonly (readonly [string, StateValue])[] = [
  ["a", "a"],
  ["a.b", { a: "b" }],
  ["a.b.c", { a: { b: "c" } }],
  ["(x|y)", { x: {}, y: {} }],
  ["a.(x|y.z)", { a: { x: {}, y: "z" } }],
  ["a.(x.(p|q.r)|y.z)", { a: { x: { p: {}, q: "r" }, y: "z" } }],
  // A lone region: with and without states of its own.
  ["a.(x)", { a: { x: {} } }],
  ["a.x.y", { a: { x: "y" } }],
];

const key = fc.constantFrom("a", "b", "state_2", "Zed");

const value: fc.Arbitrary<StateValue> = fc.letrec<{ inner: StateValue; region: StateValue }>(
  (tie) => ({
    inner: fc.oneof({ maxDepth: 4 }, key, fc.dictionary(key, tie("region"), { minKeys: 1 })),
    region: fc.oneof({ maxDepth: 4 }, fc.constant({}), tie("inner")),
  }),
).inner;

describe("state values as text", () => {
  it.each(EXAMPLES)("%s stands for its value", (path, expected) => {
    expect(formatValue(expected)).toBe(path);
    expect(parseValue(path)).toEqual(expected);
  });

  it("a value comes back from its text, and a text from its value", () => {
    return fc.assert(
      fc.property(value, (each) => {
        const path = formatValue(each);
        expect(parseValue(path)).toEqual(each);
        expect(formatValue(parseValue(path))).toBe(path);
      }),
    );
  });

  it("regions stand in alphabetical order, whatever moved last", () => {
    expect(formatValue({ a: { y: "z", x: {} } })).toBe("a.(x|y.z)");
  });

  it.each([
    "",
    ".",
    "a.",
    ".a",
    "a..b",
    "(",
    "()",
    "(a",
    "a)",
    "(a|)",
    "(a|a)",
    "a|b",
    "1a",
    "a b",
    "a.(b",
  ])("%j is no state value", (path) => {
    expect(() => parseValue(path)).toThrow(RangeError);
  });
});
