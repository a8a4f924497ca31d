import fc from "fast-check";
import { expect, it } from "vitest";
import {
  contains,
  faultOfPattern,
  isLiteral,
  matcherOfAny,
  narrowTo,
  overlaps,
} from "../../../infra/jetstream/subject-pattern.ts";

const subjects = fc.array(fc.constantFrom("a", "b", "c", "a*"), { minLength: 1, maxLength: 4 });
const patterns = fc
  .tuple(
    fc.array(fc.constantFrom("a", "b", "c", "*"), { minLength: 1, maxLength: 4 }),
    fc.boolean(),
  )
  .map(([tokens, isOpen]) => (isOpen ? [...tokens, ">"] : tokens).join("."));

/** The rule itself, token by token. */
function matchesByRule(pattern: readonly string[], subject: readonly string[]): boolean {
  const [token, ...rest] = pattern;
  const [first, ...others] = subject;
  if (token === undefined || first === undefined) return token === first;
  if (token === ">") return true;
  return (token === "*" || token === first) && matchesByRule(rest, others);
}

it("matches as the rule says", () => {
  fc.assert(
    fc.property(fc.array(patterns, { minLength: 1, maxLength: 4 }), subjects, (some, tokens) => {
      const expected = some.some((pattern) => matchesByRule(pattern.split("."), tokens));
      expect(matcherOfAny(some)(tokens.join("."))).toBe(expected);
    }),
  );
});

it("contains a pattern exactly when all that the pattern matches is matched", () => {
  fc.assert(
    fc.property(patterns, patterns, subjects, (outer, inner, tokens) => {
      if (!contains(outer, inner) || !matchesByRule(inner.split("."), tokens)) return;
      expect(matchesByRule(outer.split("."), tokens)).toBe(true);
    }),
  );
  expect(contains("a.>", "a")).toBe(false);
  expect(contains("a.*", "a.>")).toBe(false);
  expect(contains("*.b", "a.b")).toBe(true);
});

it("overlaps when one subject is matched by both", () => {
  fc.assert(
    fc.property(patterns, patterns, subjects, (one, other, tokens) => {
      const isMatchedByBoth = [one, other].every((each) => matchesByRule(each.split("."), tokens));
      if (isMatchedByBoth) expect(overlaps(one, other)).toBe(true);
    }),
  );
  expect(overlaps("a.*", "b.*")).toBe(false);
  expect(overlaps("a.*.c", "*.b.d")).toBe(false);
});

it("narrows a pattern to what it matches below a prefix", () => {
  fc.assert(
    fc.property(patterns, subjects, (pattern, below) => {
      const subject = ["a", "b", ...below];
      const narrowed = narrowTo("a.b", pattern);
      const isMatched = narrowed !== null && matchesByRule(narrowed.split("."), subject);
      expect(isMatched).toBe(matchesByRule(pattern.split("."), subject));
      expect(narrowed?.startsWith("a.b.") ?? true).toBe(true);
    }),
  );
});

it("takes a wildcard for one only as a whole token", () => {
  expect([isLiteral("a*.b"), isLiteral("a.*"), isLiteral("a.>")]).toEqual([true, false, false]);
  expect(matcherOfAny(["a*"])("ab")).toBe(false);
});

it.each([
  ["a.b", null],
  ["a.*.>", null],
  ["a..b", "a token is empty"],
  ["", "a token is empty"],
  ["a. b", "white space stands in it"],
  ["a.>.b", "`>` stands before the last token"],
])("says what is wrong with %j", (pattern, fault) => {
  expect(faultOfPattern(pattern)).toBe(fault);
});
