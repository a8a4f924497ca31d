/** One queued job, and a daemon that is killed again and again (case C9). */
import { afterEach, beforeAll, expect, it } from "vitest";
import type { StoredMessage } from "../../../actors/journal/log.ts";
import { openFolderSource } from "../../../infra/verify/source.ts";
import { Stage } from "../../campaigns/kills/stage.ts";
import { historiesOf } from "../../support/log-laws.ts";
import { buildProgram, until } from "../cli/workplace.ts";

const RESTARTS = 20;

let stage: Stage | null = null;

beforeAll(() => buildProgram());
afterEach(() => stage?.clear());

it("[ES-4, RCN-3] 20 restarts with one queued job keep it queued once, and it starts exactly once", async () => {
  stage = await Stage.open("process");
  const { place } = stage;
  await stage.up();
  // `gate` is not opened before the last restart: the job behind it stays where it is.
  const gate = await stage.client?.submit({ type: "gate", input: {}, id: "gate" });
  const queued = { type: "again", input: { ms: 0 }, id: "queued", after: ["gate"] };
  const first = await stage.client?.submit(queued);
  expect([gate, first]).toMatchObject([{ decision: "submitted" }, { decision: "submitted" }]);
  for (let restart = 1; restart <= RESTARTS; restart += 1) {
    await stage.killDaemon();
    await stage.up();
    expect(await stage.client?.submit(queued)).toMatchObject({ ok: true, decision: "joined" });
    expect(await stage.client?.health()).toMatchObject({ health: { liveJobs: 2 } });
    expect(place.effects()).toEqual([]);
  }
  const said = await stage.client?.answer({ job: "gate", name: "open", value: null });
  expect(said).toMatchObject({ ok: true });
  expect(await stage.client?.submit({ ...queued, wait: true })).toMatchObject({
    outcome: { kind: "completed", result: "done by queued" },
  });
  await until(() => place.effects().length === 2);
  expect(place.effects()).toEqual(["start queued 1", "end queued 1"]);
  await using source = await openFolderSource({
    dataDir: place.dataDir,
    onProgress: () => undefined,
  });
  const messages: StoredMessage[] = [];
  await source.log.read({ from: 1 }, (message) => messages.push(message));
  const events = historiesOf(messages)
    .get("job:queued")
    ?.map(({ event }) => event.type);
  expect(events).toEqual([
    "job.submitted",
    "job.dependencySettled",
    "job.started",
    "job.completed",
  ]);
});
