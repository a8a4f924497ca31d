import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeToken,
  encodeToken,
  faultOfId,
  ID_BYTES_MAX,
  parseTaskScope,
  taskScope,
  workflowScopes,
} from "../../../../actors/journal/subjects.ts";
import { matcherOfAny } from "../../../../infra/jetstream/subject-pattern.ts";

/** Ids that users came with in other systems, and that were dropped, refused late, or broke a view (case G3). */
const AWKWARD = [
  "a.b",
  "a b",
  "a:b",
  "a/b",
  "../x",
  "*",
  ">",
  "123",
  "a.",
  ".a",
  "a..b",
  "🦄",
  "\0",
  "a\nb",
  "a\tb",
  "=61",
  "a=2eb",
  "ä",
  "a\u0308",
  "\uFEFFa",
  "a\uFEFF",
  "\u200Ba",
  "%2e",
  "__proto__",
  "x".repeat(ID_BYTES_MAX),
];

/** Everything that may be an id, with more of what subjects are made of than chance would give. */
const ids = fc
  .oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 40 }),
    fc.string({
      unit: fc.constantFrom("a", "B", "7", "_", "-", ".", "*", ">", "=", " ", "\uFEFF", "é"),
      minLength: 1,
    }),
    fc.constantFrom(...AWKWARD),
  )
  .filter((id) => faultOfId(id) === null);

describe("an id", () => {
  it.each(AWKWARD)("%j can be used, and comes back character for character", (id) => {
    expect(faultOfId(id)).toBeNull();
    expect(decodeToken(encodeToken(id))).toBe(id);
  });

  it.each([
    ["empty", "", "blank"],
    ["blank", " \t\u00a0", "blank"],
    ["a lone surrogate", "a\uD800", "well-formed"],
    ["of 2 KB", "x".repeat(2_048), "200 bytes"],
    ["of 201 bytes in fewer characters", `a${"ä".repeat(100)}`, "found 201"],
    ["a number", 7, "found number"],
    ["null", null, "found null"],
    ["nothing", undefined, "found undefined"],
  ])("that is %s is refused with the rule", (_, id, rule) => {
    expect(faultOfId(id)).toContain(rule);
  });
});

describe("a token", () => {
  it("is injective: what is decoded is the id, and different ids have different tokens (S1)", () => {
    fc.assert(
      fc.property(ids, ids, (id, other) => {
        expect(decodeToken(encodeToken(id))).toBe(id);
        expect(encodeToken(id) === encodeToken(other)).toBe(id === other);
      }),
      { numRuns: 2_000 },
    );
  });

  it("is the id itself when that is plain (S1)", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[A-Za-z0-9_-]+$/), (id) => {
        expect(encodeToken(id)).toBe(id);
      }),
    );
  });

  it("holds only letters, digits, `_`, `-` and `=`, whatever the id (S2)", () => {
    fc.assert(
      fc.property(ids, (id) => {
        expect(encodeToken(id)).toMatch(/^[A-Za-z0-9_=-]+$/);
      }),
      { numRuns: 2_000 },
    );
  });

  it("that nobody encoded is none: of each id there is one token", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom("a", "=", "6", "1", "c", "3", "f", "F", "2", "e", ".") }),
        (token) => {
          const id = decodeToken(token);
          if (id !== null) expect(encodeToken(id)).toBe(token);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it.each(["=61", "=", "=4", "=GG", "=2E", "a.b", "", "a b", "=ff", "=c3", "ä"])(
    "%j is none",
    (token) => {
      expect(decodeToken(token)).toBeNull();
    },
  );
});

describe("a task's scope", () => {
  it("gives back its ids, and is three tokens whatever they are", () => {
    fc.assert(
      fc.property(ids, ids, (workflow, job) => {
        const scope = taskScope(workflow, job);
        expect(scope.split(".")).toHaveLength(3);
        expect(parseTaskScope(scope)).toEqual({ workflow, job });
      }),
    );
  });

  it.each([
    "dispatcher",
    "account.x",
    "task.w",
    "task.w.j.more",
    "task..j",
    "task.=61.j",
    "Task.w.j",
  ])("%j is none", (scope) => {
    expect(parseTaskScope(scope)).toBeNull();
  });

  it("stands below its workflow's pattern and below no other's, `a.*` beside `a.b` included", () => {
    fc.assert(
      fc.property(ids, ids, ids, (workflow, other, job) => {
        const matches = matcherOfAny([workflowScopes(workflow)]);
        expect(matches(taskScope(workflow, job))).toBe(true);
        expect(matches(taskScope(other, job))).toBe(workflow === other);
      }),
      { numRuns: 1_000 },
    );
    expect(matcherOfAny([workflowScopes("a.*")])(taskScope("a.b", "j"))).toBe(false);
    expect(matcherOfAny([workflowScopes("*")])(taskScope("a", "j"))).toBe(false);
  });

  it("is far shorter than a server's line, for the longest ids", () => {
    const longest = "\0".repeat(ID_BYTES_MAX);
    expect(taskScope(longest, longest).length).toBeLessThan(1_300);
  });
});
