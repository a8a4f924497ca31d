// @ts-check
/**
 * The demo's jobs with a lie in them: one document's work is done twice in one attempt, and nobody tells the journal.
 *
 * The demo has to find out, from its effect file.
 */
import { recordEffect } from "../../../examples/demo/effects.mjs";
import * as jobs from "../../../examples/demo/jobs.mjs";

const TWICE = "kitchen/soup.md";

export const { topicMerge, corpusReport, noticePost, topicIndex, corpusIndex } = jobs;

/** @type {typeof jobs.documentAnalyse} */
export const documentAnalyse = {
  ...jobs.documentAnalyse,
  async run(context, input) {
    const facts = await jobs.documentAnalyse.run(context, input);
    const { out, path } = /** @type {{ out: string, path: string }} */ (input);
    if (path === TWICE) recordEffect(out, context, `analysed ${path} once more`);
    return facts;
  },
};
