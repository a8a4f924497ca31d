// @ts-check
/**
 * The documents of a corpus.
 *
 * Owns: which files they are, in which order, and which topic each belongs to. Does not own: what is in them (analysis.mjs).
 */
import { readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";

/**
 * Paths below the corpus, with `/`, sorted.
 * @param {string} corpus
 */
export async function listDocuments(corpus) {
  const entries = await readdir(corpus, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(corpus, join(parentPath, name)).replaceAll(sep, "/"))
    .sort();
}

/** The folder that a document is in. @param {string} path */
export const topicOf = (path) => path.split("/")[0] ?? "";
