/**
 * What a job's record says of its side effect: what was seen, and `unknown` for what nobody saw.
 */
import { describe, expect, it } from "vitest";

import { worldOf } from "../../../actors/runtime/runtime.ts";
import { foldExecutionRecord } from "../../../projections/execution-record/fold.ts";
import { assertLiveIsFold } from "../../support/fold.ts";
import { flush, TestRuntime } from "../../support/runtime.ts";
import { Workshop } from "../../support/workshop.ts";

const recorded = async ({ runtime }: TestRuntime) =>
  foldExecutionRecord(await runtime.recordsOfJob("a"))?.recovery.sideEffect;

const running = async (kind: "safe" | "unsure") => {
  const shop = new Workshop();
  const test = await TestRuntime.start({ definitions: shop.all });
  await test.runtime.submit(shop[kind], { label: "a" }, { id: "a" });
  await flush();
  return { shop, test };
};

/** Of a class that is not run again by itself; its process is gone, and a person orders a new attempt. */
const orderedAgain = async () => {
  const { shop, test } = await running("unsure");
  await test.restart();
  expect(await recorded(test)).toBe("unknown");
  const again = () => test.runtime.resolve("a", { kind: "retry" }, "ada", "look again");
  return { shop, test, again };
};

describe("the side effect on a job's record", () => {
  it.each(["safe", "unsure"] as const)(
    "[RTY-6, REC-5] is none before it starts and unknown when its code throws, of a job that is %s",
    async (kind) => {
      const { shop, test } = await running(kind);
      expect(await recorded(test)).toBe("none");
      shop.fail("a");
      await flush();
      expect([test.stateOf("a"), await recorded(test)]).toEqual([null, "unknown"]);
    },
  );

  it("[RTY-6, CAN-3] is unknown when its code throws after a cancel", async () => {
    const { shop, test } = await running("safe");
    await test.runtime.cancel("a", "enough", "ada");
    shop.fail("a");
    await flush();
    expect([test.stateOf("a"), await recorded(test)]).toEqual([null, "unknown"]);
  });

  it("[RTY-3, RTY-6] stays unknown through an ordered retry, until that one returns", async () => {
    const { shop, test, again } = await orderedAgain();
    await again();
    await flush();
    expect([test.stateOf("a"), await recorded(test)]).toEqual(["running", "unknown"]);
    expect(worldOf(test.runtime).cells.task("a")?.liveness.now.context.sideEffect).toBe("unknown");
    assertLiveIsFold(test.runtime, test.log.messages);
    shop.end("a");
    await flush();
    expect(await recorded(test)).toBe("completed");
  });

  it("[RTY-6] stays unknown when a person says that it failed, and is completed when one says that it completed", async () => {
    for (const [resolution, effect] of [
      [{ kind: "failed", message: "no money came" }, "unknown"],
      [{ kind: "completed", result: 1 }, "completed"],
    ] as const) {
      const { test } = await orderedAgain();
      await test.runtime.resolve("a", resolution, "ada", "seen");
      expect([test.stateOf("a"), await recorded(test)]).toEqual([null, effect]);
    }
  });

  it("[RTY-6] stays unknown when the ordered retry is cancelled before it starts", async () => {
    const { test, again } = await orderedAgain();
    const { cells, runTurn } = worldOf(test.runtime);
    // The line is closed while a runtime stops: the retry stays queued.
    runTurn("line", (turn) =>
      turn.apply(cells.dispatcher, { type: "dispatcher.stopping", mode: "detach" }),
    );
    await again();
    expect(test.stateOf("a")).toBe("queued");
    await test.runtime.cancel("a", "enough", "ada");
    expect([test.stateOf("a"), await recorded(test)]).toEqual([null, "unknown"]);
  });
});
