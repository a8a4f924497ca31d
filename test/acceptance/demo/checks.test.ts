/**
 * The demo's checks, each against evidence of the very thing that it is there to find.
 */
import { describe, expect, it } from "vitest";
import { checksOf, type Evidence } from "../../../examples/demo/checks.mjs";
import type { Effect } from "../../../examples/demo/effects.mjs";
import type { Node } from "../../../examples/demo/telling.mjs";
import { goodEvidence, interrupted } from "./evidence.ts";

const failedOf = (evidence: Evidence): readonly string[] =>
  checksOf(evidence)
    .filter(({ isOk }) => !isOk)
    .map(({ claim }) => claim);

const effect = (fields: Partial<Effect>): Effect => ({
  job: "first",
  type: "document.analyse",
  attempt: 1,
  what: "did it",
  at: 1_200,
  daemon: 2,
  ...fields,
});

const withNode = (evidence: Evidence, id: string, fields: Partial<Node>): Evidence => ({
  ...evidence,
  nodes: evidence.nodes.map((node) => (node.id === id ? { ...node, ...fields } : node)),
});

interface Fault {
  readonly what: string;
  readonly evidence: (good: Evidence) => Evidence;
  readonly failed: readonly string[];
}

const FAULTS: readonly Fault[] = [
  {
    what: "a kill that hit nothing",
    evidence: (good) => ({ ...good, killedAt: 5_000 }),
    failed: ["The kill came in the middle", "Nothing finished ran again"],
  },
  {
    what: "a submission that was acknowledged and is gone",
    evidence: (good) => ({ ...good, acknowledged: [...good.acknowledged, "gone"] }),
    failed: ["Nothing acknowledged was lost"],
  },
  {
    what: "a finished job that ran again, as the effect file has it",
    evidence: (good) => ({ ...good, effects: [...good.effects, effect({ attempt: 2 })] }),
    failed: ["Nothing finished ran again", "No attempt had its effect twice"],
  },
  {
    what: "a finished job that ran again, as the journal has it",
    evidence: (good) => {
      const again = withNode(good, "first", { attempts: 2 });
      return { ...again, records: new Map([...good.records, ["first", interrupted()]]) };
    },
    failed: ["Nothing finished ran again"],
  },
  {
    what: "an attempt that had its effect twice",
    evidence: (good) => ({
      ...good,
      effects: [...good.effects, effect({ job: "merge", type: "topic.merge" })],
    }),
    failed: ["No attempt had its effect twice"],
  },
  {
    what: "a second attempt of a job that nothing had interrupted",
    evidence: (good) => ({
      ...good,
      records: new Map([...good.records, ["second", { ...interrupted(), history: NO_HISTORY }]]),
    }),
    failed: ["Only what had been interrupted ran again"],
  },
  {
    what: "a second attempt of a job that is not safe to retry",
    evidence: (good) => ({
      ...good,
      records: new Map([...good.records, ["second", { ...interrupted(), recovery: UNSAFE }]]),
    }),
    failed: ["Only what had been interrupted ran again"],
  },
  {
    what: "a notice that was posted twice",
    evidence: (good) => ({
      ...good,
      effects: [...good.effects, effect({ job: "ready", type: "notice.post" })],
    }),
    failed: ["No attempt had its effect twice", "What must not be repeated was not"],
  },
  {
    what: "an ordinal that has changed",
    evidence: (good) => withNode(good, "topic", { ordinal: 3 }),
    failed: ["Ordinals are as first recorded"],
  },
  {
    what: "a job that failed",
    evidence: (good) => withNode(good, "merge", { state: "FAILED" }),
    failed: ["Every job ended well, and none is there twice"],
  },
  {
    what: "a job that is there twice",
    evidence: (good) => {
      const [merge] = good.nodes.filter(({ id }) => id === "merge");
      return { ...good, nodes: merge === undefined ? [] : [...good.nodes, merge] };
    },
    failed: ["Every job ended well, and none is there twice"],
  },
  {
    what: "a document that is missing from both reports",
    evidence: (good) => ({ ...good, report: "", expectedReport: "" }),
    failed: ["Every document is in the report"],
  },
  {
    what: "a report that differs",
    evidence: (good) => ({ ...good, report: `${good.report}.` }),
    failed: ["The report is right"],
  },
];

const NO_HISTORY = { first: [{ event: "job.submitted" }], last: [] };
const UNSAFE = { retryClass: "unknown_no_automatic_retry" };

describe("the demo's checks", () => {
  it("hold when all went well", () => {
    expect(failedOf(goodEvidence())).toEqual([]);
  });

  it.each(FAULTS)("find $what", ({ evidence, failed }) => {
    expect(failedOf(evidence(goodEvidence()))).toEqual(failed);
  });

  it("are each found to fail by one of these faults", () => {
    const claims = checksOf(goodEvidence()).map(({ claim }) => claim);
    expect(new Set(FAULTS.flatMap(({ failed }) => failed))).toEqual(new Set(claims));
  });
});
