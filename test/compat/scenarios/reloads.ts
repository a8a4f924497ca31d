/**
 * Scenarios in which owners die and others come: re-runs, people's words, blocked types, resyncs, torn groups, observers.
 */

import { parseFrame } from "../../../actors/journal/frame.ts";
import { Runtime } from "../../../actors/runtime/runtime.ts";
import { SimulatedClock, SimulatedMachine } from "../../../infra/simulated/clock.ts";
import { DELIVER, type FateOf } from "../../../infra/simulated/fates.ts";
import { SimulatedIds } from "../../../infra/simulated/ids.ts";
import { SimulatedLog } from "../../../infra/simulated/log.ts";
import { Random } from "../../../infra/simulated/random.ts";
import { SimulatedStore } from "../../../infra/simulated/store.ts";
import { jobAmbient } from "../../../infra/system/ambient.ts";
import { flush } from "../../support/runtime.ts";
import { Workshop } from "../../support/workshop.ts";
import { frameOf, type Messages, messageOf, PREFIX } from "../planting.ts";
import { detached, ignoreFailure, observe, type Scenario, stage, submitStill } from "./stage.ts";

const crashAndRerun: Scenario = {
  name: "crash-and-rerun",
  make: async () => {
    const scene = await stage();
    const { shop, test } = scene;
    shop.plan("doer", async (context) => {
      const one = await context.submitInStep(shop.quick, { label: "once" }, { key: "once" });
      const two = await context.submitInStep(shop.safe, { label: "twice" }, { key: "twice" });
      return await Promise.all([one.result(), two.result()]);
    });
    ignoreFailure(await test.runtime.submit(shop.doer, { label: "doer" }, { id: "doer" }));
    await submitStill(scene, "safe", "unlucky");
    for (const id of ["paid", "unpaid", "again"]) await submitStill(scene, "unsure", id);
    await test.advance(5_000);
    test.machine.reboot();
    test.machine.stepWall(-3_600_000);
    await test.restart();
    await test.advance(1_000);
    shop.end("twice", 2);
    await flush();
    await test.runtime.resolve(
      "paid",
      { kind: "completed", result: { paid: true } },
      "ada",
      "seen",
    );
    await test.runtime.resolve("unpaid", { kind: "failed", message: "no trace" }, "ada", "asked");
    await test.runtime.resolve("again", { kind: "retry" }, "ada", "it left no trace");
    await flush();
    shop.end("again");
    await flush();
    await test.restart();
    await test.restart(); // More than its budget.
    return await detached(scene);
  },
};

const blockedType: Scenario = {
  name: "blocked-type",
  make: async () => {
    const scene = await stage();
    const { shop, test } = scene;
    await submitStill(scene, "unsure", "first");
    await submitStill(scene, "safe", "started");
    await submitStill(scene, "safe", "unstarted", { after: ["first"] });
    await submitStill(scene, "safe", "dropped", { after: ["first"] });
    await test.advance(100);
    await test.restart({ definitions: [shop.unsure] });
    await test.runtime.resolve("first", { kind: "completed", result: 1 }, "ada", "seen");
    await flush();
    await test.runtime.cancel("dropped", "its module is gone", "ada");
    await test.advance(100);
    await test.restart({ definitions: shop.all });
    await flush();
    shop.end("started");
    shop.end("unstarted");
    await flush();
    return await detached(scene);
  },
};

const observed: Scenario = {
  name: "observed",
  make: async () => {
    const scene = await stage();
    const { shop } = scene;
    for (const id of ["silent", "lost", "waiting"]) await submitStill(scene, "unsure", id);
    await observe(
      scene,
      "silent",
      { type: "liveness.quietNoticed" },
      { type: "liveness.progressSeen" },
      { type: "liveness.quietNoticed" },
      { type: "liveness.staleSuspected" },
      { type: "liveness.diagnosisStarted" },
      { type: "liveness.foundAlive", isQuiet: false },
      { type: "liveness.staleSuspected" },
      { type: "liveness.diagnosisStarted" },
      { type: "liveness.foundAlive", isQuiet: true },
    );
    await observe(
      scene,
      "lost",
      { type: "liveness.staleSuspected" },
      { type: "liveness.diagnosisStarted" },
      { type: "liveness.foundInconclusive", sideEffect: "unknown" },
      { type: "liveness.diagnosisStarted" },
      { type: "liveness.foundInconclusive", sideEffect: "declared" },
    );
    await observe(scene, "waiting", {
      type: "liveness.waitDeclared",
      kind: "rate_limit",
      reason: "the other side is busy",
    });
    shop.end("silent", "alive all the time");
    await flush();
    return await detached(scene);
  },
};

/** Two owners that died within a group, and an old one whose last record comes when it is fenced. */
const tornGroups: Scenario = {
  name: "torn-groups",
  make: async () => {
    const first = await stage();
    await submitStill(first, "unsure", "before");
    await submitStill(first, "unsure", "after", { after: ["before"] });
    first.shop.end("before");
    await flush();
    const second = await stage(cutWithinGroup(first.test.log.messages));
    const stale = staleRecordOf(first.test.log.messages);
    await submitStill(second, "safe", "third");
    const appender = await second.test.log.openAppender({
      onAnswer: () => undefined,
      onDisconnect: () => undefined,
    });
    appender.publish(stale, 1);
    await flush();
    const third = await stage(second.test.log.messages);
    return await detached(third);
  },
};

/** Ends with the first part of the last group that has several. */
function cutWithinGroup(messages: Messages): Messages {
  const last = messages.findLast(({ frame }) => (parseFrame(frame)?.parts ?? 1) > 1);
  if (last === undefined) throw new Error("no group has several parts");
  return messages.slice(0, last.sequence - frameOf(last).part + 1);
}

/** What the log's first owner had under way when it was fenced. */
function staleRecordOf(messages: Messages): ReturnType<typeof messageOf> {
  const last = messages.at(-1);
  if (last === undefined) throw new Error("the log is empty");
  const { writer, index } = frameOf(last);
  return messageOf(last.subject, last.body, { writer, index: index + 1, part: 1, parts: 1 });
}

/** A connection breaks within a group: the same owner fences again, and sends the group once more. */
const resyncs: Scenario = {
  name: "resyncs",
  make: async () => {
    const machine = new SimulatedMachine();
    const store = await SimulatedStore.start({ machine });
    const clock = new SimulatedClock(machine);
    const shop = new Workshop();
    const within = async <Result>(promise: Promise<Result>): Promise<Result> => {
      let isSettled = false;
      const settled = promise.finally(() => {
        isSettled = true;
      });
      await machine.time.runUntil(() => isSettled, 60_000);
      return await settled;
    };
    const runtime = await within(
      Runtime.start({
        log: new SimulatedLog(store, clock),
        clock,
        ids: new SimulatedIds(new Random(1), clock),
        ambient: jobAmbient,
        definitions: shop.all,
        prefix: PREFIX,
        owner: "test",
        durability: "process",
      }),
    );
    const submit = (id: string, after: readonly string[]) =>
      within(runtime.submit(shop.unsure, { label: id }, { id, after }));
    await submit("a", []);
    for (const id of ["b", "c"]) ignoreFailure(await submit(id, ["a"]));
    await machine.time.advance(100);
    store.fateOf = breakAtPart(2);
    shop.end("a");
    await machine.time.advance(10_000);
    store.breakConnections("the network broke", "arrives");
    await machine.time.advance(10_000);
    shop.end("b");
    await machine.time.advance(1_000);
    await within(runtime.detach());
    return store.messages;
  },
};

/** Breaks the connection at the first message that is this part of its group, once. */
function breakAtPart(part: number): FateOf {
  let isBroken = false;
  return (message) => {
    if (isBroken || parseFrame(message.frame)?.part !== part) return DELIVER;
    isBroken = true;
    return { kind: "breakConnection", isStored: false };
  };
}

export const RELOADS: readonly Scenario[] = [
  crashAndRerun,
  blockedType,
  observed,
  tornGroups,
  resyncs,
];

/** For the scenarios that hurt a log: jobs that ended, one that runs, one that waits for it. */
export async function livelyLog(): Promise<Messages> {
  const scene = await stage();
  const { shop, test } = scene;
  for (const id of ["one", "two", "three"]) await submitStill(scene, "unsure", id);
  await submitStill(scene, "safe", "next", { after: ["two"] });
  await test.advance(100);
  shop.end("one");
  await flush();
  return test.log.messages;
}
