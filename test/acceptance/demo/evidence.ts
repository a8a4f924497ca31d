/**
 * Evidence of a demo in which all went well, as small as it can be: one folder with two documents, the second of which was
 * being read when the daemon was killed.
 */
import type { Evidence } from "../../../examples/demo/checks.mjs";
import type { Call, Effect } from "../../../examples/demo/effects.mjs";
import type { Node } from "../../../examples/demo/telling.mjs";

const KILLED_AT = 1_000;

interface Job {
  readonly id: string;
  readonly type: string;
  readonly ordinal: number | null;
  /** When each attempt began. */
  readonly began: readonly number[];
  readonly endedAt: number;
  readonly isDoer?: boolean;
}

const JOBS: readonly Job[] = [
  {
    id: "index",
    type: "corpus.index",
    ordinal: null,
    began: [0, 1_100],
    endedAt: 1_900,
    isDoer: true,
  },
  { id: "begun", type: "notice.post", ordinal: 1, began: [10], endedAt: 20 },
  {
    id: "topic",
    type: "topic.index",
    ordinal: 2,
    began: [30, 1_100],
    endedAt: 1_600,
    isDoer: true,
  },
  { id: "first", type: "document.analyse", ordinal: 1, began: [40], endedAt: 500 },
  { id: "second", type: "document.analyse", ordinal: 1, began: [40, 1_100], endedAt: 1_500 },
  { id: "merge", type: "topic.merge", ordinal: 2, began: [1_510], endedAt: 1_550 },
  { id: "report", type: "corpus.report", ordinal: 3, began: [1_700], endedAt: 1_750 },
  { id: "ready", type: "notice.post", ordinal: 4, began: [1_800], endedAt: 1_810 },
  { id: "late", type: "document.analyse", ordinal: null, began: [990, 1_100], endedAt: 1_400 },
];

export function goodEvidence(): Evidence {
  const paths = ["a/first.md", "a/second.md"];
  const report = paths.map((path) => `\n- ${path} (hash): its title`).join("");
  return {
    nodes: JOBS.map(nodeOf),
    killedAt: KILLED_AT,
    acknowledged: ["index", "late", "begun", "topic", "first", "second", "merge"],
    calls: JOBS.flatMap(beginsOf),
    effects: JOBS.flatMap(effectsOf),
    records: new Map(
      JOBS.filter(({ began }) => began.length > 1).map(({ id }) => [id, interrupted()]),
    ),
    paths,
    report,
    expectedReport: report,
  };
}

const nodeOf = ({ id, type, ordinal, began, endedAt }: Job): Node => ({
  id,
  type,
  depth: 0,
  ordinal,
  state: "COMPLETED",
  attempts: began.length,
  startedAt: began[0] ?? null,
  endedAt,
});

const beginsOf = ({ id, ordinal, began }: Job): readonly Call[] =>
  began.map((at, index) => ({ kind: "began", job: id, name: id, ordinal, attempt: index + 1, at }));

/** By its last attempt alone: the ones before were killed on the way to it. */
const effectsOf = ({ id, type, began, endedAt, isDoer = false }: Job): readonly Effect[] =>
  isDoer ? [] : [{ job: id, type, attempt: began.length, what: "did it", at: endedAt, daemon: 1 }];

export const interrupted = () => ({
  recovery: { retryClass: "safe_to_retry" },
  history: { first: [{ event: "job.submitted" }, { event: "job.interrupted" }], last: [] },
});
