// @ts-check
/**
 * The checks at the end of the demo: what Holdfast says happened, held against the files that the jobs themselves wrote.
 *
 * Owns: the claims, and how each is judged. Pure. Does not own: getting the evidence (demo.mjs).
 */
import { plural } from "./telling.mjs";

/**
 * @typedef {import("./telling.mjs").Node} Node
 * @typedef {import("./effects.mjs").Effect} Effect
 * @typedef {import("./effects.mjs").Call} Call
 *
 * @typedef {object} Evidence
 * @property {readonly Node[]} nodes Every job of every workflow, at the end.
 * @property {number} killedAt Wall clock, ms: the first daemon was dead, the second one not yet started.
 * @property {readonly string[]} acknowledged Jobs whose submission was answered before the kill, as the callers noted it.
 * @property {readonly Call[]} calls
 * @property {readonly Effect[]} effects
 * @property {ReadonlyMap<string, any>} records Of each job that ran more than once.
 * @property {readonly string[]} paths Every document of the corpus.
 * @property {string} report
 * @property {string} expectedReport Computed without any workflow.
 *
 * @typedef {{ isOk: boolean, claim: string, found: string }} Check
 */

const NOTICE = "notice.post";
const ANALYSIS = "document.analyse";
const EXAMPLES_SHOWN = 3;

/** @param {Evidence} evidence @returns {Check[]} */
export function checksOf(evidence) {
  return [
    killedInTheMiddle(evidence),
    nothingAcknowledgedIsLost(evidence),
    nothingFinishedRanAgain(evidence),
    noAttemptDidItTwice(evidence),
    onlyTheInterruptedRanAgain(evidence),
    noticesWerePostedOnce(evidence),
    ordinalsAreAsFirstRecorded(evidence),
    everyJobEndedWell(evidence),
    everyDocumentIsInTheReport(evidence),
    reportIsRight(evidence),
  ];
}

/**
 * @param {string} claim
 * @param {string} found What was looked at, when all is well.
 * @param {readonly string[]} faults
 * @returns {Check}
 */
function judge(claim, found, faults) {
  if (faults.length === 0) return { isOk: true, claim, found };
  const more = faults.length > EXAMPLES_SHOWN ? `; and ${faults.length - EXAMPLES_SHOWN} more` : "";
  return { isOk: false, claim, found: faults.slice(0, EXAMPLES_SHOWN).join("; ") + more };
}

/** A kill that hits nothing proves nothing. @param {Evidence} evidence */
function killedInTheMiddle({ nodes, killedAt, calls }) {
  const documents = nodes.filter(({ type }) => type === ANALYSIS);
  const ended = documents.filter((node) => hadEnded(node, killedAt));
  const begun = new Set(beganBefore(calls, killedAt).map(({ job }) => job));
  const reading = documents.filter((node) => begun.has(node.id) && !hadEnded(node, killedAt));
  const rest = documents.length - ended.length - reading.length;
  const found = `${ended.length} documents had been read, ${reading.length} were being read, ${rest} had not begun`;
  const isMiddle = ended.length > 0 && reading.length > 0;
  return judge("The kill came in the middle", found, isMiddle ? [] : [found]);
}

/** @param {Node} node @param {number} killedAt */
const hadEnded = ({ endedAt }, killedAt) => endedAt !== null && endedAt <= killedAt;

/** @param {readonly Call[]} calls @param {number} killedAt */
const beganBefore = (calls, killedAt) =>
  calls.filter(({ kind, at }) => kind === "began" && at <= killedAt);

/** @param {Evidence} evidence */
function nothingAcknowledgedIsLost({ nodes, acknowledged }) {
  const known = new Set(nodes.map(({ id }) => id));
  const lost = acknowledged.filter((job) => !known.has(job));
  const found = `${plural(acknowledged.length, "submission")} had been answered before the kill, and each of these jobs is in the tree`;
  return judge(
    "Nothing acknowledged was lost",
    found,
    lost.map((job) => `${job} is gone`),
  );
}

/** @param {Evidence} evidence */
function nothingFinishedRanAgain({ nodes, killedAt, calls, effects }) {
  const finished = nodes.filter((node) => hadEnded(node, killedAt));
  const faults = finished.flatMap(({ id, type, attempts }) => {
    const begins = calls.filter(({ kind, job }) => kind === "began" && job === id).length;
    const lines = effects.filter(({ job }) => job === id).length;
    const isDoer = type.endsWith(".index");
    return attempts === 1 && begins === 1 && lines === (isDoer ? 0 : 1)
      ? []
      : [`${id} had ended, and has ${attempts} attempts, ${begins} begins, ${lines} effects`];
  });
  const found = `${plural(finished.length, "job")} had ended before the kill; each began once, and each tool among them has one line in the effect file`;
  return judge("Nothing finished ran again", found, faults);
}

/** @param {Evidence} evidence */
function noAttemptDidItTwice({ nodes, effects }) {
  const attempts = new Map(nodes.map(({ id, attempts: count }) => [id, count]));
  /** @type {Map<string, number>} */
  const lines = new Map();
  for (const { job, attempt } of effects) {
    const name = `attempt ${attempt} of ${job}`;
    lines.set(name, (lines.get(name) ?? 0) + 1);
  }
  const unknown = effects.filter(({ job, attempt }) => attempt > (attempts.get(job) ?? 0));
  const faults = [
    ...[...lines].flatMap(([name, count]) =>
      count === 1 ? [] : [`${name} did it ${count} times`],
    ),
    ...unknown.map(({ job, attempt }) => `the journal knows no attempt ${attempt} of ${job}`),
  ];
  const found = `${plural(effects.length, "effect")} by as many attempts, all of them known to the journal`;
  return judge("No attempt had its effect twice", found, faults);
}

/** @param {Evidence} evidence */
function onlyTheInterruptedRanAgain({ nodes, killedAt, records }) {
  const again = nodes.filter(({ attempts }) => attempts > 1);
  const faults = again.flatMap((node) => {
    const record = records.get(node.id);
    const events = [...(record?.history.first ?? []), ...(record?.history.last ?? [])];
    const wasInterrupted = events.some(({ event }) => event === "job.interrupted");
    const isSafe = record?.recovery.retryClass === "safe_to_retry";
    const wasRunning = node.startedAt !== null && node.startedAt <= killedAt;
    return wasInterrupted && isSafe && wasRunning ? [] : [`${node.id} ran again without need`];
  });
  const found = `${plural(again.length, "job")} ran again; each was running when the daemon died, and is declared safe to retry`;
  return judge("Only what had been interrupted ran again", found, faults);
}

/** @param {Evidence} evidence */
function noticesWerePostedOnce({ nodes, effects }) {
  const notices = nodes.filter(({ type }) => type === NOTICE);
  const faults = notices.flatMap(({ id, attempts }) => {
    const lines = effects.filter(({ job }) => job === id).length;
    return attempts === 1 && lines === 1 ? [] : [`${id}: ${attempts} attempts, ${lines} effects`];
  });
  const found = `${plural(notices.length, "notice")}, one effect each`;
  return judge("What must not be repeated was not", found, faults);
}

/** @param {Evidence} evidence */
function ordinalsAreAsFirstRecorded({ nodes, killedAt, calls }) {
  const ordinals = new Map(nodes.map(({ id, ordinal }) => [id, ordinal]));
  const began = calls.filter(({ kind }) => kind === "began");
  const faults = began.flatMap(({ job, ordinal, attempt }) =>
    ordinals.get(job) === ordinal
      ? []
      : [`attempt ${attempt} of ${job} was told ${ordinal}, the journal says ${ordinals.get(job)}`],
  );
  const before = beganBefore(calls, killedAt).length;
  const found = `${plural(before, "attempt")} before the kill and ${began.length - before} after it were told the ordinal that the tree shows now`;
  return judge("Ordinals are as first recorded", found, faults);
}

/** @param {Evidence} evidence */
function everyJobEndedWell({ nodes, paths }) {
  const topics = new Set(paths.map((path) => path.split("/")[0]));
  // A doer and a merge a topic; corpus.index, two notices, the report; and the document that came late.
  const planned = paths.length + 2 * topics.size + 4 + 1;
  const faults = nodes.flatMap(({ id, state }) =>
    state === "COMPLETED" ? [] : [`${id} is ${state.toLowerCase()}`],
  );
  if (nodes.length !== planned) faults.push(`there are ${nodes.length} jobs, not ${planned}`);
  const found = `${nodes.length} jobs completed, as many as were planned`;
  return judge("Every job ended well, and none is there twice", found, faults);
}

/** @param {Evidence} evidence */
function everyDocumentIsInTheReport({ paths, report }) {
  const faults = paths.flatMap((path) => {
    const count = report.split(`\n- ${path} (`).length - 1;
    return count === 1 ? [] : [`${path} is in it ${count} times`];
  });
  return judge("Every document is in the report", `${paths.length} documents, once each`, faults);
}

/** @param {Evidence} evidence */
function reportIsRight({ report, expectedReport }) {
  const faults = report === expectedReport ? [] : ["the two reports differ"];
  const found = `${report.length} characters, the same as one loop over the folder computes without any workflow`;
  return judge("The report is right", found, faults);
}
