import { describe, expect, it } from "vitest";
import { ConfigError, ExternalServiceError, FencedError } from "../../../actors/errors.ts";
import { EXIT, exitCodeOf } from "../../../infra/cli/exit-codes.ts";
import { parseLine, wantsJson } from "../../../infra/cli/line/arguments.ts";
import { generalHelp, verbHelp } from "../../../infra/cli/line/help.ts";
import { nearestTo } from "../../../infra/cli/line/nearest.ts";
import { UsageError } from "../../../infra/cli/line/usage-error.ts";
import { widthOf } from "../../../infra/cli/text.ts";
import { VERBS } from "../../../infra/cli/verbs/table.ts";

/** What the line comes to: the verb's words and values, or what is said of its fault. */
function parse(...line: string[]) {
  const parsed = parseLine(line, VERBS);
  if (parsed.kind !== "verb") return parsed.kind;
  const values = Object.fromEntries(parsed.values);
  return { verb: parsed.verb.name, words: parsed.words, values };
}

describe("a command line", () => {
  it("gives the verb, its words and its options, in any order", () => {
    expect(parse("submit", "--id", "a", "add", "--wait", '{"a":1}', "--user=ann")).toEqual({
      verb: "submit",
      words: ["add", '{"a":1}'],
      values: { id: ["a"], wait: ["true"], user: ["ann"] },
    });
  });

  it("takes an option several times only where that means something", () => {
    expect(parse("up", "--jobs", "a.mjs", "--jobs", "b.mjs")).toMatchObject({
      values: { jobs: ["a.mjs", "b.mjs"] },
    });
    expect(() => parse("submit", "add", "--id", "a", "--id", "b")).toThrow(/--id is given 2 times/);
  });

  it("keeps what follows two dashes as words, and a lone dash", () => {
    expect(parse("submit", "add", "-")).toMatchObject({ words: ["add", "-"] });
    expect(parse("submit", "add", "--", "-5")).toMatchObject({ words: ["add", "-5"] });
    expect(parse("submit", "--", "--id", "x")).toMatchObject({ words: ["--id", "x"], values: {} });
  });

  it("takes a value that begins with a dash only when it is joined to its option", () => {
    expect(() => parse("submit", "add", "--id", "--wait")).toThrow(
      /--id needs a value, found --wait: if that is it, write --id=--wait/,
    );
    expect(parse("submit", "add", "--id=--wait")).toMatchObject({ values: { id: ["--wait"] } });
  });

  it.each([
    [["sbmit", "add"], "There is no verb sbmit. Did you mean submit?"],
    [["frobnicate"], "There is no verb frobnicate. The verbs are: up, submit,"],
    [["--data", "x"], "The option --data comes before the verb."],
    [["submit", "add", "--wiat"], "submit: there is no option --wiat (did you mean --wait?)."],
    [["submit", "add", "--xyzzy"], "submit: there is no option --xyzzy."],
    [["submit", "add", "-x"], "submit: there is no option -x."],
    [["submit", "add", "--id"], "submit: --id needs a value: --id ID."],
    [["submit", "add", "--wait=yes"], "submit: --wait takes no value, found yes."],
    [["submit"], "submit: TYPE is missing."],
    [["answer", "job"], "answer: NAME and JSON is missing."],
    [["tree", "a", "b"], 'tree: "b" is one word too many.'],
  ])("says what is wrong with %j, and what would be right", (line, expected) => {
    const message = (() => {
      try {
        parse(...line);
        return "nothing is wrong";
      } catch (error) {
        expect(error).toBeInstanceOf(UsageError);
        return error instanceof Error ? error.message : "";
      }
    })();
    expect(message).toContain(expected);
  });

  it("asks for help and version whatever else is missing", () => {
    expect(parse()).toBe("help");
    expect(parse("--help")).toBe("help");
    expect(parse("--version")).toBe("version");
    expect(parse("--json", "--version")).toBe("version");
    expect(parseLine(["submit", "--help"], VERBS)).toMatchObject({ isHelp: true });
    expect(parseLine(["submit", "-h"], VERBS)).toMatchObject({ isHelp: true });
  });

  it("knows before it is parsed whether it is to be answered in JSON", () => {
    expect(wantsJson(["sbmit", "--json"])).toBe(true);
    expect(wantsJson(["submit", "add", "--", "--json"])).toBe(false);
  });
});

describe("the nearest word", () => {
  it.each([
    ["tre", "tree"],
    ["rtee", "tree"],
    ["trajectroy", "trajectory"],
    ["x", null],
    ["completely", null],
  ])("to %s is %s", (word, expected) => {
    expect(nearestTo(word, ["tree", "trajectory", "submit", "cancel"])).toBe(expected);
  });
});

describe("help", () => {
  const texts = [generalHelp(VERBS, "0.1.0", 80), ...VERBS.map((verb) => verbHelp(verb, 80))];

  it("fits into 80 columns but for examples, which are to be copied whole", () => {
    const lines = texts.flat().filter((line) => !line.startsWith("  holdfast "));
    expect(lines.filter((line) => widthOf(line) > 80)).toEqual([]);
  });

  it("names every option of every verb", () => {
    for (const verb of VERBS) {
      const text = verbHelp(verb, 80).join("\n");
      for (const option of [...Object.keys(verb.options), "json", "help"]) {
        expect(text).toContain(`--${option}`);
      }
    }
  });

  it("has examples that can be parsed", () => {
    for (const { examples, name } of VERBS) {
      for (const example of examples) {
        const words = [...example.matchAll(/'([^']*)'|(\S+)/g)].map(([, one, two]) => one ?? two);
        expect(parse(...words.map((word) => word ?? ""))).toMatchObject({ verb: name });
      }
    }
  });
});

describe("exit codes", () => {
  it("are different for everything that is different", () => {
    const codes = Object.values(EXIT);
    expect(new Set(codes).size).toBe(codes.length);
  });

  it.each([
    [new UsageError("x"), 64],
    [new ConfigError("x"), 2],
    [new FencedError("x"), 3],
    [new ExternalServiceError("x"), 6],
    [new TypeError("x"), 70],
  ])("of %s is %i", (error, code) => {
    expect(exitCodeOf(error)).toBe(code);
  });
});
