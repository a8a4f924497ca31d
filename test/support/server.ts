/**
 * A real server for a test: its own folder, its own port, gone at the end.
 *
 * Owns: getting the binaries, starting, killing, starting again on the same store, cleaning up; skipping with a reason.
 * Does not own: what is tested.
 *
 *   describeOnServers("the journal", ["newest", "floor"], (version) => {
 *     it("…", async () => {
 *       await using server = await startTestServer({ version });
 *       const connection = await connect(connectionOptions(server.url, server.credentials.daemon));
 *     });
 *   });
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe } from "vitest";
import type { Durability } from "../../actors/journal/codec.ts";
import { type ObtainedServer, obtainNatsServer } from "../../infra/nats-server/binary/obtain.ts";
import type { Credentials } from "../../infra/nats-server/credentials.ts";
import { launchNatsServer } from "../../infra/nats-server/launch.ts";
import type { NatsServer } from "../../infra/nats-server/server.ts";
import {
  isRunning,
  type ProcessIdentity,
  readProcessIdentity,
  signalProcess,
} from "../../infra/processes/identity.ts";

/** "newest": the distribution's newest. "floor": this machine's own, the oldest that is tested. */
export type TestServerVersion = "newest" | "floor";

export interface TestServerOptions {
  readonly version: TestServerVersion;
  /** Default: "fsync" on the newest, "process" on the floor, which can do no other. */
  readonly durability?: Durability;
  /** In bytes. Default: 1 GiB. */
  readonly fileBytesMax?: number;
}

export interface TestServer extends AsyncDisposable {
  /** Stays the same over `restart()` unless somebody took the port meanwhile. */
  readonly url: string;
  readonly credentials: Credentials;
  readonly dataDir: string;
  readonly durability: Durability;
  readonly server: NatsServer;
  /** SIGKILL, and waits until it is gone. The store stays. */
  kill(): Promise<void>;
  /** Starts the next one on the same store; kills the one that runs. */
  restart(): Promise<void>;
  /** Kills the server and removes the folder. Idempotent. */
  stop(): Promise<void>;
}

const GONE_WAIT_MS = 5_000;
const LOOK_EVERY_MS = 5;
const FILE_BYTES = 1024 ** 3;

/** Running servers of this test process; a worker that exits without `stop()` leaves none behind. */
const running = new Set<ProcessIdentity>();
process.once("exit", () => {
  for (const identity of running) signalProcess(identity, "SIGKILL");
});

export type ServerAvailability =
  | { readonly kind: "available"; readonly server: ObtainedServer }
  | { readonly kind: "missing"; readonly reason: string };

/** The binary of a version, got into the cache when it is missing, or why there is none. */
export async function testServerBinary(version: TestServerVersion): Promise<ServerAvailability> {
  try {
    return { kind: "available", server: await obtainNatsServer({ suite: version }) };
  } catch (error) {
    return { kind: "missing", reason: error instanceof Error ? error.message : String(error) };
  }
}

/** One `describe` a version. A version that cannot be had is skipped, with the reason in the name. */
export async function describeOnServers(
  name: string,
  versions: readonly TestServerVersion[],
  body: (version: TestServerVersion, binary: string) => void,
): Promise<void> {
  for (const version of versions) {
    const found = await testServerBinary(version);
    if (found.kind === "available") {
      describe(`${name} (${version} server)`, () => body(version, found.server.path));
    } else {
      // A server of this version cannot be had here; the title says why.
      describe.skip(`${name} (${version} server: skipped, ${found.reason})`, () =>
        body(version, ""));
    }
  }
}

/** Throws when the version cannot be had: use `describeOnServers` to skip instead. */
export async function startTestServer(options: TestServerOptions): Promise<TestServer> {
  const { path } = await obtainNatsServer({ suite: options.version });
  const dataDir = mkdtempSync(join(tmpdir(), "holdfast-server-"));
  const durability = options.durability ?? (options.version === "floor" ? "process" : "fsync");
  const launch = () =>
    launchNatsServer({
      dataDir,
      durability,
      binary: path,
      fileBytesMax: options.fileBytesMax ?? FILE_BYTES,
    });
  let server: NatsServer;
  try {
    server = await launch();
  } catch (error) {
    rmSync(dataDir, { recursive: true, force: true });
    throw error;
  }
  let identity = identityOf(server);
  const kill = async () => {
    await killProcess(identity);
    running.delete(identity);
  };
  const restart = async () => {
    await kill();
    server = await launch();
    identity = identityOf(server);
  };
  const stop = async () => {
    await kill();
    rmSync(dataDir, { recursive: true, force: true });
  };
  return {
    get url() {
      return server.url;
    },
    get server() {
      return server;
    },
    credentials: server.credentials,
    dataDir,
    durability,
    kill,
    restart,
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

function identityOf(server: NatsServer): ProcessIdentity {
  const identity = server.pid === null ? null : readProcessIdentity(server.pid);
  if (identity === null) throw new Error(`the server's process ${server.pid} is gone already`);
  running.add(identity);
  return identity;
}

/** SIGKILL to that very process, and waits until it is gone. */
export async function killProcess(identity: ProcessIdentity): Promise<void> {
  signalProcess(identity, "SIGKILL");
  const deadline = performance.now() + GONE_WAIT_MS;
  while (isRunning(identity)) {
    if (performance.now() > deadline) throw new Error(`process ${identity.pid} outlives SIGKILL`);
    await pause(LOOK_EVERY_MS);
  }
}
