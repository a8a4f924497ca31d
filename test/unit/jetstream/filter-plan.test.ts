import fc from "fast-check";
import { expect, it } from "vitest";
import { planFilters } from "../../../infra/jetstream/reading/filter-plan.ts";
import { matcherOfAny, overlaps } from "../../../infra/jetstream/subject-pattern.ts";

const plan = (patterns: readonly string[] | undefined, hasFilterList = true) =>
  planFilters({ prefix: "p.q", patterns, hasFilterList });

const filtersOf = (patterns: readonly string[], hasFilterList = true) => {
  const made = plan(patterns, hasFilterList);
  return made.kind === "read"
    ? { filters: made.filters, isFilteredHere: made.matches !== null }
    : null;
};

it("reads everything when nothing is said", () => {
  expect(plan(undefined)).toEqual({ kind: "read", filters: [], matches: null });
});

it("asks the server for several patterns where it takes several", () => {
  const several = ["p.q.a.>", "p.q.b.*"];
  expect(filtersOf(several)).toEqual({ filters: several, isFilteredHere: false });
});

it.each([
  ["different scopes", ["p.q.task.>", "p.q.dispatcher"], []],
  ["one kind of scope", ["p.q.task.a.>", "p.q.task.b.1"], ["p.q.task.>"]],
  ["one workflow", ["p.q.task.a.1", "p.q.task.a.2"], ["p.q.task.a.>"]],
  ["a wildcard where they part", ["p.q.task.*.1", "p.q.task.a.2"], ["p.q.task.>"]],
])("asks an old server for what several patterns share: %s", (_, patterns, filters) => {
  expect(filtersOf(patterns, false)).toEqual({ filters, isFilteredHere: true });
});

it("filters here what a server would refuse because it overlaps", () => {
  expect(filtersOf(["p.q.*.1", "p.q.a.*"])).toEqual({ filters: [], isFilteredHere: true });
});

it("drops what another pattern covers, and what lies outside", () => {
  const only = { filters: ["p.q.a.>"], isFilteredHere: false };
  expect(filtersOf(["p.q.a.b", "p.q.a.>", "p.q.a.>", "x.>", "p.qq.a"], false)).toEqual(only);
  expect(filtersOf([">", "p.q.a"])).toEqual({ filters: [], isFilteredHere: false });
  expect(plan(["x.>", "p", "p.q"])).toEqual({ kind: "nothing" });
  expect(plan([])).toEqual({ kind: "nothing" });
});

const tokens = fc.array(fc.constantFrom("a", "b", "*"), { minLength: 1, maxLength: 3 });
const patternsBelow = fc
  .tuple(tokens, fc.boolean())
  .map(([some, isOpen]) => ["p", "q", ...some, ...(isOpen ? [">"] : [])].join("."));
const subjectsBelow = fc
  .array(fc.constantFrom("a", "b", "c"), { minLength: 1, maxLength: 4 })
  .map((some) => ["p", "q", ...some].join("."));

it("lets through exactly what the patterns match, on every server, and gives it no overlap", () => {
  const lists = fc.array(patternsBelow, { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(lists, fc.boolean(), subjectsBelow, (patterns, hasFilterList, subject) => {
      const made = plan(patterns, hasFilterList);
      if (made.kind === "nothing") throw new Error("patterns below the prefix always plan a read");
      const { filters, matches } = made;
      const isSent = filters.length === 0 || matcherOfAny(filters)(subject);
      expect(isSent && (matches?.(subject) ?? true)).toBe(matcherOfAny(patterns)(subject));
      if (!hasFilterList) expect(filters.length).toBeLessThan(2);
      const pairs = filters.flatMap((one, at) =>
        filters.slice(at + 1).map((other) => [one, other]),
      );
      expect(pairs.filter(([one = "", other = ""]) => overlaps(one, other))).toEqual([]);
    }),
    { numRuns: 500 },
  );
});
