// @ts-check
/**
 * Two files that the jobs of the demo write, and Holdfast knows nothing of: they are the witness of what really happened.
 *
 * Owns: their lines. `effects.jsonl` has one line for each thing that was done to the world; `calls.jsonl` one for each attempt
 * that began and for each submission whose acknowledgement a job got. Does not own: what is concluded from them (checks.mjs).
 *
 * A line is appended with one write to a file opened with O_APPEND: a process that dies leaves whole lines.
 */
import { appendFileSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * @typedef {object} Effect
 * @property {string} job
 * @property {string} type
 * @property {number} attempt
 * @property {string} what
 * @property {number} at Wall clock, ms.
 * @property {number} daemon The process that did it.
 *
 * @typedef {object} Call
 * @property {"began" | "acknowledged"} kind
 * @property {string} job Who began, or who was submitted.
 * @property {string} name What it is about, for people.
 * @property {number | null} ordinal As the attempt that began was told; null for a root, and of a submission.
 * @property {number} attempt Of the job that began, or of the one that submitted.
 * @property {number} at Wall clock, ms.
 *
 * @typedef {{ id: string, type: string, attempt: number, metadata: Readonly<Record<string, unknown>> }} Context
 */

const EFFECTS = "effects.jsonl";
const CALLS = "calls.jsonl";

/**
 * @param {string} folder
 * @param {Context} context
 * @param {string} what
 */
export function recordEffect(folder, { id, type, attempt }, what) {
  append(folder, EFFECTS, { job: id, type, attempt, what, at: Date.now(), daemon: process.pid });
}

/**
 * @param {string} folder
 * @param {Context} context
 * @param {string} name
 */
export function recordBegin(folder, { id, attempt, metadata }, name) {
  const ordinal = metadata["iteration_number"] ?? null;
  append(folder, CALLS, { kind: "began", job: id, name, ordinal, attempt, at: Date.now() });
}

/**
 * @param {string} folder
 * @param {Context} context Of the job that submitted.
 * @param {{ job: string, name: string }} submitted
 */
export function recordAcknowledged(folder, { attempt }, { job, name }) {
  append(folder, CALLS, {
    kind: "acknowledged",
    job,
    name,
    ordinal: null,
    attempt,
    at: Date.now(),
  });
}

/**
 * @param {string} folder
 * @param {string} file
 * @param {object} line
 */
const append = (folder, file, line) =>
  appendFileSync(join(folder, file), `${JSON.stringify(line)}\n`, { flag: "a" });

/** @param {string} folder @returns {Effect[]} */
export const readEffects = (folder) => readLines(join(folder, EFFECTS));

/** @param {string} folder @returns {Call[]} */
export const readCalls = (folder) => readLines(join(folder, CALLS));

/** Empty when nothing was written yet. @param {string} path */
function readLines(path) {
  let text = "";
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== "ENOENT") throw error;
  }
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  return whole.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
}
