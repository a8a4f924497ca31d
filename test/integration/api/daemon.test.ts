/** The daemon: whose folder it is, what it loads, how it comes up and goes down, and what ends it by itself. */
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { connectClient } from "../../../infra/api/client.ts";
import { type Daemon, type DaemonOptions, startDaemon } from "../../../infra/daemon/daemon.ts";
import { dataFolder, findDaemon, ownerOf } from "../../../infra/daemon/data-folder.ts";
import { loadJobModules } from "../../../infra/daemon/job-modules.ts";
import { openLog } from "../../../infra/logging/logger.ts";
import { ensureCredentials } from "../../../infra/nats-server/credentials.ts";
import { serverFolder } from "../../../infra/nats-server/folder.ts";
import { readRecord } from "../../../infra/nats-server/record.ts";
import { isRunning, readProcessIdentity } from "../../../infra/processes/identity.ts";
import { killProcess, testServerBinary } from "../../support/server.ts";
import { until } from "./fixtures.ts";

const folders: string[] = [];
const daemons: Daemon[] = [];

beforeAll(async () => {
  const found = await testServerBinary("newest");
  if (found.kind === "available") process.env["HOLDFAST_NATS_SERVER"] = found.server.path;
});

afterEach(async () => {
  for (const daemon of daemons.splice(0)) await daemon.stop();
  for (const folder of folders.splice(0)) {
    const running = readRecord(serverFolder(folder))?.running;
    if (running !== null && running !== undefined) await killProcess(running.process);
    rmSync(folder, { recursive: true, force: true });
  }
});

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-daemon-"));
  folders.push(folder);
  return folder;
}

/** A definition as text, made by hand: what counts is its shape. */
const definition = (type: string, run = "run: (context, input) => input") =>
  `{ kind: "tool", type: ${JSON.stringify(type)}, displayName: "x", idPrefix: "x", input: any, output: any,
     timeoutMs: null, retryClass: "safe_to_retry", retryBudget: 3, childrenLeft: "cancel", ${run} }`;

const ANY = "const any = { safeParse: (data) => ({ success: true, data }) };\n";

function moduleFile(folder: string, name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, ANY + text);
  return path;
}

async function start(options: Partial<DaemonOptions> & { readonly dataDir: string }) {
  const lines: string[] = [];
  const log = openLog({ destination: { write: (line) => lines.push(line) } });
  const jobs = [moduleFile(options.dataDir, "jobs.mjs", `export const a = ${definition("echo")};`)];
  const daemon = await startDaemon({ durability: "process", jobs, log, ...options });
  daemons.push(daemon);
  return { daemon, lines };
}

const operator = (dataDir: string) => ensureCredentials(serverFolder(dataDir)).roles.operator;

describe("a daemon", () => {
  it("comes up, is found by its folder, answers, and leaves nothing behind when it is stopped", async () => {
    const dataDir = newFolder();
    const { daemon } = await start({ dataDir, namespace: "n1" });
    const folder = dataFolder(dataDir);
    const found = findDaemon(folder);
    expect(found).toMatchObject({
      kind: "found",
      isAlive: true,
      record: { url: daemon.url, namespace: "n1", durability: "process", isEmbedded: true },
    });
    expect(ownerOf(folder)).toMatchObject({ kind: "alive", pid: process.pid });
    expect(statSync(folder.record).mode & 0o077).toBe(0);
    const client = await connectClient({
      url: daemon.url,
      namespace: "n1",
      login: operator(dataDir),
    });
    expect(await client.submit({ type: "echo", input: 7, wait: true })).toMatchObject({
      outcome: { result: 7 },
    });
    await client.close();
    const serverPid = daemon.server.pid ?? 0;
    const server = readProcessIdentity(serverPid);
    expect(await daemon.stop()).toEqual({ kind: "stopped" });
    expect(await daemon.ended).toEqual({ kind: "stopped" });
    expect(findDaemon(folder)).toEqual({ kind: "none" });
    expect(ownerOf(folder)).toEqual({ kind: "nobody" });
    expect(server !== null && isRunning(server)).toBe(false);
  });

  it("has no password in its log or in daemon.json", async () => {
    const dataDir = newFolder();
    const { daemon, lines } = await start({ dataDir });
    const roles = Object.values(ensureCredentials(serverFolder(dataDir)).roles);
    const text = lines.join("") + readFileSync(dataFolder(dataDir).record, "utf8");
    expect(text).toContain("the daemon is up");
    for (const { password } of roles) expect(text).not.toContain(password);
    const client = await connectClient({ url: daemon.url, login: operator(dataDir) });
    // A job that is given one keeps it out of the journal, and so out of every answer.
    const [first] = roles;
    const input = { note: `the password is ${first?.password}` };
    const answer = await client.submit({ type: "echo", input, wait: true });
    expect(answer).toMatchObject({ outcome: { result: { note: "the password is [redacted]" } } });
    const typed = await client.submit({ type: `no-${first?.password}` });
    expect(typed).toMatchObject({ ok: false, reason: expect.stringContaining("no-[redacted]") });
    await client.close();
  });

  it("gives jobs that run their time to end, and no more", async () => {
    const dataDir = newFolder();
    const run = "run: () => new Promise((resolve) => setTimeout(resolve, 60_000).unref())";
    const jobs = [moduleFile(dataDir, "slow.mjs", `export const a = ${definition("slow", run)};`)];
    const { daemon, lines } = await start({ dataDir, jobs, detachWaitMs: 300 });
    await daemon.runtime.submitByType("slow", null, { id: "s" });
    await until(() => daemon.runtime.health().runningJobs === 1);
    const began = performance.now();
    await daemon.stop();
    expect(performance.now() - began).toBeGreaterThan(290);
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(lines.join("")).not.toContain("did not stop in time");
    // Its class says that it is run again.
    const again = await start({ dataDir, jobs, detachWaitMs: 0 });
    expect(again.daemon.runtime.health().liveJobs).toBe(1);
    await again.daemon.runtime.cancel("s", "enough", "test");
  });
});

describe("a data folder", () => {
  it("[ES-3] has one living daemon: a second one is refused with its number, and harms it not", async () => {
    const dataDir = newFolder();
    const { daemon } = await start({ dataDir });
    await expect(start({ dataDir })).rejects.toMatchObject({
      code: "ownership",
      message: expect.stringContaining(`belongs to process ${process.pid} `),
      details: { folder: dataDir, pid: process.pid },
    });
    expect(daemon.runtime.health().state).toBe("ready");
    expect(findDaemon(dataFolder(dataDir))).toMatchObject({ isAlive: true });
  });

  it("goes to exactly one of several that start at once", async () => {
    const dataDir = newFolder();
    const starts = await Promise.allSettled(Array.from({ length: 5 }, () => start({ dataDir })));
    expect(starts.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const outcome of starts) {
      if (outcome.status === "rejected")
        expect(outcome.reason).toMatchObject({ code: "ownership" });
    }
  });

  it("that a dead process left behind is taken over, a recycled number included", async () => {
    const dataDir = newFolder();
    const own = readProcessIdentity(process.pid);
    const left = {
      nonce: "00000000-0000-4000-8000-000000000000",
      // This very number, as another process had it before.
      process: { ...own, startTicks: "1" },
      purpose: "a daemon, long ago",
    };
    writeFileSync(dataFolder(dataDir).lock, JSON.stringify(left));
    expect(ownerOf(dataFolder(dataDir))).toMatchObject({ kind: "dead", pid: process.pid });
    const { daemon } = await start({ dataDir });
    expect(daemon.runtime.health().state).toBe("ready");
  });

  it("is free again when a start fails on the way, its server too", async () => {
    const dataDir = newFolder();
    const impossible = { dataDir, namespace: "no.dots.here" };
    await expect(start(impossible)).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(start({ dataDir, nats: { url: "nats://127.0.0.1:1" } })).rejects.toMatchObject({
      code: "external_service",
    });
    expect(ownerOf(dataFolder(dataDir))).toEqual({ kind: "nobody" });
    await start({ dataDir });
  });

  it("that cannot be written is refused with the reason", async () => {
    const file = join(newFolder(), "file");
    writeFileSync(file, "");
    const dataDir = join(file, "data");
    await expect(startDaemon({ dataDir, jobs: [], durability: "process" })).rejects.toMatchObject({
      code: "config",
      message: expect.stringContaining("ENOTDIR"),
    });
  });
});

describe("job modules", () => {
  it("give every definition they export, by name, as default and in lists, each once", async () => {
    const folder = newFolder();
    const path = moduleFile(
      folder,
      "jobs.mjs",
      `export const a = ${definition("a")};
       export const b = ${definition("b")};
       export const list = [a, ${definition("c")}];
       export const other = 7, none = null, text = { type: "not a definition" };
       export default b;`,
    );
    const again = moduleFile(folder, "again.mjs", `export * from "./jobs.mjs";`);
    const found = await loadJobModules([path, again, path]);
    expect(found.map(({ type }) => type).sort()).toEqual(["a", "b", "c"]);
  });

  it("are refused with every fault of every file, before anything is taken", async () => {
    const dataDir = newFolder();
    const jobs = [
      join(dataDir, "missing.mjs"),
      moduleFile(dataDir, "throws.mjs", `throw new TypeError("at the top");`),
      moduleFile(dataDir, "nothing.mjs", "export const a = 1;"),
      moduleFile(dataDir, "nearly.mjs", `export const a = { type: "a", run() {} };`),
      moduleFile(dataDir, "one.mjs", `export const a = ${definition("same")};`),
      moduleFile(dataDir, "two.mjs", `export const b = ${definition("same")};`),
    ];
    await expect(start({ dataDir, jobs })).rejects.toMatchObject({
      code: "config",
      details: {
        faults: [
          { file: jobs[0], reason: "there is no such file" },
          { file: jobs[1], reason: "it cannot be loaded: TypeError: at the top" },
          { file: jobs[2], reason: expect.stringContaining("exports no job definition") },
          {
            file: jobs[3],
            reason: expect.stringContaining("export a looks like a job definition"),
          },
          {
            file: jobs[5],
            reason: expect.stringContaining(`has the type "same", and so has ${jobs[4]}`),
          },
        ],
      },
    });
    expect(existsSync(dataFolder(dataDir).lock)).toBe(false);
    expect(existsSync(join(dataDir, "nats"))).toBe(false);
  });
});

describe("a daemon ends by itself", () => {
  it("[ES-3] when another owner takes its partition", async () => {
    const dataDir = newFolder();
    const { daemon, lines } = await start({ dataDir });
    const { user, password } = ensureCredentials(serverFolder(dataDir)).roles.daemon;
    const url = daemon.url.replace("nats://", `nats://${user}:${password}@`);
    // It uses the first one's server and namespace, from a folder of its own.
    const nats = { url, inboxPrefix: "_INBOX_d" };
    const rival = await start({ dataDir: newFolder(), nats, takeOver: true });
    expect(await daemon.ended).toMatchObject({ kind: "failed", error: { code: "fenced" } });
    expect(findDaemon(dataFolder(dataDir))).toEqual({ kind: "none" });
    expect(lines.join("")).toContain("the daemon stops by itself");
    expect(rival.daemon.runtime.health().state).toBe("ready");
  });

  it("not when its embedded server dies: that is started again, and the daemon goes on", async () => {
    const dataDir = newFolder();
    const { daemon, lines } = await start({ dataDir });
    const before = readProcessIdentity(daemon.server.pid ?? 0);
    if (before === null) throw new Error("the server is gone already");
    const client = await connectClient({ url: daemon.url, login: operator(dataDir) });
    expect(await client.submit({ type: "echo", id: "before", wait: true })).toMatchObject({
      ok: true,
    });
    await killProcess(before);
    await until(() => lines.some((line) => line.includes("nats-server runs again")));
    expect(daemon.server.pid).not.toBe(before.pid);
    await until(() =>
      client.submit({ type: "echo", input: 1, commandId: "after", wait: 5_000 }).then(
        (answer) => answer.ok && answer.decision === "ended",
        () => false,
      ),
    );
    expect(await client.record("before")).toMatchObject({ ok: true });
    await client.close();
  });
});
