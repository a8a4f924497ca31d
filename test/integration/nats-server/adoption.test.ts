/** A server that outlived its daemon: adopted, replaced, or left alone. */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { serverFolder, writeWhole } from "../../../infra/nats-server/folder.ts";
import { launchNatsServer } from "../../../infra/nats-server/launch.ts";
import { readRecord, type ServerRecord, writeRecord } from "../../../infra/nats-server/record.ts";
import {
  isRunning,
  type ProcessIdentity,
  readProcessIdentity,
  signalProcess,
} from "../../../infra/processes/identity.ts";
import { describeOnServers, killProcess } from "../../support/server.ts";
import {
  countMessages,
  firstLine,
  identityOf,
  serversOf,
  storeMessages,
  testBench,
} from "./fixtures.ts";

const bench = testBench();
const PARENT = new URL("./stand-ins/launching-parent.ts", import.meta.url).pathname;

/** The record as it stands; there is one. */
function recordOf(dataDir: string): ServerRecord {
  const record = readRecord(serverFolder(dataDir));
  if (record === null) throw new Error("no record");
  return record;
}

await describeOnServers(
  "a server that outlived its daemon",
  ["newest", "floor"],
  (version, binary) => {
    const durability = version === "newest" ? "fsync" : "process";

    /** Launches in a process of its own and kills that with SIGKILL: what it started goes on. */
    async function orphanedServer(dataDir: string): Promise<ProcessIdentity> {
      const parent = bench.child(process.execPath, [
        "--import",
        "tsx",
        PARENT,
        dataDir,
        durability,
        binary,
      ]);
      const parentIdentity = readProcessIdentity(parent.pid ?? 0);
      const { pid } = JSON.parse(await firstLine(parent)) as { pid: number };
      const identity = readProcessIdentity(pid);
      if (identity === null || parentIdentity === null) throw new Error("no server");
      await killProcess(parentIdentity);
      return identity;
    }

    it("[S2] is adopted by the next, which may stop it", async () => {
      const dataDir = bench.dataDir();
      const orphan = await orphanedServer(dataDir);
      expect(isRunning(orphan)).toBe(true);
      const server = await launchNatsServer({ dataDir, durability, binary });
      expect(server).toMatchObject({ pid: orphan.pid, isAdopted: true });
      await bench.client(server, "daemon");
      expect(await server.stop()).toEqual({ kind: "ended" });
      expect(isRunning(orphan)).toBe(false);
    });

    it("[S2] is replaced when another configuration is wanted, and the store stays", async () => {
      const dataDir = bench.dataDir();
      const orphan = await orphanedServer(dataDir);
      const options = { dataDir, durability, binary } as const;
      const before = await launchNatsServer(options);
      await storeMessages(await bench.client(before, "daemon"), 3);
      // The daemon that adopted it is this process, which lives; as if it had died:
      writeRecord(serverFolder(dataDir), { ...recordOf(dataDir), holders: [] });
      await using server = await launchNatsServer({ ...options, fileBytesMax: 1024 ** 3 });
      expect(isRunning(orphan)).toBe(false);
      expect(server).toMatchObject({ isAdopted: false, url: before.url });
      expect(await countMessages(await bench.client(server, "daemon"))).toBe(3);
      expect(recordOf(dataDir).fileBytesMax).toBe(1024 ** 3);
    });

    it("[S2] is replaced when it hangs", async () => {
      const dataDir = bench.dataDir();
      const orphan = await orphanedServer(dataDir);
      signalProcess(orphan, "SIGSTOP");
      await using server = await launchNatsServer({ dataDir, durability, binary, termWaitMs: 100 });
      expect(server.isAdopted).toBe(false);
      expect(isRunning(orphan)).toBe(false);
    });

    it("[S2] is replaced when it had not answered yet: another may be on its port", async () => {
      const dataDir = bench.dataDir();
      const orphan = await orphanedServer(dataDir);
      const record = recordOf(dataDir);
      if (record.running === null) throw new Error("not running");
      const running = { ...record.running, wasReady: false };
      writeRecord(serverFolder(dataDir), { ...record, running });
      await using server = await launchNatsServer({ dataDir, durability, binary });
      expect(server.isAdopted).toBe(false);
      expect(isRunning(orphan)).toBe(false);
    });

    it("[S1] is found and replaced when its record is lost", async () => {
      const dataDir = bench.dataDir();
      const orphan = await orphanedServer(dataDir);
      rmSync(serverFolder(dataDir).record);
      await using server = await launchNatsServer({ dataDir, durability, binary });
      expect(isRunning(orphan)).toBe(false);
      expect(serversOf(dataDir).map(({ pid }) => pid)).toEqual([server.pid]);
    });

    it("[S1] is found and replaced when its record cannot be read", async () => {
      const dataDir = bench.dataDir();
      const orphan = await orphanedServer(dataDir);
      writeWhole(serverFolder(dataDir).record, '{"port":');
      await using server = await launchNatsServer({ dataDir, durability, binary });
      expect(isRunning(orphan)).toBe(false);
      expect(server.isRunning()).toBe(true);
    });

    it("[S2] is replaced when its password is lost, for it cannot be asked", async () => {
      const dataDir = bench.dataDir();
      const orphan = await orphanedServer(dataDir);
      const { credentials } = serverFolder(dataDir);
      const text = readFileSync(credentials, "utf8");
      writeFileSync(credentials, text.replace(/("daemon": ")[^"]{4}/, "$1AAAA"), { mode: 0o600 });
      await using server = await launchNatsServer({ dataDir, durability, binary });
      expect(server.isAdopted).toBe(false);
      expect(isRunning(orphan)).toBe(false);
      await bench.client(server, "daemon");
    });

    it.each<[string, (identity: ProcessIdentity) => ProcessIdentity]>([
      [
        "start time",
        (identity) => ({ ...identity, startTicks: `${Number(identity.startTicks) - 1}` }),
      ],
      ["boot", (identity) => ({ ...identity, bootId: "00000000-0000-0000-0000-000000000000" })],
      ["pid namespace", (identity) => ({ ...identity, pidNamespace: "pid:[1]" })],
    ])(
      "[S3] a process that has the recorded number but another %s is never signalled",
      async (_what, change) => {
        const dataDir = bench.dataDir();
        const first = await launchNatsServer({ dataDir, durability, binary });
        const { running } = recordOf(dataDir);
        await first.stop();
        // Somebody else's process with the recorded number. Any signal would end it.
        const bystander = bench.child("sleep", ["600"]);
        const identity = readProcessIdentity(bystander.pid ?? 0);
        if (identity === null || running === null) throw new Error("no bystander");
        const stale = { ...running, process: change(identity) };
        writeRecord(serverFolder(dataDir), { ...recordOf(dataDir), running: stale });
        await using server = await launchNatsServer({ dataDir, durability, binary });
        expect(server.isAdopted).toBe(false);
        expect(server.pid).not.toBe(identity.pid);
        expect(isRunning(identity)).toBe(true);
      },
    );

    it("[S3] stop signals nobody when its server is gone", async () => {
      const dataDir = bench.dataDir();
      const server = await launchNatsServer({ dataDir, durability, binary });
      await killProcess(identityOf(server));
      expect(await server.stop()).toEqual({ kind: "gone" });
    });

    it("[S4] is shared by two daemons with one configuration, and the last one stops it", async () => {
      const dataDir = bench.dataDir();
      const parent = bench.child(process.execPath, [
        "--import",
        "tsx",
        PARENT,
        dataDir,
        durability,
        binary,
      ]);
      await firstLine(parent);
      const here = await launchNatsServer({ dataDir, durability, binary });
      expect(here.isAdopted).toBe(true);
      expect(await here.stop()).toEqual({ kind: "left_running", usedBy: [parent.pid] });
      expect(here.isRunning()).toBe(true);
      const again = await launchNatsServer({ dataDir, durability, binary });
      parent.kill("SIGKILL");
      await expect.poll(() => parent.signalCode).toBe("SIGKILL");
      expect(await again.stop()).toEqual({ kind: "ended" });
    });

    it("[S4] is not taken from a living daemon by one that wants another configuration", async () => {
      const dataDir = bench.dataDir();
      const parent = bench.child(process.execPath, [
        "--import",
        "tsx",
        PARENT,
        dataDir,
        durability,
        binary,
      ]);
      await firstLine(parent);
      const launch = launchNatsServer({ dataDir, durability, binary, fileBytesMax: 1024 ** 3 });
      await expect(launch).rejects.toMatchObject({
        code: "ownership",
        details: { usedBy: [parent.pid] },
      });
      await using server = await launchNatsServer({ dataDir, durability, binary });
      expect(server.isAdopted).toBe(true);
    });

    it("[S1] two daemons that start at once get one server", async () => {
      const dataDir = bench.dataDir();
      const words = ["--import", "tsx", PARENT, dataDir, durability, binary];
      const parents = [1, 2, 3].map(() => bench.child(process.execPath, words));
      const said = await Promise.all(parents.map(firstLine));
      const servers = said.map((line) => JSON.parse(line) as { pid: number; isAdopted: boolean });
      expect(new Set(servers.map(({ pid }) => pid)).size).toBe(1);
      expect(servers.filter(({ isAdopted }) => !isAdopted)).toHaveLength(1);
      expect(serversOf(dataDir)).toHaveLength(1);
    });
  },
);
