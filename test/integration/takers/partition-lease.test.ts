/** The lease of a partition on real servers: who may take it, when it lapses, whose it stays. */
import { expect, it } from "vitest";
import { LAPSE_WAIT_MS } from "../../../infra/daemon/partition-lease.ts";
import { describeOnServers, killProcess } from "../../support/server.ts";
import { until } from "../api/fixtures.ts";
import { newPartition } from "../jetstream/partition.ts";
import { identityElsewhere, leaseBench, leaseOf } from "./fixtures.ts";

const bench = leaseBench();
const WHEN_FREE = { isTakeOver: false };
const TAKE_OVER = { isTakeOver: true };
/** What a take costs where nothing is waited for; the machine may be busy. */
const AT_ONCE_MS = 1_500;

async function msOf(work: Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work;
  return performance.now() - startedAt;
}

await describeOnServers("the lease of a partition", ["newest", "floor"], (version) => {
  it("is taken at once where nobody has it, and again when it was given back", async () => {
    const server = await bench.server(version);
    const one = await bench.holder(server);
    expect(await msOf(one.lease.take(WHEN_FREE))).toBeLessThan(AT_ONCE_MS);
    const store = await bench.store(server);
    expect(await store.read()).not.toBeNull();
    await one.lease.close();
    expect(await store.read()).toBeNull();
    const other = await bench.holder(server);
    expect(await msOf(other.lease.take(WHEN_FREE))).toBeLessThan(AT_ONCE_MS);
  });

  it("is not waited for at its end when its server is away", async () => {
    const server = await bench.server(version);
    const { lease, lines } = await bench.holder(server);
    await lease.take(WHEN_FREE);
    await server.kill();
    expect(await msOf(lease.close())).toBeLessThan(3_000);
    expect(lines.join("")).toContain("could not be given back");
  });

  it("is refused while its holder renews it, with the holder's name and the way out", async () => {
    const server = await bench.server(version);
    const ttlMs = 1_500;
    const one = await bench.holder(server, { ttlMs, owner: "mill:42" });
    await one.lease.take(WHEN_FREE);
    const other = await bench.holder(server, { ttlMs });
    const startedAt = performance.now();
    await expect(other.lease.take(WHEN_FREE)).rejects.toMatchObject({
      code: "ownership",
      retry: "never",
      message: expect.stringMatching(
        /^The partition belongs to mill:42 \(since \d.*\), which lives and renews its lease.*--take-over/,
      ),
      details: { owner: "mill:42", pid: process.pid },
    });
    expect(performance.now() - startedAt).toBeLessThan(ttlMs);
  });

  it("outlives its life many times over while it is renewed, and a pause of its server", async () => {
    const server = await bench.server(version);
    const { lease, lines } = await bench.holder(server, { ttlMs: 900 });
    await lease.take(WHEN_FREE);
    const store = await bench.store(server);
    const endAt = performance.now() + 4_000;
    while (performance.now() < endAt) expect(await store.read()).not.toBeNull();
    const before = await store.read();
    await server.kill();
    await until(() => lines.some((line) => line.includes("cannot be renewed")));
    await server.restart();
    await until(() => lines.some((line) => line.includes("is renewed again")));
    await until(async () => ((await store.read())?.revision ?? 0) > (before?.revision ?? 0));
  });

  it("comes back when somebody deleted the bucket", async () => {
    const server = await bench.server(version);
    const { lease } = await bench.holder(server, { ttlMs: 900 });
    await lease.take(WHEN_FREE);
    const store = await bench.store(server);
    await using partition = newPartition(server);
    await partition.ask("STREAM.DELETE.KV_hf_takers_leases");
    await until(() =>
      store.read().then(
        (found) => found !== null,
        () => false,
      ),
    );
  });

  it("of a process of this machine that has ended is taken at once, however long it would live", async () => {
    const server = await bench.server(version);
    const store = await bench.store(server);
    const gone = bench.sleeper();
    await store.overwrite(leaseOf(gone));
    await killProcess(gone);
    const { lease } = await bench.holder(server);
    expect(await msOf(lease.take(WHEN_FREE))).toBeLessThan(AT_ONCE_MS);
    expect((await store.read())?.value).toContain("here:1");
  });

  it.each([
    ["on another machine", () => leaseOf(identityElsewhere())],
    ["that lives and does not renew", () => leaseOf(bench.sleeper())],
    ["that this version cannot read", () => '{"v":2,"holder":"somebody"}'],
    ["that wrote no JSON", () => "somebody"],
  ])(
    "of a holder %s is free when it has lapsed, not before, and no later than 2 s after that",
    async (_, value) => {
      const server = await bench.server(version);
      const ttlMs = 1_500;
      const store = await bench.store(server, ttlMs);
      await store.overwrite(value());
      const { lease, lines } = await bench.holder(server, { ttlMs });
      const ms = await msOf(lease.take(WHEN_FREE));
      expect(ms).toBeGreaterThan(ttlMs - 200);
      expect(ms).toBeLessThan(ttlMs + LAPSE_WAIT_MS);
      expect(lines.join("")).toContain("has a holder: does it live?");
    },
  );

  it("that does not lapse in time is refused, and may be tried for again", async () => {
    const server = await bench.server(version);
    const store = await bench.store(server, 500);
    // The watcher goes by what it was told; the bucket keeps its entries for longer meanwhile.
    const { lease } = await bench.holder(server, { ttlMs: 500 });
    await store.setTtl(60_000);
    await store.overwrite(leaseOf(identityElsewhere()));
    await expect(lease.take(WHEN_FREE)).rejects.toMatchObject({
      code: "ownership",
      retry: "backoff",
      message: expect.stringContaining("has not let that lapse yet"),
    });
  });

  it("is taken over at once from whoever has it, who neither takes it back nor removes it", async () => {
    const server = await bench.server(version);
    const ttlMs = 900;
    const one = await bench.holder(server, { ttlMs, owner: "one" });
    await one.lease.take(WHEN_FREE);
    const other = await bench.holder(server, { ttlMs, owner: "other" });
    expect(await msOf(other.lease.take(TAKE_OVER))).toBeLessThan(AT_ONCE_MS);
    expect(other.lines.join("")).toContain("is taken over");
    const store = await bench.store(server);
    await until(() => one.lines.some((line) => line.includes("another has the lease")));
    expect((await store.read())?.value).toContain("other");
    await one.lease.close();
    expect((await store.read())?.value).toContain("other");
  });

  it("comes back to a holder whose rival gave up", async () => {
    const server = await bench.server(version);
    const one = await bench.holder(server, { ttlMs: 900, owner: "one" });
    await one.lease.take(WHEN_FREE);
    const other = await bench.holder(server, { ttlMs: 900, owner: "other" });
    await other.lease.take(TAKE_OVER);
    await until(() => one.lines.some((line) => line.includes("another has the lease")));
    await other.lease.close();
    const store = await bench.store(server);
    await until(async () => (await store.read())?.value.includes("one") ?? false);
  });

  it.each([2, 5])("goes to exactly one of %i that take it at the same moment", async (count) => {
    const server = await bench.server(version);
    for (let round = 0; round < 10; round += 1) {
      const holders = await Promise.all(
        Array.from({ length: count }, () => bench.holder(server, { ttlMs: 600 })),
      );
      const takes = await Promise.allSettled(holders.map(({ lease }) => lease.take(WHEN_FREE)));
      expect(takes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      await Promise.all(holders.map(({ lease }) => lease.close()));
    }
  });

  it("that is given up while it is waited for ends the waiting", async () => {
    const server = await bench.server(version);
    const store = await bench.store(server);
    await store.overwrite(leaseOf(identityElsewhere()));
    const { lease, lines } = await bench.holder(server);
    const taking = lease.take(WHEN_FREE);
    const refused = expect(taking).rejects.toMatchObject({ code: "illegal_state" });
    await until(() => lines.length > 0);
    await lease.close();
    await refused;
    expect((await store.read())?.value).toContain("elsewhere:7");
  });
});
