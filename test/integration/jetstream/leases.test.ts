/** Leases on real servers: written on a condition, lapsing by the server's judgement, removed by nobody but their holder. */
import { afterEach, expect, it } from "vitest";
import {
  type LeaseStore,
  type LeaseStoreOptions,
  openLeaseStore,
} from "../../../infra/jetstream/leases/lease-store.ts";
import { describeOnServers, startTestServer, type TestServer } from "../../support/server.ts";
import { until } from "../api/fixtures.ts";
import { newPartition } from "./partition.ts";

const stores: LeaseStore[] = [];
afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()));
});

async function storeOn(
  server: TestServer,
  options: Partial<LeaseStoreOptions> = {},
): Promise<LeaseStore> {
  const address = { namespace: "test", partition: 0, generation: 1 };
  const { daemon } = server.credentials;
  const store = await openLeaseStore({
    url: server.url,
    ...daemon,
    ...address,
    ttlMs: 60_000,
    ...options,
  });
  stores.push(store);
  return store;
}

await describeOnServers("leases", ["newest", "floor"], (version) => {
  it("a lease is created only where there is none, and written again only after its newest writing", async () => {
    await using server = await startTestServer({ version });
    const one = await storeOn(server);
    const other = await storeOn(server);
    expect(await one.read()).toBeNull();
    const [first, second] = await Promise.all([one.write("one", null), other.write("other", null)]);
    expect([first, second].filter((revision) => revision !== null)).toHaveLength(1);
    const found = await one.read();
    expect(found).toEqual({ revision: first ?? second, value: first === null ? "other" : "one" });
    const next = await one.write("again", found?.revision ?? null);
    expect(next).toBeGreaterThan(found?.revision ?? 0);
    expect(await other.write("late", found?.revision ?? null)).toBeNull();
    expect(await other.write("new", null)).toBeNull();
    expect(await other.read()).toEqual({ revision: next, value: "again" });
    // Each partition has its own.
    expect(await (await storeOn(server, { partition: 1 })).read()).toBeNull();
    expect(await (await storeOn(server, { namespace: "test2" })).read()).toBeNull();
  });

  it("only that very writing is removed, never one that was made meanwhile", async () => {
    await using server = await startTestServer({ version });
    const store = await storeOn(server);
    const first = await store.write("one", null);
    const second = await store.overwrite("two");
    expect(await store.remove(first ?? 0)).toBe(false);
    expect(await store.read()).toEqual({ revision: second, value: "two" });
    expect(await store.remove(second)).toBe(true);
    expect(await store.read()).toBeNull();
    expect(await store.remove(second)).toBe(false);
    expect(await store.write("three", null)).toBeGreaterThan(second);
  });

  it("a lease lapses when it is not written again, not before, and each writing begins anew", async () => {
    await using server = await startTestServer({ version });
    const store = await storeOn(server, { ttlMs: 1_500 });
    expect(store.ttlMs).toBe(1_500);
    let revision = await store.write("one", null);
    const startedAt = performance.now();
    let isTold = false;
    while (performance.now() - startedAt < 2_300) {
      const now = performance.now() - startedAt;
      if (now > 1_000 && !isTold) {
        revision = await store.write("one", revision);
        isTold = true;
      }
      expect(await store.read()).not.toBeNull();
    }
    await until(async () => (await store.read()) === null);
    expect(performance.now() - startedAt).toBeLessThan(1_000 + 1_500 + 2_000 + 500);
    expect(await store.write("two", revision)).toBeNull();
    expect(await store.write("two", null)).not.toBeNull();
  });

  it("how long leases live can be changed, and holds for the one that is there", async () => {
    await using server = await startTestServer({ version });
    const store = await storeOn(server);
    await store.write("one", null);
    await store.setTtl(1_000);
    expect(store.ttlMs).toBe(1_000);
    await until(async () => (await store.read()) === null);
    // One that is there keeps its own.
    expect((await storeOn(server, { ttlMs: 9_000 })).ttlMs).toBe(1_000);
    await store.setTtl(60_000);
    expect((await storeOn(server)).ttlMs).toBe(60_000);
  });

  it("a bucket that several make at the same moment is one, and answers all of them", async () => {
    await using server = await startTestServer({ version });
    for (let round = 0; round < 40; round += 1) {
      const namespace = `round-${round}`;
      const made = await Promise.all(
        Array.from({ length: 4 }, () => storeOn(server, { namespace })),
      );
      const writes = made.map((store) => store.read().then(() => store.write("one", null)));
      const revisions = await Promise.all(writes);
      expect(revisions.filter((revision) => revision !== null)).toEqual([1]);
      await Promise.all(stores.splice(0).map((store) => store.close()));
    }
  });

  it("a lease outlives its server's kill; a bucket that was deleted is made again", async () => {
    await using server = await startTestServer({ version });
    const store = await storeOn(server);
    const revision = await store.write("one", null);
    await server.kill();
    await server.restart();
    await until(() =>
      store.read().then(
        () => true,
        () => false,
      ),
    );
    expect(await store.read()).toEqual({ revision, value: "one" });
    await using partition = newPartition(server);
    await partition.ask("STREAM.DELETE.KV_hf_test_leases");
    await expect(store.read()).rejects.toMatchObject({ code: "journal" });
    await store.restore();
    expect(await store.read()).toBeNull();
  });

  it("a bucket in which leases would not lapse, or could not be given back, is refused with its settings", async () => {
    await using server = await startTestServer({ version });
    await using partition = newPartition(server);
    const config = {
      name: "KV_hf_test_leases",
      subjects: ["$KV.hf_test_leases.>"],
      storage: "file",
      max_msgs_per_subject: 1,
      allow_direct: true,
      deny_delete: true,
      num_replicas: 1,
    };
    await partition.ask("STREAM.CREATE.KV_hf_test_leases", config);
    await expect(storeOn(server)).rejects.toMatchObject({
      code: "journal",
      retry: "never",
      message: expect.stringContaining("max_age is 0; deny_delete is true"),
    });
  });
});
