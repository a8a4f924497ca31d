/**
 * What a log comes to: the verdict on it, and what people and programs read from it.
 *
 * Owns: the form in which that stands beside a golden log. Does not own: the log, the readers (readers.ts).
 */
import type { ReadRecord } from "../../actors/journal/reader.ts";
import type { Finding } from "../../infra/verify/finding.ts";
import type { Report } from "../../infra/verify/log-check.ts";
import { applyRecord, emptyRecord } from "../../projections/execution-record/fold.ts";
import type { ExecutionRecord } from "../../projections/execution-record/schema.ts";
import { foldJobTree, type JobTree } from "../../projections/job-tree.ts";
import { taskOf } from "../../projections/journaled-move.ts";
import { type TrajectoryEntry, trajectoryOf } from "../../projections/trajectory.ts";
import { type Messages, PREFIX } from "./planting.ts";
import { readAsCheck, readAsRuntime, type Standing, type Validity } from "./readers.ts";

export interface WorkflowPicture {
  readonly tree: JobTree;
  readonly trajectory: readonly TrajectoryEntry[];
  readonly records: Readonly<Record<string, ExecutionRecord>>;
}

/** The report without its wording, which may change. */
export type Verdict = Omit<Report, "findings"> & {
  readonly findings: readonly Pick<Finding, "position" | "kind" | "severity">[];
};

export interface Expected {
  readonly verdict: Verdict;
  readonly validity: Validity;
  readonly standing: Standing;
  readonly workflows: Readonly<Record<string, WorkflowPicture>>;
}

export function expectedOf(messages: Messages): Expected {
  const { report, validity, standing } = readAsCheck(messages);
  const { records } = readAsRuntime(messages, PREFIX);
  const findings = report.findings.map(({ position, kind, severity }) => ({
    position,
    kind,
    severity,
  }));
  return { verdict: { ...report, findings }, validity, standing, workflows: picturesOf(records) };
}

export function picturesOf(
  records: readonly ReadRecord[],
): Readonly<Record<string, WorkflowPicture>> {
  const byWorkflow = new Map<string, ReadRecord[]>();
  for (const record of records) {
    const task = taskOf(record.subject);
    if (task === null) continue;
    byWorkflow.set(task.workflow, [...(byWorkflow.get(task.workflow) ?? []), record]);
  }
  return Object.fromEntries(
    [...byWorkflow].sort().map(([workflow, own]) => [workflow, pictureOf(own)]),
  );
}

function pictureOf(records: readonly ReadRecord[]): WorkflowPicture {
  const tree = foldJobTree(records);
  const documents = new Map<string, ExecutionRecord>();
  for (const record of records) {
    const task = taskOf(record.subject);
    if (task === null) continue;
    const { job: taskId, workflow } = task;
    const before = documents.get(taskId) ?? emptyRecord({ taskId, workflow });
    documents.set(taskId, applyRecord(before, record));
  }
  return {
    tree,
    trajectory: trajectoryOf(tree),
    records: Object.fromEntries([...documents].sort()),
  };
}

/** As it stands in a file: what is undefined is not there. */
export const asJson = (expected: Expected): unknown => JSON.parse(JSON.stringify(expected));
