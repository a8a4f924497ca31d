/**
 * Logs to be checked, where they really are: on a server with a living owner, on one that outlived it, in a folder at rest.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { connect } from "nats";
import { afterEach, expect, it } from "vitest";
import { z } from "zod";
import { defineTool } from "../../../actors/attempt/definition.ts";
import { Runtime } from "../../../actors/runtime/runtime.ts";
import { openJetStreamLog } from "../../../infra/jetstream/log.ts";
import { connectionOptions } from "../../../infra/nats-server/credentials.ts";
import { acquireLock } from "../../../infra/nats-server/exclusive-lock.ts";
import { serverFolder } from "../../../infra/nats-server/folder.ts";
import { readRecord, writeRecord } from "../../../infra/nats-server/record.ts";
import { jobAmbient } from "../../../infra/system/ambient.ts";
import { systemClock } from "../../../infra/system/clock.ts";
import { systemIds } from "../../../infra/system/ids.ts";
import { checkLog, type Report } from "../../../infra/verify/log-check.ts";
import { openFolderSource, openServerSource } from "../../../infra/verify/source.ts";
import { describeOnServers, startTestServer, type TestServer } from "../../support/server.ts";

const PREFIX = "hf.default.evt.0.1.";

const echo = defineTool({
  type: "echo",
  input: z.number(),
  output: z.number(),
  run: (_context, input) => input,
});

interface Owner extends AsyncDisposable {
  readonly runtime: Runtime;
}

async function ownerOn(server: TestServer): Promise<Owner> {
  const address = { namespace: "default", partition: 0, generation: 1 };
  const log = await openJetStreamLog({
    url: server.url,
    ...server.credentials.daemon,
    ...address,
  });
  const runtime = await Runtime.start({
    log,
    clock: systemClock,
    ids: systemIds(),
    ambient: jobAmbient,
    definitions: [echo],
    prefix: PREFIX,
    owner: "test",
    durability: server.durability,
  });
  return {
    runtime,
    [Symbol.asyncDispose]: async () => {
      await runtime.detach();
      await log.close();
    },
  };
}

async function work({ runtime }: Owner, count: number): Promise<void> {
  const handles = await Promise.all(
    Array.from({ length: count }, (_, input) => runtime.submit(echo, input)),
  );
  await Promise.all(handles.map((handle) => handle.result()));
}

async function checkFolder({ dataDir }: TestServer, namespace?: string): Promise<Report> {
  await using source = await openFolderSource({ dataDir, namespace, onProgress: () => undefined });
  return await checkLog(source.log, source.prefix === undefined ? {} : { prefix: source.prefix });
}

const environment = { ...process.env };
afterEach(() => {
  process.env["HOLDFAST_NATS_SERVER"] = environment["HOLDFAST_NATS_SERVER"];
  if (environment["HOLDFAST_NATS_SERVER"] === undefined) delete process.env["HOLDFAST_NATS_SERVER"];
});

await describeOnServers("a log to be checked", ["newest", "floor"], (version, binary) => {
  it("[ES-3, ES-9] is read while its owner lives, who does not notice, and after it", async () => {
    await using server = await startTestServer({ version });
    const owner = await ownerOn(server);
    await work(owner, 300);
    const fence = owner.runtime.health().fence;
    const report = await checkFolder(server);
    expect(report).toMatchObject({ ok: true, errors: 0, fences: 1, jobs: { live: 0, ended: 300 } });
    await work(owner, 10);
    expect(owner.runtime.health()).toMatchObject({ state: "ready", fence });
    await owner[Symbol.asyncDispose]();
    const { url } = server;
    await using source = await openServerSource({ url, login: server.credentials.daemon });
    expect(await checkLog(source.log)).toMatchObject({ ok: true, jobs: { live: 0, ended: 310 } });
  });

  it("[ES-4] after its owner and its server were killed is read by a server that is stopped again", async () => {
    await using server = await startTestServer({ version });
    process.env["HOLDFAST_NATS_SERVER"] = binary;
    const owner = await ownerOn(server);
    await work(owner, 50);
    await server.kill();
    const folder = serverFolder(server.dataDir);
    // This process plays the owner that died, and lives: it must not count as one who uses the server.
    const record = readRecord(folder);
    if (record !== null) writeRecord(folder, { ...record, holders: [] });
    const report = await checkFolder(server);
    expect(report).toMatchObject({ ok: true, jobs: { live: 0, ended: 50 } });
    expect(readRecord(folder)?.running).toBeNull();
    // It is nobody's again: the next daemon may have it.
    const lock = { purpose: "a daemon", waitMs: 0 };
    (await acquireLock(join(server.dataDir, "daemon.lock"), lock)).release();
    await expect(checkFolder(server, "another")).rejects.toMatchObject({ code: "not_found" });
    expect(readRecord(folder)?.running).toBeNull();
    expect(existsSync(join(server.dataDir, "daemon.lock"))).toBe(false);
    await server.restart();
    await owner[Symbol.asyncDispose]();
  });

  it("[ES-9] with a stranger's message in it is told by the position of that message", async () => {
    await using server = await startTestServer({ version });
    const owner = await ownerOn(server);
    await work(owner, 5);
    await owner[Symbol.asyncDispose]();
    const { url, credentials } = server;
    const connection = await connect(connectionOptions(url, credentials.daemon));
    const subject = `${PREFIX}task.forged.forged`;
    const { seq } = await connection.jetstream().publish(subject, '{"v":1}');
    await connection.close();
    const report = await checkFolder(server);
    expect(report).toMatchObject({ ok: false, errors: 1, haltedAt: null });
    expect(report.findings).toMatchObject([{ kind: "foreign", position: seq, subject }]);
  });

  it("that is not there is not made by looking for it, and those that are there are named", async () => {
    await using server = await startTestServer({ version });
    const login = server.credentials.daemon;
    const open = () => openServerSource({ url: server.url, login, namespace: "nobody" });
    await expect(open()).rejects.toMatchObject({ code: "not_found", details: { namespaces: [] } });
    await (await ownerOn(server))[Symbol.asyncDispose]();
    await expect(open()).rejects.toMatchObject({
      code: "not_found",
      details: { namespaces: ["default"] },
    });
  });
});
