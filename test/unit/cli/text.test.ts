import { describe, expect, it } from "vitest";
import { Output } from "../../../infra/cli/output.ts";
import {
  bytes,
  duration,
  oneLine,
  padEnd,
  padStart,
  printable,
  shellWord,
  widthOf,
  wrap,
} from "../../../infra/cli/text.ts";

describe("text from outside", () => {
  it("cannot steer the terminal: what would is spelt out", () => {
    expect(printable("a\u001b[2Jb")).toBe("a\\u{1b}[2Jb");
    expect(printable("a\u0000b\nc")).toBe("a\\u{0}b\\u{a}c");
    expect(printable("exe\u202egpj")).toBe("exe\\u{202e}gpj");
    expect(printable("\ud800")).toBe("\ufffd");
    expect(printable("grün 😀 日本")).toBe("grün 😀 日本");
  });

  it("is one line where a line is meant", () => {
    expect(oneLine("  one\n\n  two\t three ")).toBe("one two three");
  });

  it("is quoted where it is to be copied into a shell", () => {
    expect(shellWord("import-7.x@y")).toBe("import-7.x@y");
    expect(shellWord("a b")).toBe("'a b'");
    expect(shellWord("it's")).toBe("'it'\\''s'");
  });
});

describe("columns", () => {
  it("are counted as a terminal shows them", () => {
    expect(widthOf("abc")).toBe(3);
    expect(widthOf("日本")).toBe(4);
    expect(widthOf("😀")).toBe(2);
    expect(widthOf("e\u0301")).toBe(1);
    expect(padEnd("日", 4)).toBe("日  ");
    expect(padStart("7 ms", 6)).toBe("  7 ms");
    expect(padEnd("longer", 3)).toBe("longer");
  });

  it("are kept by wrapping, but for a word that is longer by itself", () => {
    expect(wrap("one two three", 8)).toEqual(["one two", "three"]);
    expect(wrap("a-very-long-id and", 6)).toEqual(["a-very-long-id", "and"]);
    expect(wrap("", 10)).toEqual([""]);
  });
});

it.each([
  [0, "0 ms"],
  [999, "999 ms"],
  [1_000, "1.0 s"],
  [9_999, "9.9 s"],
  [42_000, "42 s"],
  [125_000, "2 min 05 s"],
  [3 * 3_600_000 + 7 * 60_000, "3 h 07 min"],
  [98 * 3_600_000, "4 d 02 h"],
])("%i ms is %s", (ms, expected) => {
  expect(duration(ms)).toBe(expected);
});

it.each([
  [16, "16 bytes"],
  [1_536, "1.5 KiB"],
  [399 * 1_024, "399 KiB"],
  [3.4 * 1024 ** 3, "3.4 GiB"],
])("%d bytes are %s", (count, expected) => {
  expect(bytes(count)).toBe(expected);
});

describe("output", () => {
  const outputWith = (options: { isJson?: boolean; isTTY?: boolean; noColour?: string }) => {
    const written = { stdout: "", stderr: "" };
    const stream = (name: "stdout" | "stderr") => ({
      isTTY: options.isTTY ?? false,
      write: (text: string) => {
        written[name] += text;
      },
    });
    const output = new Output({
      isJson: options.isJson ?? false,
      stdout: stream("stdout"),
      stderr: stream("stderr"),
      environment: options.noColour === undefined ? {} : { NO_COLOR: options.noColour },
    });
    return { output, written };
  };

  it("is one document and nothing else in the JSON mode", () => {
    const { output, written } = outputWith({ isJson: true });
    output.line("for people");
    output.tell("for people");
    output.document({ ok: true });
    expect(() => output.document({ ok: true })).toThrow(/O1/);
    expect(written).toEqual({ stdout: '{"ok":true}\n', stderr: "" });
  });

  it("keeps results and remarks apart for people", () => {
    const { output, written } = outputWith({});
    output.line("result");
    output.tell("remark");
    output.document({ ok: true });
    expect(written).toEqual({ stdout: "result\n", stderr: "holdfast: remark\n" });
  });

  it("is coloured on a terminal alone, and not where NO_COLOR is set", () => {
    expect(outputWith({ isTTY: true }).output.paint("red", "x")).toBe("\u001b[31mx\u001b[39m");
    expect(outputWith({ isTTY: false }).output.paint("red", "x")).toBe("x");
    expect(outputWith({ isTTY: true, noColour: "1" }).output.paint("red", "x")).toBe("x");
  });
});
