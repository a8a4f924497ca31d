/**
 * Texts and values cut to a number of bytes.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { boundValue, cutText } from "../../../projections/bounded-value.ts";

const encoder = new TextEncoder();
const jsonBytesOf = (text: string) => encoder.encode(JSON.stringify(text)).length - 2;

/** Plain, escaped, wide, paired and halved characters. */
const character = fc.constantFrom(
  "a",
  '"',
  "\\",
  "\n",
  "\u0001",
  "ä",
  "€",
  "😀",
  "\ud800",
  "\udc00",
);
const text = fc.oneof(
  fc.string(),
  fc.array(character).map((all) => all.join("")),
);

it("B1, B3: a text that fits is itself, and one that does not takes at most its bytes", () => {
  fc.assert(
    fc.property(text, fc.integer({ min: 3, max: 60 }), (given, bytesMax) => {
      const cut = cutText(given, bytesMax);
      if (jsonBytesOf(given) <= bytesMax) {
        expect(cut).toBe(given);
        return;
      }
      expect(jsonBytesOf(cut)).toBeLessThanOrEqual(bytesMax);
      expect(cut.endsWith("…")).toBe(true);
      expect(given.startsWith(cut.slice(0, -1))).toBe(true);
      // No room is wasted: one more character of at most six bytes would not fit.
      expect(jsonBytesOf(cut)).toBeGreaterThan(bytesMax - 6);
    }),
  );
});

it("B2: a cut never splits a character", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 3, max: 40 }), (given, max) => {
      expect(cutText(given, max).isWellFormed()).toBe(true);
    }),
  );
});

it("B1: a value is kept whole up to its bytes, else by size and beginning", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.integer({ min: 3, max: 200 }), (value, bytesMax) => {
      const json = JSON.stringify(value);
      const bytes = encoder.encode(json).length;
      const bounded = boundValue(value, bytesMax);
      expect(bounded.bytes).toBe(bytes);
      if (bounded.kind === "whole") {
        expect(bytes).toBeLessThanOrEqual(bytesMax);
        expect(bounded.value).toBe(value);
        return;
      }
      expect(bytes).toBeGreaterThan(bytesMax);
      expect(jsonBytesOf(bounded.preview)).toBeLessThanOrEqual(bytesMax);
      expect(json.startsWith(bounded.preview.slice(0, -1))).toBe(true);
    }),
  );
});

it("B3: what is no JSON is null", () => {
  expect(boundValue(undefined, 10)).toEqual({ kind: "whole", bytes: 4, value: null });
});
