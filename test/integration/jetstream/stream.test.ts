import { headers } from "nats";
import { afterAll, beforeAll, expect, it } from "vitest";
import { openJetStreamLog } from "../../../infra/jetstream/log.ts";
import { Followed, Publisher, present, readAll } from "../../contract/log-fixture.ts";
import { describeOnServers, startTestServer, type TestServer } from "../../support/server.ts";
import { newPartition } from "./partition.ts";

const UNUSED_PORT = 1;

await describeOnServers("the stream", ["newest", "floor"], (version) => {
  let running: TestServer | null = null;
  beforeAll(async () => {
    running = await startTestServer({ version });
  });
  afterAll(async () => {
    await running?.stop();
  });
  const server = (): TestServer => present(running);
  settings(server);
  limits(server);
  access(server);
  foreign(server);
});

type Server = () => TestServer;

function settings(server: Server): void {
  it("is made with the settings that the journal's promises rest on", async () => {
    await using partition = newPartition(server());
    await partition.open();
    const { stream, prefix, livePrefix } = partition.names;
    const { config } = await partition.ask(`STREAM.INFO.${stream}`);
    expect(config).toMatchObject({
      subjects: [`${prefix}.>`],
      retention: "limits",
      storage: "file",
      num_replicas: 1,
      discard: "new",
      max_age: 0,
      max_bytes: -1,
      duplicate_window: 2_000_000_000,
      deny_delete: true,
      allow_direct: true,
      republish: { src: `${prefix}.>`, dest: `${livePrefix}.>` },
    });
  });

  it("is made once by many who open it at the same time", async () => {
    await using partition = newPartition(server());
    const bytesMax = [50_000, 60_000, 50_000, 60_000];
    const logs = await Promise.all(bytesMax.map((limit) => partition.open({ bytesMax: limit })));
    const infos = await Promise.all(logs.map((log) => log.info()));
    expect(infos.map((info) => info.lastSequence)).toEqual([0, 0, 0, 0]);
  });

  it("is refused, each difference named, when it was made otherwise", async () => {
    await using partition = newPartition(server());
    const { stream, prefix } = partition.names;
    const config = {
      name: stream,
      subjects: [`${prefix}.>`],
      storage: "memory",
      discard: "old",
      max_age: 3_600_000_000_000,
      num_replicas: 1,
      duplicate_window: 2_000_000_000,
      allow_direct: true,
    };
    expect(await partition.ask(`STREAM.CREATE.${stream}`, config)).not.toHaveProperty("error");
    const refusal = await partition.open().catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: "journal", retry: "never" });
    expect(refusal).toHaveProperty("details.outcome", "refused");
    expect(refusal).toHaveProperty("details.differences", [
      { setting: "storage", expected: "file", found: "memory" },
      { setting: "discard", expected: "new", found: "old" },
      { setting: "max_age", expected: 0, found: 3_600_000_000_000 },
      { setting: "deny_delete", expected: true, found: false },
      expect.objectContaining({ setting: "republish", found: null }),
    ]);
  });

  it("is refused when another stream has its subjects", async () => {
    await using partition = newPartition(server());
    const taken = {
      name: `TAKEN_${partition.names.stream}`,
      subjects: [`${partition.names.prefix}.>`],
    };
    await partition.ask(`STREAM.CREATE.${taken.name}`, taken);
    await expect(partition.open()).rejects.toMatchObject({
      code: "journal",
      retry: "never",
      details: { apiCode: 10065 },
    });
  });
}

function limits(server: Server): void {
  it("refuses with 10077 at its size limit, and takes more when opened with a larger one", async () => {
    await using partition = newPartition(server());
    const log = await partition.open({ bytesMax: 20_000 });
    expect((await log.info()).bytesMax).toBe(20_000);
    const publisher = await Publisher.open(log, partition.names.prefix);
    const large = { body: new Uint8Array(12_000) };
    expect((await publisher.store("task.a.1", large)).kind).toBe("stored");
    expect(await publisher.store("task.a.1", large)).toMatchObject({
      kind: "refused",
      code: 10077,
    });
    expect((await publisher.store("task.a.1")).kind).toBe("stored");
    expect((await (await partition.open()).info()).bytesMax).toBe(20_000);
    await partition.open({ bytesMax: 60_000 });
    expect((await log.info()).bytesMax).toBe(60_000);
    expect((await publisher.store("task.a.1", large)).kind).toBe("stored");
    await publisher.close();
  });

  it("lets nobody delete a message", async () => {
    await using partition = newPartition(server());
    const log = await partition.open();
    const publisher = await Publisher.open(log, partition.names.prefix);
    await publisher.store("task.a.1");
    const { stream } = partition.names;
    const answer = await partition.ask(`STREAM.MSG.DELETE.${stream}`, { seq: 1 });
    expect(answer).toHaveProperty("error");
    expect(await readAll(log)).toHaveLength(1);
    await publisher.close();
  });
}

function access(server: Server): void {
  it.each([
    ["a wrong password", { password: "not-the-password" }, "never"],
    ["a user who may not", "operator", "never"],
    ["an inbox that is another's", { inboxPrefix: "_INBOX_o" }, "never"],
    ["nothing listening there", { url: `nats://127.0.0.1:${UNUSED_PORT}` }, "backoff"],
  ] as const)("cannot be opened with %s", async (_, change, retry) => {
    await using partition = newPartition(server());
    const changes = change === "operator" ? server().credentials.operator : change;
    const opening = openJetStreamLog({ ...partition.options, ...changes });
    await expect(opening).rejects.toMatchObject({
      code: "journal",
      retry,
      details: { outcome: "refused" },
    });
  });

  it("cannot have an impossible name", async () => {
    await using partition = newPartition(server());
    const opening = partition.open({ namespace: "a.b", partition: -1, generation: 0 });
    await expect(opening).rejects.toMatchObject({ code: "invalid_argument" });
  });
}

function foreign(server: Server): void {
  it("shows what others stored in it without id and frame", async () => {
    await using partition = newPartition(server());
    const log = await partition.open();
    const followed = new Followed();
    await log.follow(`${partition.names.prefix}.>`, followed.visit);
    const others = await partition.connection();
    const subject = `${partition.names.prefix}.task.a.1`;
    await others.request(subject, "no headers");
    await others.request(subject, "", { headers: headers(), timeout: 1_000 });
    const foreign = { subject, id: "", frame: "" };
    expect(await readAll(log)).toMatchObject([foreign, foreign]);
    expect(await log.readLast(subject)).toMatchObject({ sequence: 2, ...foreign });
    await followed.seen(2);
    expect(followed.messages).toMatchObject([foreign, foreign]);
  });

  it("believes no header that pretends to be the server's", async () => {
    await using partition = newPartition(server());
    const log = await partition.open();
    const { prefix } = partition.names;
    const followed = new Followed();
    await log.follow(`${prefix}.>`, followed.visit);
    const others = await partition.connection();
    const forged = headers();
    forged.set("Nats-Sequence", "77");
    forged.set("Nats-Subject", `${prefix}.dispatcher`);
    forged.set("Nats-Time-Stamp", "1999-01-01T00:00:00Z");
    await others.request(`${prefix}.task.a.1`, "x", { headers: forged, timeout: 1_000 });
    const expected = { sequence: 1, subject: `${prefix}.task.a.1` };
    expect(await readAll(log)).toMatchObject([expected]);
    const last = present(await log.readLast(">"));
    expect(last).toMatchObject(expected);
    expect(last.storedAtMs).toBeGreaterThan(1_700_000_000_000);
    await followed.seen(1);
    expect(followed.messages).toMatchObject([expected]);
  });
}
