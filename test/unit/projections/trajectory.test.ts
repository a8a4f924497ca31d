/**
 * The trajectory: the tree as a flat list that still tells who did what for whom.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import { foldJobTree, type TreeNode } from "../../../projections/job-tree.ts";
import { PATH_ORDINALS_MAX, trajectoryOf } from "../../../projections/trajectory.ts";
import { plannedJobs, worldOf } from "./planned-jobs.ts";
import { TurnWorld } from "./turn-world.ts";

const step = (ordinal: number) => ({ metadata: { iteration_number: ordinal } });

it("[TREE-4] two parents with the same ordinals and crossing instants keep their children to themselves", () => {
  const world = new TurnWorld();
  world.submit({ id: "root", kind: "doer" });
  world.start("root");
  for (const parent of ["left", "right"]) {
    world.submit({ id: parent, parent: "root", kind: "doer", ...step(parent === "left" ? 1 : 2) });
    world.start(parent);
  }
  // Left and right take turns: a flat sort by ordinal or by start would mix them.
  for (const ordinal of [1, 2]) {
    for (const parent of ["right", "left"]) {
      world.at += 10;
      world.submit({ id: `${parent}-${ordinal}`, parent, ...step(ordinal) });
      world.start(`${parent}-${ordinal}`);
    }
  }
  const entries = trajectoryOf(foldJobTree(world.records));
  expect(entries.map(({ depth, path, id }) => [depth, path, id])).toEqual([
    [0, "1", "root"],
    [1, "1.1", "left"],
    [2, "1.1.1", "left-1"],
    [2, "1.1.2", "left-2"],
    [1, "1.2", "right"],
    [2, "1.2.1", "right-1"],
    [2, "1.2.2", "right-2"],
  ]);
});

it("[TREE-4] every job stands right before its own descendants, whatever the tree", () => {
  const walk = (
    nodes: readonly TreeNode[],
    depth: number,
  ): readonly (readonly [string, number])[] =>
    nodes.flatMap((node) => [[node.id, depth] as const, ...walk(node.children, depth + 1)]);
  fc.assert(
    fc.property(plannedJobs, (jobs) => {
      const tree = foldJobTree(worldOf(jobs).records);
      const entries = trajectoryOf(tree);
      expect(entries.map(({ id, depth }) => [id, depth])).toEqual(walk(tree.roots, 0));
    }),
  );
});

it("tells parallel children by id and children without an ordinal by a dash", () => {
  const world = new TurnWorld();
  world.submit({ id: "root" });
  for (const id of ["a", "b"]) world.submit({ id, parent: "root", ...step(4) });
  world.submit({ id: "loose", parent: "root" });
  world.submit({ id: "second-root" });
  const entries = trajectoryOf(foldJobTree(world.records));
  expect(entries.map(({ path, id }) => `${path} ${id}`)).toEqual([
    "1 root",
    "1.4 a",
    "1.4 b",
    "1.- loose",
    "2 second-root",
  ]);
});

it("gives waits and durations from the times in the records, none below zero", () => {
  const world = new TurnWorld();
  world.submit({ id: "job" });
  world.at = 1_250;
  world.start("job");
  expect(trajectoryOf(foldJobTree(world.records))[0]).toMatchObject({
    state: "RUNNING",
    attempts: 1,
    startedAt: 1_250,
    endedAt: null,
    waitMs: 250,
    durationMs: null,
  });
  // The wall clock was set back in between.
  world.at = 1_100;
  world.job("job", { type: "job.completed", attempt: 1, result: 1 });
  expect(trajectoryOf(foldJobTree(world.records))[0]).toMatchObject({
    state: "COMPLETED",
    endedAt: 1_100,
    durationMs: 0,
    outcome: { kind: "completed", code: null, message: null },
  });
});

it("R2: a very deep tree is walked without a deep stack, and its paths stay short", () => {
  const depthMax = 12_000;
  const world = new TurnWorld();
  world.submit({ id: "leaf", ...step(1) });
  const [leaf] = foldJobTree(world.records).roots;
  let above = leaf;
  for (let depth = depthMax; depth > 0 && leaf !== undefined && above !== undefined; depth -= 1) {
    above = { ...leaf, id: `level-${depth - 1}`, children: [above] };
  }
  const entries = trajectoryOf({ roots: above === undefined ? [] : [above] });
  expect(entries).toHaveLength(depthMax + 1);
  expect(entries[PATH_ORDINALS_MAX - 1]?.path.split(".")).toHaveLength(PATH_ORDINALS_MAX);
  expect(entries[PATH_ORDINALS_MAX]?.path).toBe("….1");
  const lengths = entries.map(({ path }) => path.length);
  expect(Math.max(...lengths)).toBeLessThan(4 * PATH_ORDINALS_MAX);
});
