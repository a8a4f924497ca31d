/**
 * Random workflows on the real runtime, whose process dies at random moments: every job settles or stands where its class
 * says, and the log keeps its laws wherever it is cut.
 */
import assert from "node:assert/strict";

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { worldOf } from "../../actors/runtime/runtime.ts";
import { jobChart } from "../../machines/job/chart.ts";
import { assertLiveIsFold } from "../support/fold.ts";
import { assertLaws, historiesOf, specIn } from "../support/log-laws.ts";
import { copyLog, flush, TestRuntime, wholePrefixes } from "../support/runtime.ts";
import { say } from "../support/say.ts";
import { PlayedWorkflow, workflowPlan } from "../support/workflow-plans.ts";
import { Workshop } from "../support/workshop.ts";

/** Jobs that a log says have ended. */
const endedIn = (histories: ReturnType<typeof historiesOf>): readonly string[] =>
  [...histories].flatMap(([actor, history]) =>
    actor.startsWith("job:") && jobChart.finals.includes(history.at(-1)?.to ?? "") ? [actor] : [],
  );

function hasUnknownEffect({ messages }: TestRuntime["log"], job: string): boolean {
  const last = historiesOf(messages).get(`liveness:${job}`)?.at(-1);
  return (last?.event as { sideEffect?: string } | undefined)?.sideEffect === "unknown";
}

/** Where a job may rest for ever: its end was seen by nobody and its class asks for a person, or it hangs on one that does. */
function assertAtRest({ runtime, log }: TestRuntime): void {
  const { cells } = worldOf(runtime);
  for (const { job } of cells.tasks()) {
    const { value, context } = job.now;
    const { spec, pending } = context;
    const awaits = [...(worldOf(runtime).kinship.family(job.id)?.live ?? [])];
    if (value === "interrupted") assert.notEqual(spec?.retryClass, "safe_to_retry", job.id);
    else if (value === "waiting") {
      assert.ok(pending.length > 0, `${job.id} waits for something`);
      for (const id of pending) {
        const isGated = spec?.toleratesFailures === true && hasUnknownEffect(log, id);
        assert.ok(
          cells.task(id) !== undefined || isGated,
          `${id}, for which ${job.id} waits, is live, or nobody knows what it did`,
        );
      }
    } else {
      // Told to end or not: its code waits for a child, and does not look up.
      assert.equal(spec?.kind, "doer", `${job.id} is ${value}`);
      assert.ok(["running", "cancelling", "expiring"].includes(value), `${job.id} is ${value}`);
      assert.ok(awaits.length > 0, `${job.id} waits for a child`);
    }
  }
}

describe("random workflows", () => {
  it("[ES-4, RTY-2, CTX-5] keep their laws through any crash, and come to rest where their classes say", async () => {
    let jobs = 0;
    let crashes = 0;
    let cuts = 0;
    await fc.assert(
      fc.asyncProperty(workflowPlan, fc.nat(9_999), async (plan, where) => {
        const compare = ({ runtime, log }: TestRuntime) => {
          if (worldOf(runtime).journal.pendingCount === 0) assertLiveIsFold(runtime, log.messages);
        };
        const { test, drain } = await playedOf(plan, compare);
        assertLaws(test.log.messages);
        crashes += plan.filter(({ kind }) => kind === "crash").length;
        const cut = test.log.messages.slice(0, cutOf(test, where));
        cuts += 1;
        await assertCutRecovers(cut);
        await drain();
        assertAtRest(test);
        assertLaws(test.log.messages);
        assertLiveIsFold(test.runtime, test.log.messages);
        jobs += [...historiesOf(test.log.messages).keys()].filter((actor) =>
          actor.startsWith("job:"),
        ).length;
        assert.deepEqual(test.faults(), []);
      }),
      { numRuns: 60 },
    );
    say(`random workflows: ${jobs} jobs, ${crashes} crashes, ${cuts} logs cut`);
    expect(jobs).toBeGreaterThan(100);
  });
});

async function playedOf(
  plan: Parameters<typeof PlayedWorkflow.play>[0],
  compare: (test: TestRuntime) => void,
) {
  const played = await PlayedWorkflow.play(plan, compare);
  return { test: played.test, drain: () => played.drain() };
}

const cutOf = ({ log }: TestRuntime, where: number): number => {
  const cuts = [...wholePrefixes(log.messages), ...log.messages.map(({ sequence }) => sequence)];
  return cuts[where % cuts.length] ?? 0;
};

/** Another owner finds the beginning of this log, perhaps half a group at its end, and goes on from there. */
async function assertCutRecovers(cut: Parameters<typeof copyLog>[0]): Promise<void> {
  const log = await copyLog(cut);
  const before = historiesOf(cut);
  const ended = endedIn(before);
  const shop = new Workshop();
  const test = await TestRuntime.start({ definitions: shop.all, log });
  await flush();
  assertLiveIsFold(test.runtime, log.messages);
  assertLaws(log.messages);
  const after = historiesOf(log.messages);
  for (const actor of ended)
    assert.equal(after.get(actor)?.length, before.get(actor)?.length, `${actor} has ended`);
  const labels = ended.map(
    (actor) => (specIn(before.get(actor) ?? []).input as { label: string }).label,
  );
  for (const label of labels)
    assert.equal(shop.runs(label), 0, `${label} has ended and does not run`);
}
