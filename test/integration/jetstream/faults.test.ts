import { afterAll, beforeAll, expect, it } from "vitest";
import { openAppender } from "../../../infra/jetstream/appender.ts";
import {
  Followed,
  Publisher,
  present,
  range,
  readAll,
  sequencesOf,
} from "../../contract/log-fixture.ts";
import { describeOnServers, startTestServer, type TestServer } from "../../support/server.ts";
import { newPartition, type TestPartition } from "./partition.ts";

type Server = () => TestServer;

await describeOnServers("faults", ["newest", "floor"], (version) => {
  let running: TestServer | null = null;
  beforeAll(async () => {
    running = await startTestServer({ version, durability: "process" });
  });
  afterAll(async () => {
    await running?.stop();
  });
  const server = (): TestServer => present(running);
  publishing(server);
  openings(server);
  interruptedReads(server);
  interruptedFollowing(server);
  closedLogs(server);
  // Thirteen seconds of waiting, and nothing in it depends on the version.
  if (version === "newest") hungServer(server);
});

/** A log of `count` messages of 300 bytes. */
async function filled(partition: TestPartition, count: number) {
  const log = await partition.open();
  const publisher = await Publisher.open(log, partition.names.prefix);
  const body = new Uint8Array(300);
  for (const at of range(1, count)) publisher.publish(`task.w.${at % 100}`, { body });
  await publisher.answered(count);
  await publisher.close();
  return log;
}

function publishing(server: Server): void {
  it("answer a publish as unavailable where there is no stream", async () => {
    await using partition = newPartition(server());
    const log = await partition.open();
    const publisher = await Publisher.open(log, partition.names.prefix);
    await publisher.store("task.a.1");
    await partition.ask(`STREAM.DELETE.${partition.names.stream}`);
    expect(await publisher.store("task.a.1")).toMatchObject({ kind: "unavailable" });
    await expect(log.info()).rejects.toMatchObject({
      code: "journal",
      details: { apiCode: 10059 },
    });
    await publisher.close();
  });

  it("end an appender whose user may not publish there, with the reason", async () => {
    await using partition = newPartition(server());
    await partition.open();
    const address = { url: server().url, ...server().credentials.operator };
    const reason = await new Promise<string>((resolve, reject) => {
      const events = { onAnswer: () => reject(new Error("answered")), onDisconnect: resolve };
      const body = new Uint8Array(1);
      const subject = `${partition.names.prefix}.task.a.1`;
      openAppender(address, partition.names, events).then(
        (appender) => appender.publish({ subject, id: "w.1", frame: "f", body }, 0),
        reject,
      );
    });
    expect(reason).toContain("PERMISSIONS_VIOLATION");
    expect((await (await partition.open()).info()).lastSequence).toBe(0);
  });
}

function openings(server: Server): void {
  const events = { onAnswer: () => undefined, onDisconnect: () => undefined };

  it("refuse an appender that could hear no answer", async () => {
    await using partition = newPartition(server());
    const address = { ...partition.options, inboxPrefix: "_INBOX_o" };
    const opening = openAppender(address, partition.names, events);
    await expect(opening).rejects.toMatchObject({ code: "journal", retry: "never" });
  });

  it("refuse an appender where nothing listens", async () => {
    await using partition = newPartition(server());
    const address = { ...partition.options, url: "nats://127.0.0.1:1" };
    const opening = openAppender(address, partition.names, events);
    await expect(opening).rejects.toMatchObject({ code: "journal", retry: "backoff" });
  });
}

function interruptedReads(server: Server): void {
  it("[ES-4] do not double or lose a message of a read when the server dies and comes back", async () => {
    await using partition = newPartition(server());
    const log = await filled(partition, 30_000);
    const seen: number[] = [];
    let restarted: Promise<void> | null = null;
    await log.read({ from: 1 }, ({ sequence }) => {
      seen.push(sequence);
      if (sequence === 2_000) restarted = server().restart();
    });
    await restarted;
    expect(restarted).not.toBeNull();
    expect(seen).toEqual(range(1, 30_000));
  });

  it("do not end a read early when its consumer is deleted", async () => {
    await using partition = newPartition(server());
    const log = await filled(partition, 60_000);
    const { stream } = partition.names;
    const admin = await partition.connection();
    const ask = async (verb: string) =>
      (await admin.request(`$JS.API.${verb}`)).json<Record<string, unknown>>();
    const remove = async (): Promise<unknown> => {
      const { consumers } = await ask(`CONSUMER.NAMES.${stream}`);
      return (await ask(`CONSUMER.DELETE.${stream}.${String(consumers)}`)).success;
    };
    const seen: number[] = [];
    let removed: Promise<unknown> = Promise.resolve(null);
    await log.read({ from: 1 }, ({ sequence }) => {
      seen.push(sequence);
      if (sequence === 1) removed = remove();
    });
    expect(await removed).toBe(true);
    expect(seen).toEqual(range(1, 60_000));
  });

  it("leave no consumer behind a read", async () => {
    await using partition = newPartition(server());
    const log = await filled(partition, 100);
    await readAll(log);
    await readAll(log, { subjects: [`${partition.names.prefix}.task.w.1`] });
    await expect(
      log.read({ from: 1 }, () => {
        throw new Error("enough");
      }),
    ).rejects.toThrow("enough");
    const count = async (): Promise<unknown> =>
      (await partition.ask(`CONSUMER.NAMES.${partition.names.stream}`)).total;
    await expect.poll(count, { timeout: 2_000, interval: 5 }).toBe(0);
  });

  it("end a read whose log is closed", async () => {
    await using partition = newPartition(server());
    await filled(partition, 20_000);
    const log = await partition.open();
    let closed: Promise<void> | null = null;
    const reading = log.read({ from: 1 }, ({ sequence }) => {
      if (sequence === 1) closed = log.close();
    });
    await expect(reading).rejects.toMatchObject({ code: "illegal_state" });
    await closed;
  });
}

function interruptedFollowing(server: Server): void {
  it("[ES-4] hide nothing from a follower that was stored while it was cut off", async () => {
    await using partition = newPartition(server());
    const log = await partition.open();
    const { prefix } = partition.names;
    const followed = new Followed();
    const following = await log.follow(`${prefix}.task.>`, followed.visit);
    const before = await Publisher.open(log, prefix);
    for (const _ of range(1, 50)) before.publish("task.a.1");
    await before.answered(50);
    await server().restart();
    // The follower's connection waits a moment before it dials again; this one does not.
    const after = await Publisher.open(await partition.open(), prefix);
    for (const at of range(1, 100)) after.publish(at % 2 === 0 ? "task.a.1" : "account.x");
    await after.answered(100);
    await followed.seen(100);
    const expected = [...range(1, 50), ...range(51, 150).filter((at) => at % 2 === 0)];
    expect(sequencesOf(followed.messages)).toEqual(expected);
    for (const _ of range(1, 10)) after.publish("task.a.1");
    await followed.seen(110);
    expect(sequencesOf(followed.messages)).toEqual([...expected, ...range(151, 160)]);
    await Promise.all([following.stop(), before.close(), after.close()]);
  });
}

function closedLogs(server: Server): void {
  it("leave nothing running of a log that is closed while its server is away", async () => {
    await using partition = newPartition(server());
    const log = await partition.open();
    const followed = new Followed();
    await log.follow(">", followed.visit);
    await server().kill();
    const asking = log.info();
    await log.close();
    await expect(asking).rejects.toMatchObject({
      code: expect.stringMatching(/illegal_state|journal/),
    });
    await expect(log.info()).rejects.toMatchObject({ code: "illegal_state" });
    await server().restart();
    const publisher = await Publisher.open(await partition.open(), partition.names.prefix);
    await publisher.store("task.a.1");
    await publisher.close();
    expect(followed.messages).toEqual([]);
  });
}

function hungServer(server: Server): void {
  it("of a server that stops answering end a read and let an appender close, in bounded time", async () => {
    await using partition = newPartition(server());
    const log = await filled(partition, 30_000);
    const publisher = await Publisher.open(log, partition.names.prefix);
    const pid = present(server().server.pid);
    const reading = log.read({ from: 1 }, ({ sequence }) => {
      if (sequence === 1) process.kill(pid, "SIGSTOP");
    });
    try {
      await expect(reading).rejects.toMatchObject({ code: "journal", retry: "backoff" });
      publisher.publish("task.a.1");
      await publisher.close();
    } finally {
      process.kill(pid, "SIGCONT");
    }
    expect(publisher.answers).toEqual([]);
    expect(sequencesOf(await readAll(log, { from: 29_999, through: 30_000 }))).toEqual([
      29_999, 30_000,
    ]);
  }, 40_000);
}
