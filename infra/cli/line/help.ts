/**
 * Help texts.
 *
 * Owns: their form. Pure. Does not own: what stands in them (the verbs).
 */
import { padEnd, wrap } from "../text.ts";
import { COMMON_OPTIONS, type OptionSpec, type Verb } from "./verb.ts";

const INDENT = "  ";
const GAP = 2;

export function generalHelp(verbs: readonly Verb[], version: string, columns: number): string[] {
  const rows = verbs.map(({ name, summary }): Row => [name, summary]);
  return [
    `holdfast ${version}: jobs that are never let go of`,
    "",
    "usage: holdfast VERB [options]",
    "",
    ...table(rows, columns),
    "",
    "holdfast VERB --help says more of one. Every verb takes --json.",
    "Exit codes: 0 done, 1 refused, 2 configuration, 5 folder or partition are a",
    "living daemon's, 6 no daemon or server, 10 11 12 the job failed, was cancelled,",
    "timed out, 64 usage; of a daemon: 3 fenced (taken over), 4 journal.",
  ];
}

export function verbHelp(verb: Verb, columns: number): string[] {
  const options = Object.entries<OptionSpec>({ ...verb.options, ...COMMON_OPTIONS });
  const rows = options.map(([name, { value, help, isMultiple = false }]): Row => {
    const argument = value === undefined ? "" : ` ${value}${isMultiple ? "…" : ""}`;
    return [`--${name}${argument}`, help];
  });
  return [
    usageLine(verb),
    "",
    ...wrap(`${verb.summary}.`, columns),
    ...verb.notes.flatMap((note) => ["", ...wrap(note, columns)]),
    "",
    ...table(rows, columns),
    ...(verb.examples.length === 0 ? [] : ["", "examples:"]),
    ...verb.examples.map((example) => `${INDENT}holdfast ${example}`),
  ];
}

const usageLine = ({ name, positionals }: Verb): string => {
  const words = positionals.map(({ name: word, isOptional = false, isRepeated = false }) => {
    const shown = isRepeated ? `${word}...` : word;
    return isOptional ? `[${shown}]` : shown;
  });
  return ["usage: holdfast", name, ...words, "[options]"].join(" ");
};

type Row = readonly [string, string];

function table(rows: readonly Row[], columns: number): string[] {
  const left = Math.max(...rows.map(([first]) => first.length)) + GAP;
  return rows.flatMap(([first, second]) =>
    wrap(second, columns - left - INDENT.length).map(
      (line, index) => INDENT + padEnd(index === 0 ? first : "", left) + line,
    ),
  );
}
