#!/usr/bin/env -S node --max-semi-space-size=64
/**
 * The command line of Holdfast: `holdfast VERB …`.
 *
 * Owns: telling errors, the exit code of the process. Does not own: what a verb does (verbs/).
 *
 * Started with a young generation of 64 MB: jobs in flight outlive a small one, and copying them was a fifth of all cost
 * (measured with 2,000 in flight).
 *
 * M1. Every error is told once: in words on stderr, or, with `--json`, as the one document on stdout.
 */
import { isHoldfastError, toErrorRecord } from "../../actors/errors.ts";
import { holdfastVersion } from "../daemon/version.ts";
import { EXIT, exitCodeOf } from "./exit-codes.ts";
import { type CommandLine, parseLine, wantsJson } from "./line/arguments.ts";
import { generalHelp, verbHelp } from "./line/help.ts";
import type { Invocation } from "./line/verb.ts";
import { Output } from "./output.ts";
import { VERBS } from "./verbs/table.ts";

async function main(words: readonly string[]): Promise<number> {
  const output = new Output({
    isJson: wantsJson(words),
    stdout: process.stdout,
    stderr: process.stderr,
    environment: process.env,
  });
  try {
    return await perform(parseLine(words, VERBS), output);
  } catch (error) {
    tellError(output, error);
    return exitCodeOf(error);
  }
}

async function perform(line: CommandLine, output: Output): Promise<number> {
  if (line.kind === "version") {
    const version = holdfastVersion();
    output.document({ ok: true, version });
    output.line(version);
    return EXIT.done;
  }
  if (line.kind === "help" || line.isHelp) {
    const { columns } = output;
    const help =
      line.kind === "help"
        ? generalHelp(VERBS, holdfastVersion(), columns)
        : verbHelp(line.verb, columns);
    output.document({ ok: true, help: help.join("\n") });
    output.lines(help);
    return EXIT.done;
  }
  return line.verb.run(invocationOf(line, output));
}

function invocationOf(
  { words, values }: Extract<CommandLine, { kind: "verb" }>,
  output: Output,
): Invocation {
  return {
    output,
    environment: process.env,
    words,
    text: (option) => values.get(option)?.[0],
    texts: (option) => values.get(option) ?? [],
    has: (option) => values.has(option),
  };
}

/** M1. */
function tellError(output: Output, error: unknown): void {
  const { code, message, retry, details } = toErrorRecord(error);
  if (!output.hasDocument) {
    const told = { ok: false, decision: "refused", reason: message, code, retry };
    output.document(details === undefined ? told : { ...told, details });
  }
  output.tell(message);
  // A defect: whoever mends it needs to know where it was.
  if (!isHoldfastError(error) && error instanceof Error) output.note(error.stack ?? "");
}

/** A pipe takes as much as it holds; the rest waits for its reader, and would be lost with the process. */
function isWritten(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => stream.write("", () => resolve()));
}

// Whoever reads the output may have seen enough (`holdfast tree … | head`).
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  process.exit(error.code === "EPIPE" ? EXIT.done : EXIT.defect);
});

const code = await main(process.argv.slice(2));
await Promise.all([isWritten(process.stdout), isWritten(process.stderr)]);
// Code of jobs, and whatever a job module left open, must not keep the process.
process.exit(code);
