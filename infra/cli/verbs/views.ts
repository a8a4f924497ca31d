/**
 * `holdfast status`, `tree`, `trajectory`: looking at jobs, and at the daemon.
 *
 * Owns: which view is asked for, and printing it. Does not own: how a view looks (render-*.ts).
 */
import type { ApiClient } from "../../api/client.ts";
import { linkToDaemon } from "../daemon-link.ts";
import { EXIT } from "../exit-codes.ts";
import { CLIENT_OPTIONS, type Verb } from "../line/verb.ts";
import type { Output } from "../output.ts";
import { tellRefusal } from "../refused.ts";
import { renderHealth, renderRecord } from "../render-status.ts";
import { renderTrajectory } from "../render-trajectory.ts";
import { type RenderOptions, renderCounts, renderTree } from "../render-tree.ts";
import { oneLine } from "../text.ts";

const renderOptions = (output: Output): RenderOptions => ({
  columns: output.columns,
  paint: (style, text) => output.paint(style, text),
  now: Date.now(),
});

export const status: Verb = {
  name: "status",
  summary: "how jobs are; without a job, how the daemon is",
  positionals: [{ name: "JOB", isOptional: true, isRepeated: true }],
  options: CLIENT_OPTIONS,
  notes: [
    "With --json several jobs are one document: `records` has an answer for each, in their order. The exit code is 1 when one of them is refused.",
  ],
  examples: ["status", "status import-7", "status import-7 import-8 --json"],
  run: async (invocation) => {
    const { output, words } = invocation;
    const [job, ...more] = words;
    await using client = await linkToDaemon(invocation);
    if (job === undefined) {
      const answer = await client.health();
      if (!answer.ok) return tellRefusal(output, answer);
      output.document(answer);
      output.lines(renderHealth(answer.health, renderOptions(output)));
      return EXIT.done;
    }
    if (more.length > 0) return tellRecords(output, await recordsOf(client, words));
    const answer = await client.record(job);
    if (!answer.ok) return tellRefusal(output, answer);
    output.document(answer);
    output.lines(renderRecord(answer.record, renderOptions(output)));
    return EXIT.done;
  },
};

type Told = Awaited<ReturnType<ApiClient["record"]>>;

/** One after the other: the daemon reads the journal for each. */
async function recordsOf(client: ApiClient, jobs: readonly string[]): Promise<readonly Told[]> {
  const told: Told[] = [];
  for (const job of jobs) told.push(await client.record(job));
  return told;
}

function tellRecords(output: Output, told: readonly Told[]): number {
  const isWhole = told.every(({ ok }) => ok);
  output.document({ ok: isWhole, records: told });
  for (const [index, answer] of told.entries()) {
    if (index > 0) output.line();
    if (answer.ok) output.lines(renderRecord(answer.record, renderOptions(output)));
    else output.line(`refused (${answer.code}): ${oneLine(answer.reason)}`);
  }
  return isWhole ? EXIT.done : EXIT.refused;
}

export const tree: Verb = {
  name: "tree",
  summary: "a job and everything below it, and where each of them stands",
  positionals: [{ name: "JOB" }],
  options: CLIENT_OPTIONS,
  notes: ["A workflow is named by its root job."],
  examples: ["tree import-7"],
  run: async (invocation) => {
    const { output, words } = invocation;
    await using client = await linkToDaemon(invocation);
    const answer = await client.tree(words[0] ?? "");
    if (!answer.ok) return tellRefusal(output, answer);
    output.document(answer);
    output.lines(renderTree(answer.nodes, renderOptions(output)));
    output.line(renderCounts(answer.nodes));
    tellGaps(output, answer);
    return EXIT.done;
  },
};

export const trajectory: Verb = {
  name: "trajectory",
  summary: "what a job and everything below it did, step by step",
  positionals: [{ name: "JOB" }],
  options: CLIENT_OPTIONS,
  notes: ["A workflow is named by its root job. PATH names the ordinals on the way down."],
  examples: ["trajectory import-7"],
  run: async (invocation) => {
    const { output, words } = invocation;
    await using client = await linkToDaemon(invocation);
    const answer = await client.trajectory(words[0] ?? "");
    if (!answer.ok) return tellRefusal(output, answer);
    output.document(answer);
    output.lines(renderTrajectory(answer.entries, renderOptions(output)));
    output.line(renderCounts(answer.entries));
    tellGaps(output, answer);
    return EXIT.done;
  },
};

function tellGaps(
  output: Output,
  reading: { readonly unknown: { readonly count: number }; readonly recordsDropped: number },
): void {
  const { unknown, recordsDropped } = reading;
  if (unknown.count > 0) {
    output.tell(`${unknown.count} moves are of a kind that this version does not know`);
  }
  if (recordsDropped > 0) {
    output.tell(`the workflow is too large to be shown whole: jobs are missing`);
  }
}
