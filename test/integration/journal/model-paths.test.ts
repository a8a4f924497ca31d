/**
 * The paths of the job chart on a real server: the owner is killed between any two steps, now and then the server with it, and
 * what the next owner folds is what was live (the twin in memory is test/model/runtime-paths.test.ts).
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import { DrivenJob, recoveredValue } from "../../support/driven/driven-job.ts";
import { JetStreamRuntime, removeStream } from "../../support/driven/jetstream-runtime.ts";
import { beginningsOf, CLASSES, crashingAlong, pathsOf } from "../../support/driven/paths.ts";
import { say } from "../../support/say.ts";
import { describeOnServers, startTestServer, type TestServer } from "../../support/server.ts";

/** Crashes of the owner, of which the last takes the server with it. */
const SERVER_DIES_EVERY = 4;

await describeOnServers("paths of the job chart", ["newest", "floor"], (version) => {
  let running: TestServer | null = null;
  beforeAll(async () => {
    running = await startTestServer({ version, durability: "process" });
  });
  afterAll(async () => {
    await running?.stop();
  });

  let folds = 0;
  let deaths = 0;
  async function drive(walk: (driven: DrivenJob) => Promise<void>): Promise<void> {
    const server = running;
    if (server === null) throw new Error("there is no server");
    await removeStream(server); // Each path begins on an empty one, whatever became of the path before.
    let runtime: JetStreamRuntime | null = null;
    const driven = await DrivenJob.begin(async (definitions) => {
      const options = { serverDiesEvery: SERVER_DIES_EVERY };
      runtime = await JetStreamRuntime.start(server, definitions, options);
      return runtime;
    });
    await using started: JetStreamRuntime = runtime ?? never();
    await walk(driven);
    if (driven.history.length > 0) await driven.end();
    // Code ran exactly as often as a start was acknowledged, over every life.
    expect(driven.runs).toBe(driven.history.filter((type) => type === "started").length);
    expect(driven.test.faults()).toEqual([]);
    folds += driven.folds;
    deaths += started.serverDeaths;
  }

  it.each(CLASSES)(
    "[ES-7, ES-2] fold after a kill behind any beginning to where it stood: %s",
    async (retryClass) => {
      folds = 0;
      deaths = 0;
      const beginnings = beginningsOf(pathsOf(retryClass));
      for (const beginning of beginnings) {
        await drive(async (driven) => {
          for (const { event } of beginning) await driven.perform(event);
          const expected = recoveredValue(driven.state, retryClass);
          await driven.crash();
          expect([beginning.map(({ event }) => event.type), driven.state?.value ?? null]).toEqual([
            beginning.map(({ event }) => event.type),
            expected,
          ]);
        });
      }
      say(
        `${version} server, ${retryClass}: ${beginnings.length} beginnings, ${folds} folds compared, ${deaths} deaths of the server`,
      );
      expect(folds).toBeGreaterThan(2 * beginnings.length);
    },
  );

  it("[ES-7, ES-2, ES-4] go on along every path with a kill after every single step, the server's among them", async () => {
    folds = 0;
    deaths = 0;
    let steps = 0;
    const reached = new Set<string>();
    for (const path of CLASSES.flatMap(pathsOf)) {
      await drive(async (driven) => {
        const walked = await crashingAlong(driven, path);
        steps += walked.taken;
        for (const value of walked.reached) reached.add(value);
      });
    }
    say(
      `${version} server, a kill after every step: ${steps} steps, ${folds} folds compared, ${deaths} deaths of the server`,
    );
    expect(deaths).toBeGreaterThan(0);
    for (const value of ["running", "interrupted", "blocked", "(gone)"])
      expect(reached).toContain(value);
  });
});

function never(): never {
  throw new Error("it was not started");
}
