/**
 * The house style, as far as a machine can hold it: walks the tree once and judges every file by test/support/tidy/rules.ts.
 *
 * Rules that only look at one file are shown to work on a small bad example each; the rest judge the tree as a whole.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import contractRules from "../support/contract-rules.json" with { type: "json" };
import {
  avoidsBanned,
  citesKnownRules,
  explainsAssertions,
  hasNoLooseEnds,
  isShortEnough,
  namesPlainly,
  opensWithHeader,
  parses,
  type Rule,
  runsEveryTest,
  swallowsNothing,
} from "../support/tidy/rules.ts";
import { ROOT, readTree, SourceFile } from "../support/tidy/source-tree.ts";

const FILES_PER_FOLDER_MAX = 12;
const SCRIPTS_MAX = 12;

const tree = readTree();
const known = new Set(Object.values(contractRules).flat());

const countByFolder = (): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const { folder } of tree) counts.set(folder, (counts.get(folder) ?? 0) + 1);
  return counts;
};

interface RuleCase {
  readonly title: string;
  readonly rule: Rule;
  readonly path: string;
  readonly bad: readonly string[];
  readonly good: readonly string[];
}

/** Put together here, so that this file neither breaks the rules it shows nor seems to cite the contract. */
const word = (...parts: readonly string[]): string => parts.join("");
const HEADER = "/** Adds. Owns the sum, and nothing else at all. */\n";

const CASES: readonly RuleCase[] = [
  {
    title: "every code file parses",
    rule: parses,
    path: "actors/a.ts",
    bad: ["const = 1;"],
    good: ["const a = 1;"],
  },
  {
    title: "every file of the product opens with a header that says what it owns",
    rule: opensWithHeader,
    path: "actors/a.ts",
    bad: ["const a = 1;", "// Adds. Owns the sum, and nothing else at all.\n", "/** Adds. */"],
    good: [HEADER, `#!/usr/bin/env node\n${HEADER}`],
  },
  {
    title: "no file is longer than 500 lines",
    rule: isShortEnough,
    path: "infra/processes/a.c",
    bad: ["\n".repeat(501)],
    good: ["\n".repeat(500)],
  },
  {
    title: "work left undone names its issue",
    rule: hasNoLooseEnds,
    path: "actors/a.ts",
    bad: [word("// TO", "DO later"), word("/* FIX", "ME */")],
    good: [word("// TO", "DO(#12) later"), word('const a = "TO', 'DO";')],
  },
  {
    title: "every test runs, or says why not",
    rule: runsEveryTest,
    path: "test/unit/a.test.ts",
    bad: ['it.only("a", f);', 'it.skip("a", f);', 'describe.skipIf(b)("a", f);', 'it.todo("a");'],
    good: [
      'it("a", f);',
      '// No /proc here.\nit.skip("a", f);',
      'it.each([1])("a", f);',
      "a.skip(1);",
    ],
  },
  {
    title: "no failure is swallowed without a reason",
    rule: swallowsNothing,
    path: "infra/a.ts",
    bad: ["try { f(); } catch {}", "p.catch(() => {});", "p.catch(() => undefined);"],
    good: [
      "try { f(); } catch { /* Gone already. */ }",
      "try { f(); } catch (error) { g(error); }",
      "// Gone already.\np.catch(() => {});",
      "p.catch(g);",
    ],
  },
  {
    title: "an assertion of a type has a reason on its line or the line above",
    rule: explainsAssertions,
    path: "actors/a.ts",
    bad: ["const a = b as string;", "const a = <string>b;"],
    good: ["// Checked by the caller.\nconst a = b as string;", "const a = [1] as const;"],
  },
  {
    title: "names say what a thing is",
    rule: namesPlainly,
    path: "actors/a.ts",
    bad: ["class JobManager {}", "interface IJob {}", "type JobUtils = 1;"],
    good: ["class Job {}", "interface IO {}", "type Impl2 = 1;"],
  },
  {
    title: "what is banned is not written",
    rule: avoidsBanned,
    path: "infra/a.ts",
    bad: [
      word("throw new ", 'Error("a");'),
      word('run("p', 'kill");'),
      word("run({ shell", ": true });"),
    ],
    good: [word("// throw new ", 'Error("a");'), 'throw new FencedError("a");'],
  },
  {
    title: "a test cites rules that the contract has (`npm run fix` copies their ids)",
    rule: citesKnownRules(known),
    path: "test/unit/a.test.ts",
    bad: [
      word('it("[ADM', '-999] a", f);'),
      word('it("[ADM', "-3, NOPE", '-1] a", f);'),
      word("it.each(b)(`[NOPE", "-1] $", "{c}`, f);"),
    ],
    good: [
      word('it("[ADM', "-3, LIM", '-2] a", f);'),
      'it("[L1] a", f);',
      word('g("[NOPE', '-1]");'),
    ],
  },
];

describe.each(CASES)("$title", ({ rule, path, bad, good }) => {
  it("finds the fault in a bad example, and none in a good one", () => {
    const faults = (text: string) => rule(new SourceFile(path, text));
    expect(bad.filter((text) => faults(text).length === 0)).toEqual([]);
    expect(good.flatMap(faults)).toEqual([]);
  });

  it("holds for the whole tree", () => {
    expect(tree.flatMap(rule)).toEqual([]);
  });
});

describe("the tree", () => {
  it("was read", () => {
    expect(tree.map(({ path }) => path)).toContain("test/unit/tidy.test.ts");
    expect(tree.filter((file) => file.isProduct).length).toBeGreaterThan(0);
  });

  it("has its tests where vitest.config.ts runs them", () => {
    const run = /^test\/(?:unit|model|simulation|integration|acceptance)\//;
    const tests = tree.map(({ path }) => path).filter((path) => /\.test\.\w+$/.test(path));
    expect(tests.filter((path) => !run.test(path))).toEqual([]);
  });

  it("has at most 12 files in a folder: more of them are two subjects", () => {
    const crowded = [...countByFolder()].filter(
      ([folder, count]) => folder !== "" && count > FILES_PER_FOLDER_MAX,
    );
    expect(crowded).toEqual([]);
  });

  it("has every folder of the product in the map of README.md", () => {
    const readme = join(ROOT, "README.md");
    const map = existsSync(readme) ? readFileSync(readme, "utf8") : null;
    const folders = [...new Set(tree.filter((file) => file.layer !== null).map((f) => f.folder))];
    expect(folders.filter((folder) => map !== null && !map.includes(folder))).toEqual([]);
  });

  it("has at most 12 scripts in package.json", () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
    expect(Object.keys(scripts).length).toBeLessThanOrEqual(SCRIPTS_MAX);
  });
});
