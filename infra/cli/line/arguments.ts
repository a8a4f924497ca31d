/**
 * Command lines.
 *
 * Owns: from words to a verb and its options, naming what cannot be understood and what was probably meant. Does not own: the
 * verbs (verbs/), what their values mean.
 *
 * P1. Nothing is guessed and nothing is dropped: an unknown option, a missing or superfluous word, an option given twice is an
 *     error that names it.
 */
import { parseArgs } from "node:util";
import { printable } from "../text.ts";
import { nearestTo } from "./nearest.ts";
import { UsageError } from "./usage-error.ts";
import { COMMON_OPTIONS, type OptionSpec, type Verb } from "./verb.ts";

export interface ParsedLine {
  readonly verb: Verb;
  readonly words: readonly string[];
  readonly values: ReadonlyMap<string, readonly string[]>;
  readonly isHelp: boolean;
}

export type CommandLine =
  | { readonly kind: "help" }
  | { readonly kind: "version" }
  | ({ readonly kind: "verb" } & ParsedLine);

/** Whether `--json` stands on the line: asked first, so that the line's own faults are told as JSON too. */
export function wantsJson(words: readonly string[]): boolean {
  const end = words.indexOf("--");
  return (end < 0 ? words : words.slice(0, end)).includes("--json");
}

/** Errors: UsageError. */
export function parseLine(line: readonly string[], verbs: readonly Verb[]): CommandLine {
  const words = line.filter((word, index) => index > 0 || word !== "--json");
  const [first, ...rest] = words;
  if (first === undefined || first === "--help" || first === "-h" || first === "help") {
    return { kind: "help" };
  }
  if (first === "--version" || first === "-V") return { kind: "version" };
  const verb = verbs.find(({ name }) => name === first);
  if (verb !== undefined) return { kind: "verb", ...parseVerb(verb, rest) };
  const names = verbs.map(({ name }) => name);
  const what = first.startsWith("-")
    ? `The option ${printable(first)} comes before the verb`
    : `There is no verb ${printable(first)}`;
  throw new UsageError(`${what}.${meant(first, names)} The verbs are: ${names.join(", ")}.`, {
    details: { found: first, verbs: names },
  });
}

const meant = (found: string, candidates: readonly string[]): string => {
  const nearest = nearestTo(found, candidates);
  return nearest === null ? "" : ` Did you mean ${nearest}?`;
};

function parseVerb(verb: Verb, line: readonly string[]): ParsedLine {
  const known: Verb["options"] = { ...verb.options, ...COMMON_OPTIONS };
  const specs = new Map<string, OptionSpec>(Object.entries(known));
  const { tokens } = parseArgs({
    args: [...line],
    options: Object.fromEntries([
      ...[...specs].map(([name, { type }]): [string, { type: "string" | "boolean" }] => [
        name,
        { type },
      ]),
      ["h", { type: "boolean" as const }],
    ]),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const words: string[] = [];
  const values = new Map<string, string[]>();
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    const name = token.name === "h" ? "help" : token.name;
    const value = checkOption(verb, specs, { ...token, name });
    values.set(name, [...(values.get(name) ?? []), value]);
  }
  const isHelp = values.has("help");
  for (const [name, given] of values) {
    if (given.length === 1 || specs.get(name)?.isMultiple === true) continue;
    throw usage(verb, `--${name} is given ${given.length} times`);
  }
  if (!isHelp) checkWords(verb, words);
  return { verb, words, values, isHelp };
}

interface OptionToken {
  readonly name: string;
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

/** The value; "true" of one that takes none. */
function checkOption(
  verb: Verb,
  specs: ReadonlyMap<string, OptionSpec>,
  { name, rawName, value, inlineValue }: OptionToken,
): string {
  const spec = specs.get(name);
  if (spec === undefined) {
    const near = nearestTo(name, [...specs.keys()]);
    const hint = near === null ? "" : ` (did you mean --${near}?)`;
    throw usage(verb, `there is no option ${printable(rawName)}${hint}`);
  }
  if (spec.type === "boolean") {
    if (value === undefined) return "true";
    throw usage(verb, `${rawName} takes no value, found ${printable(value)}`);
  }
  const what = spec.value ?? "VALUE";
  if (value === undefined) throw usage(verb, `${rawName} needs a value: ${rawName} ${what}`);
  // The next option, as a rule: whoever means it joins the two.
  if (inlineValue !== true && value.startsWith("-") && value !== "-") {
    throw usage(
      verb,
      `${rawName} needs a value, found ${printable(value)}: if that is it, write ${rawName}=${printable(value)}`,
    );
  }
  return value;
}

function checkWords(verb: Verb, words: readonly string[]): void {
  const { positionals } = verb;
  const missing = positionals.filter(
    ({ isOptional = false }, index) => !isOptional && index >= words.length,
  );
  if (missing.length > 0) {
    throw usage(verb, `${missing.map(({ name }) => name).join(" and ")} is missing`);
  }
  const surplus = words.slice(positionals.length);
  if (surplus.length === 0 || positionals.at(-1)?.isRepeated === true) return;
  throw usage(
    verb,
    `${surplus.map((word) => JSON.stringify(word)).join(", ")} is one word too many`,
  );
}

export const usage = (verb: Pick<Verb, "name">, what: string): UsageError =>
  new UsageError(`${verb.name}: ${what}. See: holdfast ${verb.name} --help`, {
    details: { verb: verb.name },
  });
