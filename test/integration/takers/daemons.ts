/** Daemons of these tests: in this process and in processes of their own, and what their common log holds in the end. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach } from "vitest";
import { parseFrame } from "../../../actors/journal/frame.ts";
import { connectClient } from "../../../infra/api/client.ts";
import { type Daemon, type DaemonOptions, startDaemon } from "../../../infra/daemon/daemon.ts";
import type { ExternalServer } from "../../../infra/daemon/server.ts";
import { openLog } from "../../../infra/logging/logger.ts";
import { serverFolder } from "../../../infra/nats-server/folder.ts";
import { readRecord } from "../../../infra/nats-server/record.ts";
import { type ProcessIdentity, readProcessIdentity } from "../../../infra/processes/identity.ts";
import { checkLog, type Report } from "../../../infra/verify/log-check.ts";
import { openServerSource } from "../../../infra/verify/source.ts";
import {
  killProcess,
  startTestServer,
  type TestServer,
  type TestServerVersion,
} from "../../support/server.ts";
import { busyJobs } from "./busy-jobs.ts";

const DAEMON = fileURLToPath(new URL("./stand-ins/daemon-process.ts", import.meta.url));
const UP_WAIT_MS = 30_000;

export interface DaemonProcess {
  readonly identity: ProcessIdentity;
  /** In one line. */
  readonly stderr: () => string;
  signal(name: NodeJS.Signals): void;
  /** SIGKILL, and waits until it is gone. */
  kill(): Promise<void>;
  /** The exit code; null after a signal. */
  readonly ended: Promise<number | null>;
}

export interface DaemonBench {
  /** Killed after the test, when every daemon has stopped. */
  server(version: TestServerVersion): Promise<TestServer>;
  /** An empty data folder; a server that runs on it is killed after the test. */
  folder(): string;
  /** One in this process. */
  start(options: Partial<DaemonOptions>): Promise<{ daemon: Daemon; lines: string[] }>;
  /** One in a process of its own, up. */
  begin(
    options: Omit<Partial<DaemonOptions>, "log" | "definitions">,
    environment?: Readonly<Record<string, string>>,
  ): Promise<DaemonProcess>;
}

export function daemonBench(): DaemonBench {
  const servers: TestServer[] = [];
  const folders: string[] = [];
  const daemons: Daemon[] = [];
  const processes: DaemonProcess[] = [];
  afterEach(async () => {
    await Promise.all(processes.splice(0).map((process) => process.kill()));
    await Promise.all(daemons.splice(0).map((daemon) => daemon.stop()));
    await Promise.all(servers.splice(0).map((server) => server.stop()));
    for (const folder of folders.splice(0)) {
      const running = readRecord(serverFolder(folder))?.running;
      if (running !== null && running !== undefined) await killProcess(running.process);
      rmSync(folder, { recursive: true, force: true });
    }
  });
  const folder = () => {
    const path = mkdtempSync(join(tmpdir(), "holdfast-takers-"));
    folders.push(path);
    return path;
  };
  return {
    folder,
    server: async (version) => {
      const server = await startTestServer({ version });
      servers.push(server);
      return server;
    },
    start: async (options) => {
      const lines: string[] = [];
      const log = openLog({ destination: { write: (line) => lines.push(line) } });
      const daemon = await startDaemon({
        dataDir: options.dataDir ?? folder(),
        durability: "process",
        jobs: [],
        definitions: busyJobs,
        log,
        detachWaitMs: 0,
        ...options,
      });
      daemons.push(daemon);
      return { daemon, lines };
    },
    begin: async (options, environment = {}) => {
      const given = { dataDir: options.dataDir ?? folder(), durability: "process", ...options };
      const process = await beginProcess(given, environment);
      processes.push(process);
      return process;
    },
  };
}

async function beginProcess(
  options: object,
  environment: Readonly<Record<string, string>>,
): Promise<DaemonProcess> {
  const words = ["--import", "tsx", DAEMON, JSON.stringify(options)];
  const child = spawn(process.execPath, words, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...environment },
  });
  const identity = child.pid === undefined ? null : readProcessIdentity(child.pid);
  if (identity === null) throw new Error("the daemon's process did not start");
  let stderr = "";
  child.stderr.on("data", (bytes: Buffer) => {
    stderr += bytes.toString("utf8");
  });
  // What is told is wrapped to the width of a terminal.
  const said = () => stderr.replace(/\s+/g, " ");
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  const up = new Promise<true>((resolve) => child.stdout.once("data", () => resolve(true)));
  const late = new Promise<null>((resolve) => {
    setTimeout(() => resolve(null), UP_WAIT_MS).unref();
  });
  const kill = () => killProcess(identity);
  if ((await Promise.race([up, ended, late])) !== true) {
    await kill();
    throw new Error(`the daemon did not come up: ${said()}`);
  }
  return {
    identity,
    stderr: said,
    // The child is ours and not yet reaped, so the number is still its own.
    signal: (name) => child.kill(name),
    kill,
    ended,
  };
}

/** How daemons of other folders use a test's server. */
export function addressOf({ url, credentials }: TestServer): ExternalServer {
  const { user, password, inboxPrefix } = credentials.daemon;
  return { url: url.replace("nats://", `nats://${user}:${password}@`), inboxPrefix };
}

/** Gives whoever owns the partition now something to do. */
export async function submitBusy(server: TestServer, count: number, id: string): Promise<void> {
  const { url, credentials } = server;
  const client = await connectClient({ url, login: credentials.daemon });
  const answer = await client.submit({ type: "busy", input: count, id });
  await client.close();
  if (!answer.ok) throw new Error(answer.reason);
}

/** What `holdfast verify` says of the server's log. */
export async function verify({ url, credentials }: TestServer): Promise<Report> {
  await using source = await openServerSource({ url, login: credentials.daemon });
  return await checkLog(source.log, source.prefix === undefined ? {} : { prefix: source.prefix });
}

/** The writer of each message, fences and records alike, from one position on. */
export async function writersFrom(
  { url, credentials }: TestServer,
  from: number,
): Promise<readonly string[]> {
  await using source = await openServerSource({ url, login: credentials.daemon });
  const writers: string[] = [];
  await source.log.read({ from }, ({ frame }) => writers.push(parseFrame(frame)?.writer ?? ""));
  return writers;
}
