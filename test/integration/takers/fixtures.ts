/** What the tests of taking share: holders of all kinds, leases of them on a real server, processes that live and have ended. */
import { type ChildProcess, spawn } from "node:child_process";
import { afterEach } from "vitest";
import { PartitionLease } from "../../../infra/daemon/partition-lease.ts";
import { type LeaseStore, openLeaseStore } from "../../../infra/jetstream/leases/lease-store.ts";
import { openLog } from "../../../infra/logging/logger.ts";
import { type ProcessIdentity, readProcessIdentity } from "../../../infra/processes/identity.ts";
import { systemClock } from "../../../infra/system/clock.ts";
import {
  killProcess,
  startTestServer,
  type TestServer,
  type TestServerVersion,
} from "../../support/server.ts";

/** Of a process that cannot be seen from here, though its number is that of one that lives. */
export function identityElsewhere(): ProcessIdentity {
  return { ...ownIdentity(), bootId: "00000000-0000-4000-8000-000000000000" };
}

export function ownIdentity(): ProcessIdentity {
  const identity = readProcessIdentity(process.pid);
  if (identity === null) throw new Error("this process is not in /proc");
  return identity;
}

/** What a holder would have written, as text. */
export const leaseOf = (process: ProcessIdentity, owner = "elsewhere:7"): string =>
  JSON.stringify({ v: 1, nonce: "not-of-anybody-here", owner, process, since: 1_000 });

export interface TakenLease {
  readonly lease: PartitionLease;
  readonly lines: string[];
}

export interface LeaseBench {
  /** Stopped after the test, when every holder has given back. */
  server(version: TestServerVersion): Promise<TestServer>;
  /** A store of the partition that tests use; closed after the test. */
  store(server: TestServer, ttlMs?: number): Promise<LeaseStore>;
  /** A holder that has not taken yet; gives back after the test. */
  holder(
    server: TestServer,
    options?: { readonly owner?: string; readonly ttlMs?: number },
  ): Promise<TakenLease>;
  /** A process that does nothing; killed after the test. */
  sleeper(): ProcessIdentity;
}

const NAMESPACE = "takers";

export function leaseBench(): LeaseBench {
  const servers: TestServer[] = [];
  const leases: PartitionLease[] = [];
  const stores: LeaseStore[] = [];
  const sleepers: { readonly identity: ProcessIdentity; readonly child: ChildProcess }[] = [];
  afterEach(async () => {
    await Promise.all(leases.splice(0).map((lease) => lease.close()));
    await Promise.all(stores.splice(0).map((store) => store.close()));
    await Promise.all(servers.splice(0).map((server) => server.stop()));
    for (const { identity } of sleepers.splice(0)) await killProcess(identity);
  });
  const open = (server: TestServer, ttlMs: number) =>
    openLeaseStore({
      url: server.url,
      ...server.credentials.daemon,
      namespace: NAMESPACE,
      partition: 0,
      generation: 1,
      ttlMs,
    });
  return {
    server: async (version) => {
      const server = await startTestServer({ version });
      servers.push(server);
      return server;
    },
    store: async (server, ttlMs = 60_000) => {
      const store = await open(server, ttlMs);
      stores.push(store);
      return store;
    },
    holder: async (server, { owner = "here:1", ttlMs = 60_000 } = {}) => {
      const lines: string[] = [];
      const { logger } = openLog({ destination: { write: (line) => lines.push(line) } });
      const lease = new PartitionLease({
        store: await open(server, ttlMs),
        clock: systemClock,
        logger,
        owner,
        process: ownIdentity(),
        what: "the partition",
        ttlMs,
      });
      leases.push(lease);
      return { lease, lines };
    },
    sleeper: () => {
      const child = spawn("sleep", ["600"], { stdio: "ignore" });
      const identity = child.pid === undefined ? null : readProcessIdentity(child.pid);
      if (identity === null) throw new Error("sleep did not start");
      sleepers.push({ identity, child });
      return identity;
    },
  };
}
