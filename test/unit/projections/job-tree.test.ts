/**
 * The job tree: who stands below whom and in which order, from the records alone and whatever the order of the scopes.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { ReadRecord } from "../../../actors/journal/reader.ts";
import { DISPATCHER_SCOPE } from "../../../actors/journal/subjects.ts";
import { foldJobTree, JobTreeFold, type TreeNode } from "../../../projections/job-tree.ts";
import { type PlannedJob, plannedJobs, worldOf } from "./planned-jobs.ts";
import { subjectOf, TurnWorld, WORKFLOW } from "./turn-world.ts";

const idsOf = (nodes: readonly TreeNode[]) => nodes.map(({ id }) => id);
const childrenOf = (world: TurnWorld) => idsOf(foldJobTree(world.records).roots[0]?.children ?? []);
const step = (ordinal: number) => ({ metadata: { iteration_number: ordinal } });

it("[TREE-1] every node carries its parent, its workflow and its user", () => {
  const world = new TurnWorld();
  world.submit({ id: "root", user: "grace" });
  world.submit({ id: "child", parent: "root", user: "grace", ...step(1) });
  const [root] = foldJobTree(world.records).roots;
  expect(root).toMatchObject({ parent: null, workflow: WORKFLOW, user: "grace" });
  expect(root?.children[0]).toMatchObject({ parent: "root", workflow: WORKFLOW, user: "grace" });
});

it("says of each job where it stands, how often it began, when, and how it ended", () => {
  const world = new TurnWorld();
  world.submit({ id: "root", kind: "doer", retryClass: "safe_to_retry", retryBudget: 1 });
  world.at = 2_000;
  world.start("root");
  world.job("root", { type: "job.interrupted", attempt: 1, isSideEffectUnknown: false });
  world.job("root", { type: "job.rerunScheduled", attempt: 2, reason: "safe" });
  world.at = 3_000;
  world.start("root", 2);
  world.at = 4_000;
  const failure = { code: "system", message: "broken", retry: "never" } as const;
  world.job("root", { type: "job.failed", attempt: 2, failure });
  expect(foldJobTree(world.records).roots).toEqual([
    {
      id: "root",
      workflow: WORKFLOW,
      user: "ada",
      parent: null,
      isOrphan: false,
      type: "copy-file",
      kind: "doer",
      name: "copy-file-root",
      key: null,
      ordinal: null,
      state: "FAILED",
      liveness: "failed",
      attempts: 2,
      submittedAt: 1_000,
      startedAt: 2_000,
      endedAt: 4_000,
      outcome: { kind: "failed", code: "system", message: "broken" },
      waitingOn: { ids: [], dropped: 0 },
      children: [],
    },
  ]);
});

it("[TREE-3] children stand in the order of their steps, whenever they started", () => {
  const world = new TurnWorld();
  world.submit({ id: "root" });
  for (const [id, ordinal] of [
    ["C", 3],
    ["A", 1],
    ["B", 2],
  ] as const) {
    world.submit({ id, parent: "root", ...step(ordinal) });
    world.start(id);
    world.at += 10;
  }
  expect(childrenOf(world)).toEqual(["A", "B", "C"]);
});

it("[TREE-3] children of one step stand by start: the model call before the tools it asked for", () => {
  const world = new TurnWorld();
  world.submit({ id: "root" });
  for (const id of ["tool-1", "tool-2", "model-call"]) {
    world.submit({ id, parent: "root", ...step(1) });
  }
  for (const id of ["model-call", "tool-2", "tool-1"]) {
    world.start(id);
    world.at += 10;
  }
  expect(childrenOf(world)).toEqual(["model-call", "tool-2", "tool-1"]);
});

it("[TREE-3] a child without an ordinal stands after those with one, by start", () => {
  const world = new TurnWorld();
  world.submit({ id: "root" });
  for (const id of ["loose-2", "loose-1"]) world.submit({ id, parent: "root" });
  world.start("loose-1");
  world.at += 10;
  world.start("loose-2");
  world.at += 10;
  world.submit({ id: "late", parent: "root", ...step(9) });
  world.start("late");
  expect(childrenOf(world)).toEqual(["late", "loose-1", "loose-2"]);
});

it("[TREE-3] one that has not started stands behind those of its step that have, by submission", () => {
  const world = new TurnWorld();
  world.submit({ id: "root" });
  for (const id of ["first", "second", "third"]) world.submit({ id, parent: "root", ...step(1) });
  world.start("third");
  expect(childrenOf(world)).toEqual(["third", "first", "second"]);
});

it("[TREE-4] what started at one instant stands by the journal position of the start", () => {
  const world = new TurnWorld();
  world.submit({ id: "root" });
  for (const id of ["a", "b", "c"]) world.submit({ id, parent: "root", ...step(1) });
  for (const id of ["c", "a", "b"]) world.start(id);
  expect(childrenOf(world)).toEqual(["c", "a", "b"]);
});

it("[TREE-6] a re-run moves nobody: the first start decides", () => {
  const world = new TurnWorld();
  world.submit({ id: "root" });
  for (const id of ["a", "b"]) {
    world.submit({ id, parent: "root", ...step(1) });
    world.start(id);
    world.at += 10;
  }
  world.job("a", { type: "job.interrupted", attempt: 1, isSideEffectUnknown: false });
  world.job("a", { type: "job.rerunScheduled", attempt: 2, reason: "ada looked" });
  world.start("a", 2);
  expect(childrenOf(world)).toEqual(["a", "b"]);
});

/** All records, the order between scopes drawn anew, the order within each one kept. */
const interleaved = (records: readonly ReadRecord[]): fc.Arbitrary<readonly ReadRecord[]> =>
  fc
    .shuffledSubarray([...records], { minLength: records.length, maxLength: records.length })
    .map((shuffled) => {
      const scopes = new Map<string, ReadRecord[]>();
      for (const record of records) {
        scopes.set(record.subject, [...(scopes.get(record.subject) ?? []), record]);
      }
      return shuffled.flatMap(({ subject }) => scopes.get(subject)?.shift() ?? []);
    });

it("[TREE-4] ordinals that collide, instants that cross, scopes in any order: always the same tree", () => {
  const planned = plannedJobs.chain((jobs) => {
    const { records } = worldOf(jobs);
    return fc.record({
      jobs: fc.constant(jobs),
      records: fc.constant(records),
      shuffled: interleaved(records),
    });
  });
  fc.assert(
    fc.property(planned, ({ jobs, records, shuffled }) => {
      const tree = foldJobTree(records);
      expectEachInPlace(tree.roots, jobs);
      expect(foldJobTree(shuffled)).toEqual(tree);
      expect(foldJobTree([...shuffled, ...records])).toEqual(tree);
    }),
  );
});

/** Against the plan: every job once, below its parent, no two neighbours the wrong way round. */
function expectEachInPlace(roots: readonly TreeNode[], jobs: readonly PlannedJob[]): void {
  const planned = new Map(jobs.map((job) => [job.id, job]));
  const seen: string[] = [];
  const visit = (nodes: readonly TreeNode[], parent: string | null): void => {
    for (const [at, node] of nodes.entries()) {
      seen.push(node.id);
      const job = planned.get(node.id);
      expect(job?.parent).toBe(parent);
      const next = planned.get(nodes[at + 1]?.id ?? "");
      if (job !== undefined && next !== undefined) expect(isBefore(job, next)).toBe(true);
      visit(node.children, node.id);
    }
  };
  visit(roots, null);
  expect(seen.toSorted()).toEqual(jobs.map(({ id }) => id).toSorted());
}

function isBefore(a: PlannedJob, b: PlannedJob): boolean {
  const [ordinalA, ordinalB] = [a.ordinal ?? 99, b.ordinal ?? 99];
  if (ordinalA !== ordinalB) return ordinalA < ordinalB;
  const [startA, startB] = [a.start?.at ?? 99_999, b.start?.at ?? 99_999];
  if (startA !== startB) return startA < startB;
  // Jobs that have not started stand in the order of the plan, which is that of submission.
  return a.start === null || b.start === null ? a.place < b.place : a.start.turn < b.start.turn;
}

it("W2: a child whose parent has no record is a root, marked, and behind the others", () => {
  const world = new TurnWorld();
  world.submit({ id: "lost-child", parent: "gone", ...step(1) });
  world.submit({ id: "grandchild", parent: "lost-child", ...step(1) });
  world.submit({ id: "root" });
  const { roots } = foldJobTree(world.records);
  expect(roots.map(({ id, isOrphan }) => [id, isOrphan])).toEqual([
    ["root", false],
    ["lost-child", true],
  ]);
  expect(idsOf(roots[1]?.children ?? [])).toEqual(["grandchild"]);
});

it("W3: jobs that name each other as parents make no circle, and none is lost", () => {
  const world = new TurnWorld();
  world.submit({ id: "hen", parent: "egg" });
  world.submit({ id: "egg", parent: "hen" });
  world.submit({ id: "self", parent: "self" });
  const { roots } = foldJobTree(world.records);
  expect(idsOf(roots)).toEqual(["hen", "self"]);
  expect(idsOf(roots[0]?.children ?? [])).toEqual(["egg"]);
});

it("W4: jobs beyond the bound are counted, and their children are orphans", () => {
  const world = new TurnWorld();
  for (const id of ["a", "b", "c"]) world.submit({ id });
  world.submit({ id: "child", parent: "b" });
  const fold = new JobTreeFold({ jobsMax: 2 });
  for (const record of world.records.filter(({ subject }) => subject !== subjectOf("b"))) {
    fold.apply(record);
  }
  const tree = fold.tree();
  expect(idsOf(tree.roots)).toEqual(["a", "c"]);
  expect(tree.recordsDropped).toBe(1);
});

it("tells on which dependencies a job waits, and none once it has left the wait", () => {
  const world = new TurnWorld();
  const dependencies = Array.from({ length: 40 }, (_, at) => ({
    id: `d${at}`,
    workflow: WORKFLOW,
  }));
  world.submit({ id: "job", dependencies });
  const waitingOn = () => foldJobTree(world.records).roots[0]?.waitingOn;
  expect(waitingOn()).toMatchObject({ dropped: 8 });
  expect(waitingOn()?.ids).toHaveLength(32);
  for (const dependency of ["d0", "d39"]) {
    world.job("job", { type: "job.dependencySettled", dependency, outcome: "completed" });
  }
  expect(waitingOn()).toMatchObject({ dropped: 7 });
  expect(waitingOn()?.ids[0]).toBe("d1");
  world.job("job", { type: "job.cancelRequested", reason: "enough", by: "ada" });
  expect(waitingOn()).toEqual({ ids: [], dropped: 0 });
});

it("[REC-8] what this version does not know is counted and listed, and the state follows what is known", () => {
  const world = new TurnWorld();
  world.submit({ id: "job" });
  world.start("job");
  const running = { actor: "job:job", sequence: 3, from: "running" };
  world.append(subjectOf("job"), [
    { ...running, to: "paused", event: { type: "job.paused" } },
    { actor: "checkpoint:job", sequence: 1, from: "none", to: "kept", event: { type: "c.kept" } },
  ]);
  const { roots, unknown } = foldJobTree(world.records);
  expect(unknown).toEqual({
    count: 2,
    first: [
      { position: 3, actor: "job:job", event: "job.paused", to: "paused" },
      { position: 3, actor: "checkpoint:job", event: "c.kept", to: "kept" },
    ],
  });
  expect(roots[0]?.state).toBe("RUNNING");
  // Read twice, it is counted once.
  expect(foldJobTree([...world.records, ...world.records]).unknown).toEqual(unknown);
  const completed = { type: "job.completed", attempt: 1, result: 1 };
  world.append(subjectOf("job"), [
    { ...running, from: "paused", to: "completed", event: completed },
  ]);
  expect(foldJobTree(world.records).roots[0]).toMatchObject({ state: "COMPLETED" });
});

it("passes over the records of the dispatcher", () => {
  const world = new TurnWorld();
  world.submit({ id: "job" });
  const before = foldJobTree(world.records);
  const event = { type: "dispatcher.recovered", liveJobs: 0, interrupted: 0 };
  const move = { actor: "dispatcher:", sequence: 1, from: "recovering", to: "ready", event };
  world.append(`hf.test.evt.0.1.${DISPATCHER_SCOPE}`, [move]);
  expect(foldJobTree(world.records)).toEqual(before);
});
