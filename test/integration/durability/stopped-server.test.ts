/**
 * A server that stands still (SIGSTOP), for longer than silence is borne, and goes on.
 */
import { expect, it } from "vitest";
import {
  isRunning,
  readProcessIdentity,
  signalProcess,
} from "../../../infra/processes/identity.ts";
import { checkLog } from "../../../infra/verify/log-check.ts";
import { describeOnServers, startTestServer } from "../../support/server.ts";
import { startRig } from "../api/fixtures.ts";

const JOBS = 50;

await describeOnServers("a server that stands still", ["newest", "floor"], (version) => {
  it("[ES-4] costs no job and doubles none when it goes on", async () => {
    await using server = await startTestServer({ version, durability: "process" });
    await using rig = await startRig(server);
    const { runtime, jobs } = rig;
    const identity = readProcessIdentity(server.server.pid ?? 0);
    if (identity === null) throw new Error("the server is gone");
    expect(await (await runtime.submit(jobs.echo, "before")).result()).toBe("before");
    signalProcess(identity, "SIGSTOP");
    const ids = Array.from({ length: JOBS }, (_, index) => index);
    const running = ids.map(async (each) => (await runtime.submit(jobs.echo, each)).result());
    await expect.poll(() => runtime.health().journal, { timeout: 30_000 }).toBe("resyncing");
    expect(runtime.health().acknowledged).toBeGreaterThan(0);
    signalProcess(identity, "SIGCONT");
    expect(await Promise.all(running)).toEqual(ids);
    expect([...jobs.runs.values()].every((count) => count === 1)).toBe(true);
    expect(jobs.runs.size).toBe(JOBS + 1);
    expect(isRunning(identity)).toBe(true);
    const report = await checkLog(rig.log);
    expect({ ok: report.ok, ...report.jobs }).toMatchObject({ ok: true, ended: JOBS + 1, live: 0 });
  });
});
