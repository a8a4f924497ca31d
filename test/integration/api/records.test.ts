/** The bucket of execution records: what every reader of it, of the API and of the stream says of the same jobs. */
import type { NatsConnection } from "nats";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { JournalReader, type ReadRecord } from "../../../actors/journal/reader.ts";
import { RecordKeeper } from "../../../infra/daemon/records.ts";
import { recordBucketNames, recordKey } from "../../../infra/jetstream/records/bucket.ts";
import { openRecordStore } from "../../../infra/jetstream/records/record-store.ts";
import { openLog } from "../../../infra/logging/logger.ts";
import { foldExecutionRecord } from "../../../projections/execution-record/fold.ts";
import {
  parseExecutionRecord,
  RECORD_SCHEMA_VERSION,
} from "../../../projections/execution-record/schema.ts";
import { describeOnServers, startTestServer, type TestServer } from "../../support/server.ts";
import { type Rig, startRig, until } from "./fixtures.ts";

await describeOnServers("the bucket of records", ["newest", "floor"], (version) => {
  let server: TestServer;

  beforeAll(async () => {
    server = await startTestServer({ version, durability: "process" });
  });

  afterAll(() => server.stop());

  async function keep(rig: Rig, lines: string[] = []): Promise<RecordKeeper> {
    const { url, credentials } = server;
    const { namespace } = rig;
    const store = await openRecordStore({ url, ...credentials.daemon, namespace });
    const { logger } = openLog({ destination: { write: (line) => lines.push(line) } });
    return new RecordKeeper(rig.runtime, store, logger);
  }

  /** As any NATS client reads a key-value bucket. */
  async function entryOf(rig: Rig, connection: NatsConnection, job: string) {
    const { bucket } = recordBucketNames(rig.namespace);
    const options = { bindOnly: true, allow_direct: true };
    const kv = await connection.jetstream().views.kv(bucket, options);
    return kv.get(recordKey(job)).catch(() => null); // There is none while it is being made again.
  }

  const inBucket = async (rig: Rig, connection: NatsConnection, job: string): Promise<unknown> =>
    (await entryOf(rig, connection, job))?.json() ?? null;

  const revisionOf = async (rig: Rig, connection: NatsConnection, job: string) =>
    (await entryOf(rig, connection, job))?.revision;

  async function inApi(rig: Rig, job: string): Promise<unknown> {
    const client = await rig.client("observer");
    const answer = await client.record(job);
    return answer.ok ? answer.record : null;
  }

  /** By whoever reads the stream and knows the reader rule. */
  async function inStream(rig: Rig, job: string): Promise<unknown> {
    const records: ReadRecord[] = [];
    const reader = new JournalReader({
      fence: () => undefined,
      group: (group) => records.push(...group),
      fault: () => undefined,
    });
    await rig.log.read({ from: 1 }, (message) => reader.push(message));
    const own = records.filter(({ subject }) => subject.endsWith(`.${recordKey(job)}`));
    return foldExecutionRecord(own);
  }

  const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

  async function agree(rig: Rig, connection: NatsConnection, job: string): Promise<void> {
    const expected = json(await inStream(rig, job));
    expect(expected).not.toBeNull();
    // Written behind the journal: a moment later.
    await until(
      async () => JSON.stringify(await inBucket(rig, connection, job)) === JSON.stringify(expected),
    );
    expect(await inBucket(rig, connection, job)).toEqual(expected);
    expect(json(await inApi(rig, job))).toEqual(expected);
    expect(parseExecutionRecord(expected)).toMatchObject({
      kind: "record",
      record: { schemaVersion: RECORD_SCHEMA_VERSION },
    });
  }

  const lastOf = async (rig: Rig, connection: NatsConnection): Promise<number> => {
    const manager = await connection.jetstreamManager();
    return (await manager.streams.info(recordBucketNames(rig.namespace).stream)).state.last_seq;
  };

  it("[API-1, REC-8] has of every job what the daemon says and what a reader of the stream folds", async () => {
    await using rig = await startRig(server);
    const connection = await rig.connection("daemon");
    const keeper = await keep(rig);
    const client = await rig.client();
    const ids = ["completed", "failed", "held", "waiting", "cancelled", "family", "odd.id *>"];
    await client.submit({ type: "echo", input: { a: [1] }, id: "completed", wait: true });
    await client.submit({ type: "fail", input: "no luck", id: "failed", wait: true });
    await client.submit({ type: "hold", input: "held", id: "held" });
    await client.submit({ type: "echo", id: "waiting", after: ["held"] });
    await client.submit({ type: "hold", input: "c", id: "cancelled" });
    await client.cancel({ job: "cancelled" });
    await client.submit({ type: "family", input: { width: 3 }, id: "family", wait: true });
    await client.submit({ type: "echo", id: "odd.id *>", wait: true });
    await rig.runtime.find("cancelled").then((handle) => handle?.result().catch(() => null));
    for (const id of ids) await agree(rig, connection, id);
    rig.jobs.gate("held").open();
    await rig.runtime.find("waiting").then((handle) => handle?.result());
    for (const id of ["held", "waiting"]) await agree(rig, connection, id);
    await keeper.close();
  });

  it("[REC-8] catches up from the journal after a restart, and writes nothing again that it had", async () => {
    await using rig = await startRig(server);
    const connection = await rig.connection("daemon");
    const client = await rig.client();
    const first = await keep(rig);
    for (const id of ["a", "b"]) {
      await client.submit({ type: "echo", id, wait: true });
      await agree(rig, connection, id);
    }
    await client.submit({ type: "hold", input: "h", id: "h" });
    await agree(rig, connection, "h");
    await first.close();
    await client.submit({ type: "echo", id: "c", wait: true });
    rig.jobs.gate("h").open();
    await rig.runtime.find("h").then((handle) => handle?.result());
    const [before, ofA] = [await lastOf(rig, connection), await revisionOf(rig, connection, "a")];
    const second = await keep(rig);
    for (const id of ["a", "b", "c", "h"]) await agree(rig, connection, id);
    await second.close();
    expect(await revisionOf(rig, connection, "a")).toBe(ofA);
    // The last round is written once more; each job in a round is written once, however often it moved.
    expect(await lastOf(rig, connection)).toBeLessThanOrEqual(before + 3);
  });

  it("is made and filled again when somebody deletes it", async () => {
    await using rig = await startRig(server);
    const connection = await rig.connection("daemon");
    const client = await rig.client();
    const lines: string[] = [];
    const keeper = await keep(rig, lines);
    await client.submit({ type: "echo", id: "a", wait: true });
    await agree(rig, connection, "a");
    const manager = await connection.jetstreamManager();
    await manager.streams.delete(recordBucketNames(rig.namespace).stream);
    await client.submit({ type: "echo", id: "b", wait: true });
    for (const id of ["a", "b"]) await agree(rig, connection, id);
    expect(lines.filter((line) => line.includes("the bucket of records is behind"))).toHaveLength(
      1,
    );
    await keeper.close();
  });

  it("keeps no value of a former owner that still writes", async () => {
    await using rig = await startRig(server);
    const connection = await rig.connection("daemon");
    const client = await rig.client();
    const { url, credentials } = server;
    const { namespace } = rig;
    const former = await openRecordStore({ url, ...credentials.daemon, namespace });
    const keeper = await keep(rig);
    await client.submit({ type: "echo", id: "a", wait: true });
    await agree(rig, connection, "a");
    // It was at the journal's beginning, and writes what it knew of then.
    const stale = { sequence: await lastOf(rig, connection), through: 0 };
    await former.write([{ key: "a", value: '{"stale":true}' }], stale);
    await client.submit({ type: "echo", id: "b", wait: true });
    for (const id of ["a", "b"]) await agree(rig, connection, id);
    await expect(former.write([{ key: "a", value: "{}" }], stale)).rejects.toMatchObject({
      details: { apiCode: 10071 },
    });
    await keeper.close();
    await former.close();
  });

  it("[API-3, API-4] is told live to who only looks on, each message with its number and that of the same job before it", async () => {
    await using rig = await startRig(server);
    const observer = await rig.connection("observer");
    const told: { job: string; sequence: number; last: number }[] = [];
    observer.subscribe(`hf.${rig.namespace}.rec.>`, {
      callback: (_error, message) => {
        const header = (name: string) => Number(message.headers?.get(name));
        const job = message.subject.slice(`hf.${rig.namespace}.rec.`.length);
        told.push({ job, sequence: header("Nats-Sequence"), last: header("Nats-Last-Sequence") });
      },
    });
    await observer.flush();
    const keeper = await keep(rig);
    const client = await rig.client();
    const countOf = (id: string) => told.filter(({ job }) => job === id).length;
    await client.submit({ type: "hold", input: "gate", id: "a" });
    await until(() => countOf("a") > 0);
    await client.submit({ type: "echo", id: "b", wait: true });
    await until(() => countOf("b") > 0);
    const before = countOf("a");
    rig.jobs.gate("gate").open();
    await until(() => countOf("a") > before);
    await keeper.close();
    expect(told.map(({ sequence }) => sequence)).toEqual(told.map((_one, index) => index + 1));
    const newest = new Map<string, number>();
    for (const { job, sequence, last } of told) {
      expect({ job, sequence, last }).toEqual({ job, sequence, last: newest.get(job) ?? 0 });
      newest.set(job, sequence);
    }
  });
});

describe("a job's key", () => {
  it("is one token that a key-value bucket takes, whatever the id", () => {
    expect(recordKey("a.b *>")).toMatch(/^[-/=.\w]+$/);
    expect(recordKey("plain-7")).toBe("plain-7");
  });
});
