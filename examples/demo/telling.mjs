// @ts-check
/**
 * What the demo prints.
 *
 * Owns: the form: 80 columns, colour on a terminal only, the tree and the trajectory with what is alike folded together. Does
 * not own: what is told (demo.mjs).
 */
import { styleText } from "node:util";

const COLUMNS = 78;
const INDENT = "   ";
/** Siblings that are alike are shown one by one up to here; the rest are counted. */
const ALIKE_SHOWN = 2;

const isColoured = process.stdout.isTTY === true && (process.env["NO_COLOR"] ?? "") === "";

/** @param {"bold" | "dim" | "green" | "red" | "cyan"} style @param {string} text */
export const paint = (style, text) => (isColoured ? styleText(style, text) : text);

/**
 * Lines of at most `width` columns.
 * @param {string} text
 * @param {number} width
 */
export const wrap = (text, width) => fill(text.split(/\s+/), width);

/** @param {readonly string[]} words @param {number} width */
function fill(words, width) {
  /** @type {string[]} */
  const lines = [];
  let line = "";
  for (const word of words) {
    if (line !== "" && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

export class Teller {
  #isQuiet;

  /** @param {{ isQuiet: boolean }} options */
  constructor({ isQuiet }) {
    this.#isQuiet = isQuiet;
  }

  /** Nothing more is printed by this one. */
  hush() {
    this.#isQuiet = true;
  }

  /** @param {string} text */
  heading(text) {
    this.#print(`\n${paint("bold", text)}`);
  }

  /** Plain sentences. @param {string} text */
  say(text) {
    for (const line of wrap(text, COLUMNS - INDENT.length)) this.#print(INDENT + line);
  }

  /** What one would type; a long one goes on in the next line, as a shell takes it. @param {string} text */
  command(text) {
    // An option and its value stay together.
    const lines = fill(text.split(/ (?=--)/), COLUMNS - INDENT.length - 6);
    for (const [index, line] of lines.entries()) {
      const isLast = index === lines.length - 1;
      const shown = `${index === 0 ? "$ " : "    "}${line}${isLast ? "" : " \\"}`;
      this.#print(INDENT + paint("cyan", shown));
    }
  }

  /** As they are. @param {readonly string[]} texts */
  lines(texts) {
    for (const text of texts) this.#print(text === "" ? "" : INDENT + text);
  }

  /** @param {{ isOk: boolean, claim: string, found: string }} check */
  check({ isOk, claim, found }) {
    const mark = isOk ? paint("green", "ok    ") : paint("red", "FAILED");
    const [first = "", ...rest] = wrap(`${claim}: ${found}`, COLUMNS - INDENT.length - 8);
    this.lines([`${mark}  ${first}`, ...rest.map((line) => `        ${line}`)]);
  }

  /** @param {string} text */
  #print(text) {
    if (!this.#isQuiet) process.stdout.write(`${text}\n`);
  }
}

/**
 * @typedef {object} Node A job, as `holdfast tree --json` has it.
 * @property {string} id
 * @property {string} type
 * @property {number} depth
 * @property {number | null} ordinal
 * @property {string} state
 * @property {number} attempts
 * @property {number | null} startedAt
 * @property {number | null} endedAt
 *
 * @typedef {object} Entry A job, as `holdfast trajectory --json` has it.
 * @property {string} id
 * @property {string} type
 * @property {string} path
 * @property {number} attempts
 * @property {number | null} startedAt
 * @property {number | null} endedAt
 *
 * @typedef {(id: string) => string} NameOf What a job is about, for people.
 */

/** @param {number} count @param {string} noun */
export const plural = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

/**
 * The tree, depth first.
 * @param {readonly Node[]} nodes
 * @param {NameOf} nameOf
 */
export function treeLines(nodes, nameOf) {
  const [root, ...below] = nodes;
  if (root === undefined) return [];
  return [jobLine("", root, nameOf), ...branches(below, "", nameOf)];
}

/** @param {readonly Node[]} nodes @param {string} margin @param {NameOf} nameOf @returns {string[]} */
function branches(nodes, margin, nameOf) {
  const families = familiesOf(nodes);
  return families.flatMap(([node, ...below], index) => {
    if (node === undefined) return [];
    const hidden = hiddenFrom(families, index);
    if (hidden === null) return [];
    const isLast = index + Math.max(1, hidden.length) >= families.length;
    const branch = `${margin}${isLast ? "└─ " : "├─ "}`;
    if (hidden.length > 0) return [moreLine(branch, hidden)];
    const deeper = `${margin}${isLast ? "   " : "│  "}`;
    return [jobLine(branch, node, nameOf), ...branches(below, deeper, nameOf)];
  });
}

/** Each with everything below it. @param {readonly Node[]} nodes @returns {Node[][]} */
function familiesOf(nodes) {
  const top = nodes[0]?.depth ?? 0;
  /** @type {Node[][]} */
  const families = [];
  for (const node of nodes) {
    if (node.depth === top) families.push([node]);
    else families.at(-1)?.push(node);
  }
  return families;
}

/**
 * What the line of this sibling stands for besides itself: nothing as a rule; all that are alike from the third on; null when it
 * is one of those, and has no line.
 * @param {readonly Node[][]} families
 * @param {number} index
 * @returns {Node[] | null}
 */
function hiddenFrom(families, index) {
  const isLike = (/** @type {number} */ other) => areAlike(families[index], families[other]);
  let before = 0;
  while (isLike(index - before - 1)) before += 1;
  let after = 0;
  while (isLike(index + after + 1)) after += 1;
  if (before + 1 + after <= ALIKE_SHOWN + 1 || before < ALIKE_SHOWN) return [];
  if (before > ALIKE_SHOWN) return null;
  return families.slice(index, index + after + 1).flatMap(([node]) => (node ? [node] : []));
}

/** @param {Node[] | undefined} one @param {Node[] | undefined} other */
const areAlike = (one, other) =>
  one?.length === 1 &&
  other?.length === 1 &&
  one[0]?.type === other[0]?.type &&
  one[0]?.ordinal === other[0]?.ordinal;

const TREE_WIDTH = 53;

/** @param {string} branch @param {Node} node @param {NameOf} nameOf */
function jobLine(branch, { id, type, ordinal, state, attempts }, nameOf) {
  // The folder of a document is its parent's name, and needs not be said again.
  const name = nameOf(id).split("/").at(-1);
  const left = `${branch}${ordinal === null ? "" : `${ordinal} `}${type}  ${name}`;
  const right = state.toLowerCase().padEnd(11);
  const again = attempts > 1 ? `attempt ${attempts}` : "";
  return `${left.padEnd(TREE_WIDTH)} ${right}${again}`.trimEnd();
}

/** @param {string} branch @param {readonly Node[]} nodes */
function moreLine(branch, nodes) {
  const [first] = nodes;
  const left = `${branch}${first?.ordinal ?? ""} … ${nodes.length} more`;
  const states = [...new Set(nodes.map(({ state }) => state.toLowerCase()))].join(", ");
  const again = nodes.filter(({ attempts }) => attempts > 1).length;
  return `${left.padEnd(TREE_WIDTH)} ${states.padEnd(11)}${again > 0 ? `${again} twice` : ""}`.trimEnd();
}

/**
 * The trajectory; neighbours that ran in parallel under one path are one line.
 * @param {readonly Entry[]} entries
 * @param {NameOf} nameOf
 */
export function trajectoryLines(entries, nameOf) {
  const begunAt = entries[0]?.startedAt ?? 0;
  const head = row("PATH", "JOB", "TRIES", "BEGAN", "ENDED");
  return [
    paint("dim", head),
    ...parallels(entries).map((some) => trajectoryLine(some, begunAt, nameOf)),
  ];
}

/** @param {readonly Entry[]} entries @returns {Entry[][]} */
function parallels(entries) {
  /** @type {Entry[][]} */
  const groups = [];
  for (const entry of entries) {
    const before = groups.at(-1)?.[0];
    if (before?.path === entry.path && before.type === entry.type) groups.at(-1)?.push(entry);
    else groups.push([entry]);
  }
  return groups;
}

/** @param {readonly Entry[]} entries @param {number} begunAt @param {NameOf} nameOf */
function trajectoryLine(entries, begunAt, nameOf) {
  const [first] = entries;
  if (first === undefined) return "";
  const isOne = entries.length === 1;
  const what = isOne ? `${first.type}  ${nameOf(first.id)}` : `${first.type}  × ${entries.length}`;
  const tries = entries.map(({ attempts }) => attempts);
  const [least, most] = [Math.min(...tries), Math.max(...tries)];
  const began = Math.min(...entries.map(({ startedAt }) => startedAt ?? Number.POSITIVE_INFINITY));
  const ended = Math.max(...entries.map(({ endedAt }) => endedAt ?? Number.NEGATIVE_INFINITY));
  const range = least === most ? String(most) : `${least} to ${most}`;
  return row(first.path, what, range, seconds(began - begunAt), seconds(ended - begunAt));
}

/** @param {number} ms */
export const seconds = (ms) => (Number.isFinite(ms) ? `${(ms / 1_000).toFixed(1)} s` : "-");

/** @type {(path: string, what: string, tries: string, began: string, ended: string) => string} */
const row = (path, what, tries, began, ended) =>
  `${path.padEnd(8)}${what.padEnd(42)}${tries.padStart(7)}${began.padStart(9)}${ended.padStart(9)}`;
