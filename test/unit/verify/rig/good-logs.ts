/**
 * Logs without damage, to plant some in, and what the check finds in a log.
 */
import type { Transition } from "../../../../actors/journal/codec.ts";
import { LogCheck, type Report } from "../../../../infra/verify/log-check.ts";
import {
  changedAt,
  type Messages,
  positionOf,
  recordOf,
  withTransition,
} from "../../../compat/planting.ts";
import { livelyLog } from "../../../compat/scenarios/reloads.ts";
import { detached, stage, submitStill } from "../../../compat/scenarios/stage.ts";

export function check(messages: Messages, lastPosition?: number): Report {
  const log = new LogCheck();
  for (const message of messages) log.push(message);
  return log.finish(lastPosition);
}

/** `kind position` of every finding. */
export const found = (messages: Messages, lastPosition?: number): readonly string[] =>
  check(messages, lastPosition).findings.map(({ kind, position }) => `${kind} ${position}`);

/** Fence, taken, recovered, then the jobs of `livelyLog`; nobody has stopped. */
export const good: Messages = await livelyLog();
/** The same, with two more owners after it. */
export const owned: Messages = await withTwoMoreOwners();

async function withTwoMoreOwners(): Promise<Messages> {
  const second = await stage(good);
  await submitStill(second, "unsure", "later");
  const third = await stage(second.test.log.messages);
  await submitStill(third, "unsure", "latest");
  return await detached(third);
}

export const startOf = (job: string): number =>
  positionOf(good, ({ actor, event }) => actor === `job:${job}` && event.type === "job.started");
export const endOf = (job: string): number =>
  positionOf(good, ({ actor, to }) => actor === `job:${job}` && to === "completed");
export const takenAt = (nth: number): number => {
  const all = owned.filter((message) =>
    new TextDecoder().decode(message.body).includes("dispatcher.taken"),
  );
  return all[nth]?.sequence ?? 0;
};

/** The last transition of an actor in a record, changed under a checksum that fits. */
export const edited = (
  position: number,
  actor: string,
  change: (transition: Transition) => Transition,
  messages: Messages = good,
): Messages =>
  changedAt(messages, position, (message) => {
    const at = recordOf(message).transitions.findLastIndex((each) => each.actor === actor);
    return withTransition(message, at, change);
  });
