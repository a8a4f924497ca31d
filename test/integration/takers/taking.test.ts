/** Daemons that want the same partition: who gets it, when, and what the one before leaves in the log. */
import { expect, it } from "vitest";
import { dataFolder, findDaemon, ownerOf } from "../../../infra/daemon/data-folder.ts";
import { LAPSE_WAIT_MS } from "../../../infra/daemon/partition-lease.ts";
import { openLeaseStore } from "../../../infra/jetstream/leases/lease-store.ts";
import { ensureCredentials } from "../../../infra/nats-server/credentials.ts";
import { serverFolder } from "../../../infra/nats-server/folder.ts";
import { readRecord } from "../../../infra/nats-server/record.ts";
import { isRunning } from "../../../infra/processes/identity.ts";
import { describeOnServers, type TestServer } from "../../support/server.ts";
import { until } from "../api/fixtures.ts";
import { newPartition } from "../jetstream/partition.ts";
import { addressOf, daemonBench, submitBusy, verify, writersFrom } from "./daemons.ts";
import { identityElsewhere, leaseOf } from "./fixtures.ts";

const bench = daemonBench();
/** What a start may take where it waits for nobody; the machine may be busy. */
const AT_ONCE_MS = 5_000;
/** Longer than a test may take: whoever waits for it to lapse is seen. */
const LONG_MS = 300_000;
const STEPS = 300;

const storeOn = ({ url, credentials }: TestServer) =>
  openLeaseStore({
    url,
    ...credentials.daemon,
    namespace: "default",
    partition: 0,
    generation: 1,
    ttlMs: LONG_MS,
  });

async function holderOf(server: TestServer): Promise<string | null> {
  const store = await storeOn(server);
  const found = await store.read();
  await store.close();
  return found?.value ?? null;
}

async function msOf(work: Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work;
  return performance.now() - startedAt;
}

await describeOnServers("a partition", ["newest", "floor"], (version, binary) => {
  it("[ES-3] of a daemon that lives is refused to a second one, which is told whose it is and fences nobody", async () => {
    const server = await bench.server(version);
    const nats = addressOf(server);
    const first = await bench.begin({ nats, leaseTtlMs: 1_500 });
    await expect(bench.start({ nats, leaseTtlMs: 1_500 })).rejects.toMatchObject({
      code: "ownership",
      message: expect.stringMatching(
        new RegExp(
          `^Partition 0 of namespace default belongs to .*:${first.identity.pid} .*--take-over`,
        ),
      ),
      details: { pid: first.identity.pid },
    });
    expect(isRunning(first.identity)).toBe(true);
    expect(await verify(server)).toMatchObject({ ok: true, fences: 1 });
    // Another namespace on the same server is another partition.
    await bench.start({ nats, namespace: "other" });
  });

  it("[ES-4, A5] of a daemon that was killed on this machine is taken at once, and its work goes on", async () => {
    const server = await bench.server(version);
    const nats = addressOf(server);
    const first = await bench.begin({ nats, leaseTtlMs: LONG_MS });
    await first.kill();
    expect(await msOf(bench.start({ nats, leaseTtlMs: LONG_MS }))).toBeLessThan(AT_ONCE_MS);
    expect(await verify(server)).toMatchObject({ ok: true, fences: 2 });
  });

  it("of a daemon that cannot be seen from here is taken when its lease has lapsed, within 2 s of that", async () => {
    const server = await bench.server(version);
    const nats = addressOf(server);
    const leaseTtlMs = 1_500;
    const first = await bench.begin({ nats, leaseTtlMs });
    await first.kill();
    const store = await storeOn(server);
    await store.overwrite(leaseOf(identityElsewhere()));
    await store.close();
    const ms = await msOf(bench.start({ nats, leaseTtlMs }));
    expect(ms).toBeGreaterThan(leaseTtlMs - 200);
    expect(ms).toBeLessThan(leaseTtlMs + LAPSE_WAIT_MS);
  });

  it("is given back by a stop, and by a start that fails behind the lease", async () => {
    const server = await bench.server(version);
    const nats = addressOf(server);
    const { daemon } = await bench.start({ nats });
    expect(await holderOf(server)).toContain(`:${process.pid}"`);
    await daemon.stop();
    expect(await holderOf(server)).toBeNull();
    await using partition = newPartition(server);
    await partition.ask("STREAM.DELETE.HF_default_EVT_0_1");
    const config = { name: "HF_default_EVT_0_1", subjects: ["hf.default.evt.0.1.>"] };
    await partition.ask("STREAM.CREATE.HF_default_EVT_0_1", config);
    await expect(bench.start({ nats })).rejects.toMatchObject({ code: "journal" });
    expect(await holderOf(server)).toBeNull();
  });

  it("is leased before it is fenced: a fence without a lease would end an owner that lives", async () => {
    const server = await bench.server(version);
    const nats = addressOf(server);
    // The log cannot be opened, so nothing is fenced; the lease is there all the same while the start is under way.
    await using partition = newPartition(server);
    const config = { name: "HF_default_EVT_0_1", subjects: ["hf.default.evt.0.1.>"] };
    await partition.ask("STREAM.CREATE.HF_default_EVT_0_1", config);
    const store = await storeOn(server);
    await store.overwrite(leaseOf(identityElsewhere()));
    await expect(bench.start({ nats, takeOver: true })).rejects.toMatchObject({ code: "journal" });
    // It was taken from the one before, and given back.
    expect(await store.read()).toBeNull();
    await store.close();
  });

  it.each([
    ["with a word to take over", true],
    ["when its lease has lapsed", false],
  ])(
    "[ES-3, G4] of a daemon that hangs is taken %s; going on, it says who has it, ends with its own exit code, and has written nothing more",
    async (_, takeOver) => {
      const server = await bench.server(version);
      const nats = addressOf(server);
      const leaseTtlMs = takeOver ? LONG_MS : 1_000;
      const zombie = await bench.begin({ nats, leaseTtlMs });
      await submitBusy(server, STEPS, "night");
      await until(async () => (await verify(server)).transitions > 50);
      zombie.signal("SIGSTOP");
      const { daemon } = await bench.start({ nats, takeOver, leaseTtlMs });
      const { fence } = daemon.runtime.health();
      zombie.signal("SIGCONT");
      expect(await zombie.ended).toBe(3);
      expect(zombie.stderr()).toContain(`:${process.pid} took the partition at position ${fence}`);
      const { handle } = await daemon.runtime.submitByType("busy", STEPS, { id: "night" });
      expect(await handle.result()).toBe(STEPS);
      expect(new Set(await writersFrom(server, fence))).toHaveLength(1);
      expect(await verify(server)).toMatchObject({ ok: true, errors: 0, notes: 0, fences: 2 });
      // Neither did it give back what is the new owner's.
      expect(await holderOf(server)).toContain(`:${process.pid}"`);
    },
  );

  it.each([
    ["ask for it", false],
    ["take it over", true],
  ])(
    "[ES-3] goes to exactly one of two that %s at once, time after time, and the log is clean",
    async (_, takeOver) => {
      const server = await bench.server(version);
      const nats = addressOf(server);
      for (let round = 0; round < 12; round += 1) {
        const options = { nats, takeOver, leaseTtlMs: 600 };
        const starts = await Promise.allSettled([bench.start(options), bench.start(options)]);
        const up = starts.flatMap((start) => (start.status === "fulfilled" ? [start.value] : []));
        const refusals = starts.flatMap((start) =>
          start.status === "rejected" ? [start.reason.code] : [],
        );
        if (up.length === 2) {
          // Both came up: the later fence has ended the other, or is about to.
          const end = await Promise.race(up.map(({ daemon }) => daemon.ended));
          refusals.push(end.kind === "failed" ? end.error.code : end.kind);
        }
        expect(refusals).toEqual([takeOver ? "fenced" : "ownership"]);
        const living = up.filter(({ daemon }) => daemon.runtime.health().state === "ready");
        expect(living).toHaveLength(1);
        for (const { daemon } of living) {
          const { handle } = await daemon.runtime.submitByType("step", round);
          expect(await handle.result()).toBe(round);
          await daemon.stop();
        }
      }
      expect(await verify(server)).toMatchObject({ ok: true, errors: 0, jobs: { live: 0 } });
    },
  );

  it("[ES-3, G4] of one data folder is refused while its daemon lives, hung or not; taken over, the former owner leaves the folder alone", async () => {
    const dataDir = bench.folder();
    const environment = { HOLDFAST_NATS_SERVER: binary };
    const zombie = await bench.begin({ dataDir }, environment);
    zombie.signal("SIGSTOP");
    await expect(bench.begin({ dataDir }, environment)).rejects.toThrow(
      `belongs to process ${zombie.identity.pid} `,
    );
    const next = await bench.begin({ dataDir, takeOver: true }, environment);
    const folder = dataFolder(dataDir);
    const isNext = { record: { process: next.identity }, isAlive: true };
    expect(findDaemon(folder)).toMatchObject(isNext);
    zombie.signal("SIGCONT");
    expect(await zombie.ended).toBe(3);
    expect(zombie.stderr()).toContain(`:${next.identity.pid} took the partition`);
    expect(findDaemon(folder)).toMatchObject(isNext);
    expect(ownerOf(folder)).toMatchObject({ kind: "alive", pid: next.identity.pid });
    const running = readRecord(serverFolder(dataDir))?.running?.process;
    expect(running !== undefined && isRunning(running)).toBe(true);
    next.signal("SIGTERM");
    expect(await next.ended).toBe(0);
    expect([findDaemon(folder), ownerOf(folder)]).toEqual([{ kind: "none" }, { kind: "nobody" }]);
    expect(running !== undefined && isRunning(running)).toBe(false);
    expect(ensureCredentials(serverFolder(dataDir)).roles.daemon.user).toBe("daemon");
  });
});
