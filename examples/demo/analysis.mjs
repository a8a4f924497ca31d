// @ts-check
/**
 * What the demo's workflow computes, without any workflow: documents in, an index out.
 *
 * Owns: reading one document, merging a topic, writing the report. Pure: the same bytes give the same report, so that the
 * demo can compute it a second time in one loop and compare. Does not own: who calls it when (jobs.mjs, checks.mjs).
 */
import { createHash } from "node:crypto";
import { posix } from "node:path";

const TERM_LETTERS_MIN = 4;
const TERMS_OF_DOCUMENT = 8;
const TERMS_OF_TOPIC = 6;
const WORDS_A_MINUTE = 200;

/**
 * @typedef {[term: string, count: number]} Term
 *
 * @typedef {object} Facts What is known of one document.
 * @property {string} path Below the corpus, with `/`.
 * @property {string} title
 * @property {number} bytes
 * @property {"utf-8" | "latin-1" | "empty"} encoding
 * @property {number} words
 * @property {number} headings
 * @property {string[]} links Targets; those into the corpus as paths below it.
 * @property {Term[]} terms The most frequent ones.
 * @property {string} hash Of the bytes.
 *
 * @typedef {object} Topic
 * @property {string} topic
 * @property {number} words
 * @property {Term[]} terms
 * @property {Facts[]} documents By path.
 */

/**
 * @param {string} path
 * @param {Uint8Array} content
 * @returns {Facts}
 */
export function analyseDocument(path, content) {
  const { text, encoding } = decode(content);
  const { fields, body } = splitFrontMatter(text);
  const prose = withoutCode(body);
  const headings = [...prose.matchAll(/^#{1,6} +(.+)$/gm)].map(([, heading = ""]) =>
    heading.trim(),
  );
  const words = wordsIn(body);
  return {
    path,
    title: fields.get("title") ?? headings[0] ?? fields.get("subject") ?? posix.basename(path),
    bytes: content.length,
    encoding,
    words: words.length,
    headings: headings.length,
    links: linksIn(path, prose),
    terms: mostFrequent(
      words.filter(isTerm).map((word) => [word, 1]),
      TERMS_OF_DOCUMENT,
    ),
    hash: createHash("sha256").update(content).digest("hex").slice(0, 16),
  };
}

/**
 * A byte that is no UTF-8 makes the document one of an older encoding; it is read as such and not refused.
 * @param {Uint8Array} content
 * @returns {{ text: string, encoding: Facts["encoding"] }}
 */
function decode(content) {
  if (content.length === 0) return { text: "", encoding: "empty" };
  try {
    return {
      text: lines(new TextDecoder("utf-8", { fatal: true }).decode(content)),
      encoding: "utf-8",
    };
  } catch {
    return { text: lines(new TextDecoder("latin1").decode(content)), encoding: "latin-1" };
  }
}

/** @param {string} text */
const lines = (text) => text.replaceAll("\r\n", "\n");

/** @param {string} text */
function splitFrontMatter(text) {
  const [, head, body] = /^---\n(.*?)\n---\n?(.*)$/s.exec(text) ?? [];
  if (head === undefined || body === undefined) return { fields: new Map(), body: text };
  const pairs = head.split("\n").map((line) => /^(\w+): *(.*)$/.exec(line));
  const unquoted = (/** @type {string} */ value) => value.replace(/^"(.*)"$/, "$1");
  const fields = pairs.flatMap((pair) => (pair ? [[pair[1], unquoted(pair[2] ?? "")]] : []));
  return { fields: new Map(/** @type {[string, string][]} */ (fields)), body };
}

/** Fences and indented lines hold neither headings nor links. @param {string} body */
const withoutCode = (body) => body.replace(/^```.*?^```$/gms, "").replace(/^ {4}.*$/gm, "");

/** @param {string} body */
const wordsIn = (body) => body.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}'’]*/gu) ?? [];

const STOP_WORDS = new Set(
  `about after again also before been both come could does down each first from have here into
  like more most much nobody once only other over said same says should since some still than that their them
  then there these they thing this those three through under until what when where which while will with
  would writes written your every because without nothing
  being`.split(/\s+/),
);

/** @param {string} word */
const isTerm = (word) =>
  word.length >= TERM_LETTERS_MIN && !/\d/.test(word) && !STOP_WORDS.has(word);

/**
 * @param {string} path
 * @param {string} prose
 */
function linksIn(path, prose) {
  const inline = [...prose.matchAll(/(?<!!)\[[^\]]*\]\(([^)\s]+)\)/g)].map(
    ([, target = ""]) => target,
  );
  const bare = [...prose.matchAll(/<(https?:[^>\s]+)>/g)].map(([, target = ""]) => target);
  return [...inline, ...bare].map((target) =>
    /^\w+:/.test(target) ? target : posix.join(posix.dirname(path), target),
  );
}

/**
 * The most frequent ones; of two that are as frequent, the one that comes first in the alphabet.
 * @param {Iterable<Term>} terms
 * @param {number} count
 * @returns {Term[]}
 */
function mostFrequent(terms, count) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const [term, times] of terms) counts.set(term, (counts.get(term) ?? 0) + times);
  return [...counts].sort(byCount).slice(0, count);
}

/** @type {(one: Term, other: Term) => number} */
const byCount = ([one, times], [other, otherTimes]) => otherTimes - times || (one < other ? -1 : 1);

/**
 * @param {string} topic
 * @param {readonly Facts[]} documents In any order.
 * @returns {Topic}
 */
export function mergeTopic(topic, documents) {
  return {
    topic,
    words: sum(documents.map(({ words }) => words)),
    terms: mostFrequent(
      documents.flatMap(({ terms }) => terms),
      TERMS_OF_TOPIC,
    ),
    documents: [...documents].sort(byPath),
  };
}

/** @type {(one: { path: string }, other: { path: string }) => number} */
const byPath = (one, other) => (one.path < other.path ? -1 : 1);

/** @param {readonly number[]} numbers */
const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/**
 * The report, as Markdown.
 * @param {readonly Topic[]} topics In any order.
 */
export function writeReport(topics) {
  const sorted = [...topics].sort((one, other) => (one.topic < other.topic ? -1 : 1));
  const documents = sorted.flatMap((topic) => topic.documents);
  const words = sum(documents.map((document) => document.words));
  return [
    "# The papers of the Wendmoor Lighthouse Trust",
    "",
    `${documents.length} documents in ${sorted.length} folders, ${words} words: ` +
      `${Math.ceil(words / WORDS_A_MINUTE)} minutes to read.`,
    "",
    "| folder | documents | words | it is about |",
    "|---|---:|---:|---|",
    ...sorted.map(topicRow),
    "",
    ...oddities(documents),
    ...sorted.flatMap(topicSection),
  ].join("\n");
}

/** @param {Topic} topic */
const topicRow = ({ topic, documents, words, terms }) =>
  `| ${topic} | ${documents.length} | ${words} | ${terms
    .slice(0, 4)
    .map(([term]) => term)
    .join(", ")} |`;

/** @param {readonly Facts[]} documents */
function oddities(documents) {
  const paths = new Set(documents.map(({ path }) => path));
  const isDangling = (/** @type {string} */ link) => !/^\w+:/.test(link) && !paths.has(link);
  const dangling = documents.flatMap(({ path, links }) =>
    links.filter(isDangling).map((link) => `- ${path} links to ${link}, which is not there`),
  );
  const firstByHash = new Map(documents.toReversed().map(({ hash, path }) => [hash, path]));
  const doubled = documents
    .filter(({ hash, path }) => firstByHash.get(hash) !== path)
    .map(({ hash, path }) => `- ${path} is a copy of ${firstByHash.get(hash)}`);
  const strange = documents
    .filter(({ encoding }) => encoding !== "utf-8")
    .map(({ path, encoding }) =>
      encoding === "empty"
        ? `- ${path} is empty`
        : `- ${path} is not UTF-8, and was read as ${encoding}`,
    );
  return ["## To look at", "", ...dangling, ...doubled, ...strange, ""];
}

/** @param {Topic} topic */
const topicSection = ({ topic, documents }) => [
  `## ${topic}`,
  "",
  ...documents.map(
    ({ path, title, words, headings, links, terms, hash }) =>
      `- ${path} (${hash}): ${title}. ${words} words, ${headings} headings, ${links.length} links. ` +
      terms.map(([term, count]) => `${term} ${count}`).join(", "),
  ),
  "",
];
