/**
 * Looking for the ends of dependencies before code runs: what happens while that takes time.
 */
import { describe, expect, it } from "vitest";

import { JournalError } from "../../../actors/errors.ts";
import { worldOf } from "../../../actors/runtime/runtime.ts";
import { flush, standingOf, TestRuntime } from "../../support/runtime.ts";
import { Workshop } from "../../support/workshop.ts";

/** `d` waits for `a`, which ended under an earlier owner, and for `b`; `look` decides what looking for the end of `a` gives. */
const behindEnded = async (look: (find: () => Promise<unknown>) => Promise<unknown>) => {
  const shop = new Workshop();
  const test = await TestRuntime.start({ definitions: shop.all });
  for (const id of ["a", "b"]) await test.runtime.submit(shop.safe, { label: id }, { id });
  const options = { id: "d", after: ["a", "b"] };
  await test.runtime.submit(shop.safe, { label: "d" }, options);
  await flush();
  shop.end("a", "first");
  await flush();
  await test.restart();
  const { history } = worldOf(test.runtime);
  const find = history.find.bind(history);
  history.find = (job, workflow) =>
    look(() => find(job, workflow)) as ReturnType<typeof history.find>; // It hands on what `find` gave.
  const handle = await test.runtime.find("d");
  if (handle === null) throw new Error("it is live");
  shop.end("b", "second");
  await flush();
  expect(test.stateOf("d")).toBe("running");
  return { shop, test, handle };
};

describe("a job whose dependencies' ends are looked for", () => {
  it("[ES-4, ATT-1] waits for a store that is away, and runs with what it finds when it is back", async () => {
    let isAway = true;
    const { shop, test, handle } = await behindEnded(async (find) => {
      if (isAway) throw new JournalError("the store is away", { details: { outcome: "unknown" } });
      return find();
    });
    await test.advance(60_000);
    expect([shop.runs("d"), standingOf(handle)]).toEqual([0, "pending"]);
    expect(test.faults()).toContainEqual(
      expect.objectContaining({ where: "looking for a dependency's end", job: "a" }),
    );
    isAway = false;
    await test.advance(5_000);
    expect(shop.runs("d")).toBe(1);
    expect(shop.context("d").dependencies.all.map(({ result }) => result)).toEqual([
      "first",
      "second",
    ]);
    shop.end("d", "done");
    expect(await handle.result()).toBe("done");
  });

  it("[ES-4] asks ever more seldom, and no more when its owner is over", async () => {
    let asked = 0;
    const { shop, test } = await behindEnded(async () => {
      asked += 1;
      throw new JournalError("the store is away", { details: { outcome: "unknown" } });
    });
    await test.advance(60_000);
    expect(asked).toBeGreaterThan(5);
    expect(asked).toBeLessThan(30);
    await test.restart();
    const before = asked;
    await test.advance(5_000);
    await test.advance(60_000);
    expect(asked - before).toBeLessThanOrEqual(1);
    expect(shop.runs("d")).toBe(1); // Under the next owner, whose store is there.
  });

  it.each([
    [
      "was given up",
      async (test: TestRuntime) => {
        await test.runtime.cancel("d", "enough", "ada");
        const { cells, runTurn } = worldOf(test.runtime);
        const job = cells.task("d")?.job;
        if (job === undefined) throw new Error("it is live");
        runTurn("test", (turn) => turn.apply(job, { type: "job.graceEnded", attempt: 1 }));
      },
    ],
    ["has lost its owner", (test: TestRuntime) => test.restart({ definitions: [] })],
  ] as const)("[TO-3, ES-3] is not started when its attempt %s meanwhile", async (_how, end) => {
    let answer: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const { shop, test } = await behindEnded(async (find) => {
      await asked;
      return find();
    });
    await end(test);
    await flush();
    answer();
    await flush();
    await flush();
    expect(shop.runs("d")).toBe(0);
    expect(test.runtime.health().leakedJobs).toBe(0);
  });
});
