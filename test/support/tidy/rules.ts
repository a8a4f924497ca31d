/**
 * The house's rules that a linter cannot hold, one function each: a file in, its faults out.
 *
 * A fault says where it is and what to write instead. What Biome can hold (layers, cycles, banned globals, sizes of
 * functions, …) stands in biome.json and not here.
 */
import { type ESTree, Visitor } from "vite";
import type { SourceFile } from "./source-tree.ts";

export type Rule = (file: SourceFile) => readonly string[];

const FILE_LINES_MAX = 500;
const HEADER_LENGTH_MIN = 30;

/** F2: the first thing in a file of the product is a block comment, in sentences. */
export const opensWithHeader: Rule = (file) => {
  if (!file.isProduct) return [];
  const first = file.comments[0];
  const before = first === undefined ? "" : file.text.slice(0, first.start).replace(/^#!.*\n/, "");
  const isHeader =
    first?.type === "Block" &&
    before.trim() === "" &&
    first.value.replace(/[\s*]+/g, " ").length >= HEADER_LENGTH_MIN &&
    first.value.includes(".");
  return isHeader
    ? []
    : [`${file.at(0)} no header: open with a block comment that says what it owns and what not`];
};

/** F1. Biome counts TypeScript's lines; this counts everybody's. */
export const isShortEnough: Rule = (file) =>
  file.lines.length <= FILE_LINES_MAX
    ? []
    : [
        `${file.path} has ${file.lines.length} lines, ${FILE_LINES_MAX} at most: give a noun of its own a file`,
      ];

/** F4: work that is left undone is in an issue, and its comment names it. */
export const hasNoLooseEnds: Rule = (file) => {
  const places =
    file.parsed === null
      ? [{ value: file.text, start: 0 }]
      : file.comments.map((comment) => comment);
  return places.flatMap(({ value, start }) =>
    [...value.matchAll(/\b(?:TODO(?! ?\(?#\d+)|FIXME|XXX|HACK)\b/g)].map(
      (found) =>
        `${file.at(start + found.index)} ${found[0]}: do it, or open an issue and write TODO(#number)`,
    ),
  );
};

const TEST_FUNCTIONS = new Set(["it", "test", "describe", "suite", "bench"]);
const NOT_RUN = new Set(["skip", "todo", "fails", "skipIf", "runIf"]);

/** The names along `it.concurrent.skip`; empty when it is something else. */
const dottedName = (node: ESTree.Expression | ESTree.Super): readonly string[] => {
  if (node.type === "Identifier") return [node.name];
  if (node.type === "CallExpression") return dottedName(node.callee);
  if (node.type !== "MemberExpression" || node.property.type !== "Identifier") return [];
  return [...dottedName(node.object), node.property.name];
};

/** F4: every test runs; one that does not says why on the line above. */
export const runsEveryTest: Rule = (file) => {
  const faults: string[] = [];
  new Visitor({
    MemberExpression(node) {
      const [subject, ...modifiers] = dottedName(node);
      const modifier = modifiers.at(-1);
      if (subject === undefined || modifier === undefined || !TEST_FUNCTIONS.has(subject)) return;
      const where = `${file.at(node.start)} ${subject}.${modifier}`;
      if (modifier === "only") faults.push(`${where}: let the others run again`);
      else if (NOT_RUN.has(modifier) && !file.hasReasonAt(node.start))
        faults.push(`${where}: say why in a comment on the line above`);
    },
  }).visit(programOf(file));
  return faults;
};

/** E5: a catch translates, decides or rethrows; one that does nothing says why nothing is right. */
export const swallowsNothing: Rule = (file) => {
  const faults: string[] = [];
  const judge = (body: ESTree.Node): void => {
    const isEmpty = body.type === "BlockStatement" && body.body.length === 0;
    const isUndefined = body.type === "Identifier" && body.name === "undefined";
    const isExplained =
      file.comments.some(({ start, end }) => start >= body.start && end <= body.end) ||
      file.hasReasonAt(body.start);
    if ((isEmpty || isUndefined) && !isExplained)
      faults.push(
        `${file.at(body.start)} a failure is swallowed: decide something, or say why not`,
      );
  };
  new Visitor({
    CatchClause: (node) => judge(node.body),
    CallExpression(node) {
      const [handler] = node.arguments;
      if (dottedName(node.callee).at(-1) !== "catch") return;
      if (handler?.type === "ArrowFunctionExpression" && handler.body !== null) judge(handler.body);
    },
  }).visit(programOf(file));
  return faults;
};

/** T3: an assertion of a type is a claim that nobody checks: only with a reason on its line or the line above. */
export const explainsAssertions: Rule = (file) => {
  if (!file.isProduct) return [];
  const faults: string[] = [];
  const judge = (node: ESTree.TSAsExpression | ESTree.TSTypeAssertion): void => {
    if (file.text.slice(node.typeAnnotation.start, node.typeAnnotation.end) === "const") return;
    if (!file.hasReasonAt(node.start) && !file.hasReasonAt(node.typeAnnotation.start))
      faults.push(`${file.at(node.start)} \`as\` without a reason: parse it, or say why it holds`);
  };
  new Visitor({ TSAsExpression: judge, TSTypeAssertion: judge }).visit(programOf(file));
  return faults;
};

/** N4: names say what a thing is. */
export const namesPlainly: Rule = (file) => {
  const faults: string[] = [];
  const stem = /(?:^|\/)(?:utils?|helpers?|common|types|misc|shared|lib)(?:\/|\.\w+$)/.exec(
    file.path,
  );
  if (stem !== null) faults.push(`${file.path} is named for what holds anything: name its noun`);
  const judge = (node: {
    readonly id: { readonly name: string; readonly start: number } | null;
  }) => {
    if (node.id !== null && /^I[A-Z][a-z]|(?:Impl|Manager|Helper|Utils?)$/.test(node.id.name))
      faults.push(
        `${file.at(node.id.start)} ${node.id.name}: no I prefix, no Impl, Manager, Helper, Util`,
      );
  };
  new Visitor({
    ClassDeclaration: judge,
    TSInterfaceDeclaration: judge,
    TSTypeAliasDeclaration: judge,
  }).visit(programOf(file));
  return faults;
};

interface Ban {
  /** Looked for in code, not in comments. */
  readonly pattern: RegExp;
  readonly applies: (file: SourceFile) => boolean;
  readonly instead: string;
}

const everywhere = (): boolean => true;

/** The patterns are written so that they do not find themselves. */
const BANS: readonly Ban[] = [
  {
    pattern: /throw new Error\(/g,
    applies: (file) => file.isProduct,
    instead: "a coded error of actors/errors.ts, or invariant()",
  },
  {
    pattern: /\b(?:p[k]ill|kill[a]ll)\b/g,
    applies: everywhere,
    instead: "the pid of a process that we started",
  },
  {
    pattern: /\bshell:\s*true/g,
    applies: everywhere,
    instead: "a program and a list of arguments",
  },
];

/** The ban list: what we do not write, and what we write instead. */
export const avoidsBanned: Rule = (file) => {
  const code = file.code;
  return BANS.filter(({ applies }) => applies(file)).flatMap(({ pattern, instead }) =>
    [...code.matchAll(pattern)].map(
      (found) => `${file.at(found.index)} ${found[0]} is banned: use ${instead}`,
    ),
  );
};

const RULE_ID = /^[A-Z]{2,5}-\d+[a-z]?$/;

/** What stands in brackets in a test's title. */
const idsIn = (title: string): readonly string[] =>
  [...title.matchAll(/\[([^\]]+)\]/g)]
    .flatMap((brackets) => (brackets[1] ?? "").split(/[,\s]+/))
    .filter((id) => RULE_ID.test(id));

/** N6: the rules of the contract that a test's title names in brackets are rules of the contract. */
export const citesKnownRules =
  (known: ReadonlySet<string>): Rule =>
  (file) => {
    if (!file.isTest) return [];
    const faults: string[] = [];
    new Visitor({
      CallExpression(node) {
        const [title] = node.arguments;
        if (title?.type !== "Literal" && title?.type !== "TemplateLiteral") return;
        if (!TEST_FUNCTIONS.has(dottedName(node.callee)[0] ?? "")) return;
        const unknown = idsIn(file.text.slice(title.start, title.end)).filter(
          (id) => !known.has(id),
        );
        faults.push(...unknown.map((id) => `${file.at(title.start)} ${id}: no such rule`));
      },
    }).visit(programOf(file));
    return faults;
  };

const EMPTY_PROGRAM: ESTree.Program = {
  type: "Program",
  body: [],
  sourceType: "module",
  hashbang: null,
  start: 0,
  end: 0,
};

const programOf = (file: SourceFile): ESTree.Program => file.parsed?.program ?? EMPTY_PROGRAM;

/** What the other rules rest on. */
export const parses: Rule = (file) =>
  (file.parsed?.errors ?? []).map((error) => `${file.path} does not parse: ${error.message}`);
