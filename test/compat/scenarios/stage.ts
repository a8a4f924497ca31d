/**
 * What the scenarios have in common: a runtime in memory with jobs that do as they are told, and observers.
 */

import type { JobHandle } from "../../../actors/jobs/handle.ts";
import { worldOf } from "../../../actors/runtime/runtime.ts";
import type { LivenessEvent } from "../../../machines/liveness/events.ts";
import { copyLog, flush, TestRuntime } from "../../support/runtime.ts";
import { Workshop } from "../../support/workshop.ts";
import type { Messages } from "../planting.ts";

export interface Stage {
  readonly shop: Workshop;
  readonly test: TestRuntime;
}

export interface Scenario {
  /** Names its files; says what happens in it. */
  readonly name: string;
  readonly make: () => Promise<Messages>;
}

/** `messages`: what stands in the log before; its last owner is fenced. */
export async function stage(messages: Messages = []): Promise<Stage> {
  const shop = new Workshop();
  const log = messages.length === 0 ? {} : { log: await copyLog(messages) };
  return { shop, test: await TestRuntime.start({ definitions: shop.all, ...log }) };
}

/** Lets the handle's failure be nobody's business. */
export const ignoreFailure = (handle: JobHandle<unknown>): JobHandle<unknown> => {
  handle.result().catch(() => "It is looked for in the journal.");
  return handle;
};

/** Submits a job that stands still until it is told how to end. */
export async function submitStill(
  { shop, test }: Stage,
  kind: "unsure" | "safe",
  id: string,
  options: { readonly timeoutMs?: number; readonly after?: readonly string[] } = {},
): Promise<JobHandle<unknown>> {
  const handle = await test.runtime.submit(shop[kind], { label: id }, { id, ...options });
  await flush();
  return ignoreFailure(handle);
}

/** One turn with something that an observer saw of a task. */
export async function observe(
  { test }: Stage,
  job: string,
  ...events: LivenessEvent[]
): Promise<void> {
  for (const event of events) {
    await test.advance(1_000);
    const world = worldOf(test.runtime);
    const cells = world.cells.task(job);
    if (cells === undefined) throw new Error(`${job} is not live`);
    world.runTurn("observer", (turn) => {
      const move = { reason: `an observer says ${event.type}`, evidence: { observer: "test" } };
      if (!turn.apply(cells.liveness, event, move)) throw new Error(`${event.type} is refused`);
    });
    await flush();
  }
}

/** Stops the runtime in order, and gives what it leaves. */
export async function detached({ test }: Stage): Promise<Messages> {
  await test.runtime.detach();
  await flush();
  return test.log.messages;
}
