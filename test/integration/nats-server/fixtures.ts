/** What the launcher's tests share: temp folders, children of their own, stand-ins for a server. */
import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { connect, type NatsConnection } from "nats";
import { afterEach } from "vitest";
import { connectionOptions, type Role } from "../../../infra/nats-server/credentials.ts";
import { readIfThere, serverFolder } from "../../../infra/nats-server/folder.ts";
import type { NatsServer } from "../../../infra/nats-server/server.ts";
import { findByTag } from "../../../infra/nats-server/server-process.ts";
import { type ProcessIdentity, readProcessIdentity } from "../../../infra/processes/identity.ts";
import { killProcess } from "../../support/server.ts";

const WAIT_MS = 20_000;

/** Everything of one test file; taken down after each test, processes before folders. */
export interface Bench {
  /** A new empty data folder, whose server is killed at the end whatever became of it. */
  dataDir(): string;
  /** A child of the test, killed at the end. */
  child(command: string, words: readonly string[], env?: Record<string, string>): ChildProcess;
  /** A file that can be run. */
  script(text: string): string;
  client(server: NatsServer, role: Role): Promise<NatsConnection>;
}

export function testBench(): Bench {
  const folders: string[] = [];
  const children: ProcessIdentity[] = [];
  const clients: NatsConnection[] = [];
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
    for (const child of children.splice(0)) await killProcess(child);
    for (const folder of folders.splice(0)) {
      // By the tag, not the record: a test that fails may have spoilt the record.
      for (const server of serversOf(folder)) await killProcess(server);
      rmSync(folder, { recursive: true, force: true });
    }
  });
  const dataDir = () => {
    const folder = mkdtempSync(join(tmpdir(), "holdfast-launch-"));
    folders.push(folder);
    return folder;
  };
  return {
    dataDir,
    child: (command, words, env = {}) => {
      const child = spawn(command, [...words], {
        stdio: ["ignore", "pipe", "inherit"],
        env: { ...process.env, ...env },
      });
      const identity = child.pid === undefined ? null : readProcessIdentity(child.pid);
      if (identity === null) throw new Error(`${command} did not start`);
      children.push(identity);
      return child;
    },
    script: (text) => {
      const path = join(dataDir(), "nats-server");
      writeFileSync(path, `#!/bin/sh\n${text}\n`);
      chmodSync(path, 0o755);
      return path;
    },
    client: async (server, role) => {
      const client = await connect(connectionOptions(server.url, server.credentials[role]));
      clients.push(client);
      return client;
    },
  };
}

/** Every server that runs on a data folder. */
export function serversOf(dataDir: string): readonly ProcessIdentity[] {
  const text = readIfThere(serverFolder(dataDir).credentials) ?? "";
  const tag = /"tag": "([0-9a-f]+)"/.exec(text)?.[1];
  return tag === undefined ? [] : findByTag(tag);
}

/** The first line that a child prints. */
export async function firstLine(child: ChildProcess): Promise<string> {
  let text = "";
  child.stdout?.on("data", (bytes: Buffer) => {
    text += bytes.toString("utf8");
  });
  await until(() => text.includes("\n") || child.exitCode !== null);
  return text.split("\n")[0] ?? "";
}

/** Waits for a condition, with a bound. */
export async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + WAIT_MS;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`not so after ${WAIT_MS} ms: ${condition}`);
    await pause(10);
  }
}

/** The identity of a server's process; throws when it is gone. */
export function identityOf(server: NatsServer): ProcessIdentity {
  const identity = server.pid === null ? null : readProcessIdentity(server.pid);
  if (identity === null) throw new Error(`process ${server.pid} is gone`);
  return identity;
}

/** A stream with `count` messages, kept in files. */
export async function storeMessages(daemon: NatsConnection, count: number): Promise<void> {
  const manager = await daemon.jetstreamManager();
  await manager.streams.add({ name: "KEPT", subjects: ["hf.t.evt.>"] });
  const jetstream = daemon.jetstream();
  for (let index = 0; index < count; index += 1) await jetstream.publish(`hf.t.evt.${index}`, "x");
}

export async function countMessages(daemon: NatsConnection): Promise<number> {
  const manager = await daemon.jetstreamManager();
  return (await manager.streams.info("KEPT")).state.messages;
}
