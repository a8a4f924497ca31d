/**
 * What is asked of a runtime and changes nothing: answered by what the log has, not by what memory runs ahead with.
 */
import { expect, it } from "vitest";

import { taskScope } from "../../../actors/journal/subjects.ts";
import { worldOf } from "../../../actors/runtime/runtime.ts";
import { flush, PREFIX, TestRuntime } from "../../support/runtime.ts";
import { Workshop } from "../../support/workshop.ts";

const start = async () => {
  const shop = new Workshop();
  return { shop, test: await TestRuntime.start({ definitions: shop.all }) };
};

it("[ES-10] health counts a job when its submission is acknowledged, and until its end is", async () => {
  const { shop, test } = await start();
  const liveJobs = () => test.runtime.health().liveJobs;
  test.answers.hold();
  const submitted = test.runtime.submit(shop.safe, { label: "a" });
  await flush();
  expect([worldOf(test.runtime).cells.size, liveJobs()]).toEqual([1, 0]);
  test.answers.release();
  const { id } = await submitted;
  await flush();
  expect(liveJobs()).toBe(1);
  test.answers.hold();
  shop.end("a");
  await flush();
  expect([test.stateOf(id), liveJobs()]).toEqual(["completed", 1]);
  test.answers.release();
  await flush();
  expect(liveJobs()).toBe(0);
  await test.runtime.submit(shop.safe, { label: "b" });
  await test.restart();
  expect(liveJobs()).toBe(1);
});

it("[ES-10] health says that the runtime stops when that is acknowledged", async () => {
  const { test } = await start();
  const state = () => test.runtime.health().state;
  expect(state()).toBe("ready");
  test.answers.hold();
  const stopped = test.runtime.detach();
  await flush();
  expect(state()).toBe("ready");
  test.answers.release();
  await flush();
  expect(state()).toBe("stopping");
  await stopped;
});

it("[ES-9, ES-10] a job has the workflow that its valid records say, whatever else stands under its id", async () => {
  const { shop, test } = await start();
  const { handle } = await test.runtime.submitByType(shop.quick.type, { label: "a" }, { id: "a" });
  await handle.result();
  const stranger = await test.log.reopen().openAppender({
    onAnswer: () => undefined,
    onDisconnect: () => undefined,
  });
  for (const id of ["a", "nobody"]) {
    const subject = `${PREFIX}${taskScope("ghost", id)}`;
    stranger.publish({ subject, id, frame: "nobody's", body: new Uint8Array() }, 1);
  }
  await flush();
  expect((await test.runtime.find("a"))?.workflow).toBe("a");
  expect(await test.runtime.recordsOfJob("a")).not.toEqual([]);
  expect(await test.runtime.workflowOf("a")).toBe("a");
  expect(await test.runtime.workflowOf("nobody")).toBeNull();
});

it("[API-4] a runtime hands nobody its parts", async () => {
  const { test } = await start();
  expect("world" in test.runtime).toBe(false);
});
