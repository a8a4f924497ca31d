/**
 * Scenarios in which a log was hurt, and, where a reader can go on, an owner that lived on with it.
 */
import { parseFrame } from "../../../actors/journal/frame.ts";
import {
  changedAt,
  flipped,
  forged,
  inserted,
  junk,
  type Messages,
  messageOf,
  positionOf,
  renumbered,
  STRANGER,
  without,
} from "../planting.ts";
import { livelyLog } from "./reloads.ts";
import { detached, type Scenario, stage, submitStill } from "./stage.ts";

/** Another owner takes it, submits one more job, and goes. */
async function livedOn(messages: Messages): Promise<Messages> {
  const scene = await stage(messages);
  await submitStill(scene, "unsure", "afterwards");
  return await detached(scene);
}

const startOf = (messages: Messages, job: string): number =>
  positionOf(
    messages,
    ({ actor, event }) => actor === `job:${job}` && event.type === "job.started",
  );

const damagedBody: Scenario = {
  name: "damaged-body",
  make: async () => {
    const messages = await livelyLog();
    return await livedOn(changedAt(messages, startOf(messages, "two"), flipped));
  },
};

/** The owner's first word is damaged: journal time has to go on without it. */
const damagedTaking: Scenario = {
  name: "damaged-taking",
  make: async () => {
    const messages = await livelyLog();
    const taken = positionOf(messages, ({ event }) => event.type === "dispatcher.taken");
    return await livedOn(changedAt(messages, taken, flipped));
  },
};

const foreignRecord: Scenario = {
  name: "foreign-record",
  make: async () => {
    const messages = await livelyLog();
    const last = messages.at(-1);
    if (last === undefined) throw new Error("the log is empty");
    const frame = { writer: STRANGER, index: 7, part: 1, parts: 1 };
    const strangers = messageOf(last.subject, last.body, frame);
    return await livedOn(inserted(messages, messages.length + 1, junk(), strangers));
  },
};

/** A later version was here and has gone again: events, actors and scopes that this one does not know. */
const newerVersion: Scenario = {
  name: "newer-version",
  make: async () => {
    const messages = await livelyLog();
    const [next, three] = ["job:next", "job:three"];
    const grown = forged(
      messages,
      {
        scope: "task.three.three",
        transitions: [
          {
            actor: three,
            sequence: 3,
            event: { type: "job.paused" },
            from: "running",
            to: "paused",
          },
        ],
      },
      {
        scope: "task.next.next",
        transitions: [
          {
            actor: next,
            sequence: 2,
            v: 2,
            event: { type: "job.cancelRequested", why: "renamed" },
            from: "waiting",
            to: "cancelled",
          },
        ],
      },
      {
        scope: "account.gpu",
        correlation: "",
        transitions: [
          {
            actor: "account:gpu",
            sequence: 1,
            event: { type: "account.opened" },
            from: "new",
            to: "open",
          },
        ],
      },
      { scope: "task.two.two", v: 2, transitions: [] },
    );
    return await livedOn(grown);
  },
};

const truncatedTail: Scenario = {
  name: "truncated-tail",
  make: async () => {
    const scene = await stage(await livelyLog());
    await scene.test.runtime.resolve("two", { kind: "completed", result: 2 }, "ada", "seen");
    const { messages } = scene.test.log;
    const last = messages.findLast(({ frame }) => (parseFrame(frame)?.parts ?? 1) > 1);
    return messages.slice(0, (last?.sequence ?? 1) - 1);
  },
};

/** The store lost one record of the owner: nobody reads behind that. */
const lostRecord: Scenario = {
  name: "lost-record",
  make: async () => {
    const messages = await livelyLog();
    return renumbered(without(messages, startOf(messages, "two")));
  },
};

export const HURT: readonly Scenario[] = [
  damagedBody,
  damagedTaking,
  foreignRecord,
  newerVersion,
  truncatedTail,
  lostRecord,
];
