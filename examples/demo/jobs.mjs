// @ts-check
/**
 * The jobs of the demo: an index over a folder of documents.
 *
 * corpus.index    walks the folder, lets topics be indexed a few at a time, then has the report written
 *   topic.index   has every document of one folder analysed, in parallel, then merged
 *     document.analyse   reads one document
 *     topic.merge        puts the facts of one folder together
 *   corpus.report writes the report
 *   notice.post   puts up a notice: it cannot be taken back, so it must not happen twice
 *
 * The first two are doers: they submit others and wait. When their process dies they run again from their first line, and find
 * everything they had asked for where it stands: ended, running or waiting. The others are tools: they do the work.
 */
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { defineDoer, defineTool } from "holdfast";
import { z } from "zod";
import { analyseDocument, mergeTopic, writeReport } from "./analysis.mjs";
import { listDocuments, topicOf } from "./documents.mjs";
import { recordAcknowledged, recordBegin, recordEffect } from "./effects.mjs";

/** Reading is made slow on purpose, so that there is a middle to be killed in. */
const READING_MS = { base: 800, aByte: 2.5, max: 5_000 };
const TOPICS_AT_ONCE = 3;
const NOTICES = { begun: "the index is being made", ready: "the index is ready" };

/** Where the documents are, and where the report and the effect file go. */
const Folders = z.object({ corpus: z.string(), out: z.string() });
const Term = z.tuple([z.string(), z.number()]);
const Facts = z.object({
  path: z.string(),
  title: z.string(),
  bytes: z.number(),
  encoding: z.enum(["utf-8", "latin-1", "empty"]),
  words: z.number(),
  headings: z.number(),
  links: z.array(z.string()),
  terms: z.array(Term),
  hash: z.string(),
});
const Topic = z.object({
  topic: z.string(),
  words: z.number(),
  terms: z.array(Term),
  documents: z.array(Facts),
});
const Report = z.object({ documents: z.number(), words: z.number(), file: z.string() });

/** Reading a document twice does no harm: `safe_to_retry` says so, and after a crash it is read again by itself. */
export const documentAnalyse = defineTool({
  type: "document.analyse",
  input: Folders.extend({ path: z.string() }),
  output: Facts,
  retry: { class: "safe_to_retry", budget: 3 },
  async run(context, { corpus, out, path }) {
    recordBegin(out, context, path);
    const content = await readFile(join(corpus, path));
    const { base, aByte, max } = READING_MS;
    const readingMs = Math.min(max, base + aByte * content.length);
    await pause(readingMs, undefined, { signal: context.signal });
    const facts = analyseDocument(path, content);
    recordEffect(out, context, `analysed ${path}`);
    return facts;
  },
});

/** Gets the facts from the jobs that it runs after. */
export const topicMerge = defineTool({
  type: "topic.merge",
  input: Folders.extend({ topic: z.string() }),
  output: Topic,
  retry: { class: "safe_to_retry", budget: 3 },
  run(context, { out, topic }) {
    recordBegin(out, context, topic);
    const documents = context.dependencies.all.map(({ result }) => Facts.parse(result));
    const merged = mergeTopic(topic, documents);
    recordEffect(out, context, `merged ${topic}`);
    return merged;
  },
});

/** Writes beside the report and renames: a second run replaces the report by the same one. */
export const corpusReport = defineTool({
  type: "corpus.report",
  input: Folders,
  output: Report,
  retry: { class: "safe_to_retry", budget: 3 },
  async run(context, { out }) {
    recordBegin(out, context, "report");
    const topics = context.dependencies.all.map(({ result }) => Topic.parse(result));
    const file = join(out, "report.md");
    await writeFile(`${file}.new`, writeReport(topics));
    await rename(`${file}.new`, file);
    recordEffect(out, context, "wrote the report");
    const documents = topics.flatMap((topic) => topic.documents);
    const words = documents.reduce((total, document) => total + document.words, 0);
    return { documents: documents.length, words, file };
  },
});

/**
 * Nothing is said about retries, so the default holds: if its process died in the middle, nobody would know whether the
 * notice was posted, Holdfast would not guess, and the job would wait for a person's word (`holdfast resolve`).
 */
export const noticePost = defineTool({
  type: "notice.post",
  input: Folders.extend({ text: z.string() }),
  output: z.object({ posted: z.string() }),
  run(context, { out, text }) {
    recordBegin(out, context, text);
    recordEffect(out, context, `posted "${text}"`);
    return { posted: text };
  },
});

export const topicIndex = defineDoer({
  type: "topic.index",
  input: Folders.extend({ topic: z.string(), paths: z.array(z.string()) }),
  output: Topic,
  async run(context, { corpus, out, topic, paths }) {
    recordBegin(out, context, topic);
    context.nextStep(); // What follows runs in parallel and shares one ordinal.
    const documents = await Promise.all(
      paths.map(async (path) => {
        const input = { corpus, out, path };
        const handle = await context.submitInCurrentStep(documentAnalyse, input, { key: path });
        recordAcknowledged(out, context, { job: handle.id, name: path });
        return handle;
      }),
    );
    const input = { corpus, out, topic };
    const options = { key: "merge", after: documents };
    const merge = await context.submitInStep(topicMerge, input, options);
    recordAcknowledged(out, context, { job: merge.id, name: topic });
    return merge.result();
  },
});

export const corpusIndex = defineDoer({
  type: "corpus.index",
  input: Folders,
  output: Report,
  async run(context, { corpus, out }) {
    recordBegin(out, context, "the whole corpus");
    // The listing is journaled: when this job runs again it gets the same one, whatever has come into the folder meanwhile.
    const paths = await context.step("listing", () => listDocuments(corpus));
    const begun = await context.submitInStep(
      noticePost,
      { corpus, out, text: NOTICES.begun },
      { key: "notice: begun" },
    );
    recordAcknowledged(out, context, { job: begun.id, name: NOTICES.begun });
    await begun.result();
    const topics = await indexTopics(context, { corpus, out, paths });
    const report = await context.submitInStep(
      corpusReport,
      { corpus, out },
      { key: "report", after: topics },
    );
    recordAcknowledged(out, context, { job: report.id, name: "report" });
    const ready = await context.submitInStep(
      noticePost,
      { corpus, out, text: NOTICES.ready },
      { key: "notice: ready", after: [report] },
    );
    recordAcknowledged(out, context, { job: ready.id, name: NOTICES.ready });
    await ready.result();
    return report.result();
  },
});

/**
 * A step a few topics: the next ones are submitted when these have ended.
 * @param {import("holdfast").DoerContext} context
 * @param {{ corpus: string, out: string, paths: readonly string[] }} input
 */
async function indexTopics(context, { corpus, out, paths }) {
  const names = [...new Set(paths.map(topicOf))];
  const all = [];
  for (let from = 0; from < names.length; from += TOPICS_AT_ONCE) {
    context.nextStep();
    const some = await Promise.all(
      names.slice(from, from + TOPICS_AT_ONCE).map(async (topic) => {
        const own = paths.filter((path) => topicOf(path) === topic);
        const input = { corpus, out, topic, paths: own };
        const handle = await context.submitInCurrentStep(topicIndex, input, { key: topic });
        recordAcknowledged(out, context, { job: handle.id, name: topic });
        return handle;
      }),
    );
    await Promise.all(some.map((topic) => topic.result()));
    all.push(...some);
  }
  return all;
}
