/**
 * From an owner's death to the next owner's readiness, by what the next one can know of the first.
 *
 * Measured: `kill -9` of a daemon in a process of its own, then a start on its folder, up to its answer; process mode, newest
 * server, a log of a few records. The worst case of a holder elsewhere: its lease is written in the moment of its death, by a
 * process that cannot be seen from here, so that all of it has to lapse. Not measured: folding a long log, starting Node.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Daemon, startDaemon } from "../infra/daemon/daemon.ts";
import { dataFolder, findDaemon } from "../infra/daemon/data-folder.ts";
import { openLeaseStore } from "../infra/jetstream/leases/lease-store.ts";
import { openLog } from "../infra/logging/logger.ts";
import { obtainNatsServer } from "../infra/nats-server/binary/obtain.ts";
import { ensureCredentials } from "../infra/nats-server/credentials.ts";
import { serverFolder } from "../infra/nats-server/folder.ts";
import { readRecord } from "../infra/nats-server/record.ts";
import { signalProcess } from "../infra/processes/identity.ts";
import { type Benchmark, median } from "./measure.ts";

const ROUNDS = 5;
const LEASE_TTL_MS = 2_000;
/** Beyond the lease, in seconds. */
const BEYOND_MAX = 2;
const UP_WAIT_MS = 30_000;

/** Compiled by the set-up step, as this file is: from `dist.bench/bench`. */
const PROGRAM = fileURLToPath(new URL("../../dist/infra/cli/main.js", import.meta.url));

/** A daemon in a process of its own, up; its server outlives it. */
async function owner(dataDir: string): Promise<ChildProcess> {
  const words = ["up", "--data", dataDir, "--durability", "process", "--json"];
  const ttl = ["--lease-ttl", String(LEASE_TTL_MS)];
  const child = spawn(process.execPath, [PROGRAM, ...words, ...ttl], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  const isUp = await new Promise<boolean>((resolve) => {
    const timer = setTimeout(() => resolve(false), UP_WAIT_MS);
    child.stdout.once("data", () => {
      clearTimeout(timer);
      resolve(true);
    });
    child.once("exit", () => {
      clearTimeout(timer);
      resolve(false);
    });
  });
  if (isUp) return child;
  child.kill("SIGKILL");
  throw new Error("the owner did not come up");
}

async function end(child: ChildProcess): Promise<void> {
  const hasExited = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGKILL");
  await hasExited;
}

/** Of a folder whose next owner did not come up: it would run on for ever. */
function endServer(dataDir: string): void {
  const running = readRecord(serverFolder(dataDir))?.running ?? null;
  if (running !== null) signalProcess(running.process, "SIGKILL");
}

/** Makes the lease that of a holder on another boot: nothing can be proven of it here. */
async function moveLeaseElsewhere(dataDir: string): Promise<void> {
  const found = findDaemon(dataFolder(dataDir));
  if (found.kind !== "found") throw new Error("the owner left no daemon.json");
  const { daemon } = ensureCredentials(serverFolder(dataDir)).roles;
  const { url, namespace } = found.record;
  const address = { url, ...daemon, namespace, partition: 0, generation: 1 };
  const store = await openLeaseStore({ ...address, ttlMs: LEASE_TTL_MS });
  const lease = JSON.parse((await store.read())?.value ?? "{}");
  const elsewhere = { ...lease, process: { ...lease.process, bootId: "another-boot" } };
  await store.overwrite(JSON.stringify(elsewhere));
  await store.close();
}

const next = (dataDir: string, takeOver: boolean): Promise<Daemon> =>
  startDaemon({
    dataDir,
    durability: "process",
    jobs: [],
    leaseTtlMs: LEASE_TTL_MS,
    takeOver,
    log: openLog({ level: "fatal" }),
  });

/** Seconds from what befell the owner to the next one's answer. */
async function round(befalls: "gone" | "elsewhere" | "told"): Promise<number> {
  const dataDir = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
  const child = await owner(dataDir);
  let daemon: Daemon | null = null;
  try {
    if (befalls !== "told") await end(child);
    const startedAt = performance.now();
    if (befalls === "elsewhere") await moveLeaseElsewhere(dataDir);
    daemon = await next(dataDir, befalls === "told");
    return (performance.now() - startedAt) / 1_000;
  } finally {
    if (child.exitCode === null && child.signalCode === null) await end(child);
    if (daemon === null) endServer(dataDir);
    else await daemon.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function rounds(befalls: Parameters<typeof round>[0]): Promise<readonly number[]> {
  const seconds: number[] = [];
  for (let at = 0; at < ROUNDS; at += 1) seconds.push(await round(befalls));
  return seconds;
}

export const takeOver: Benchmark = {
  name: "take-over",
  about: `a dead owner's partition, with a lease of ${LEASE_TTL_MS / 1_000} s, to the next owner's readiness, ${ROUNDS} times each`,
  async run() {
    const { path } = await obtainNatsServer({ suite: "newest" });
    // The owner's process and this one are to use the same server.
    process.env["HOLDFAST_NATS_SERVER"] = path;
    const beyond = (await rounds("elsewhere")).map((seconds) => seconds - LEASE_TTL_MS / 1_000);
    return {
      "take-over.beyond": {
        value: Math.max(...beyond),
        unit: "s beyond the lease, the longest",
        budget: { atMost: BEYOND_MAX },
      },
      "take-over.beyond.p50": { value: median(beyond), unit: "s beyond the lease" },
      "take-over.gone": { value: median(await rounds("gone")), unit: "s, owner proven gone" },
      "take-over.told": { value: median(await rounds("told")), unit: "s, from a living owner" },
    };
  },
};
