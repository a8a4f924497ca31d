/**
 * A runtime on a real server of its own, for one benchmark.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ToolContext } from "../actors/attempt/context.ts";
import type { JobDefinition } from "../actors/attempt/definition.ts";
import type { Durability } from "../actors/journal/codec.ts";
import type { Log } from "../actors/journal/log.ts";
import { Runtime } from "../actors/runtime/runtime.ts";
import { openJetStreamLog } from "../infra/jetstream/log.ts";
import { obtainNatsServer } from "../infra/nats-server/binary/obtain.ts";
import { INBOX_PREFIXES } from "../infra/nats-server/credentials.ts";
import { launchNatsServer } from "../infra/nats-server/launch.ts";
import { systemAmbient } from "../infra/system/ambient.ts";
import { systemClock } from "../infra/system/clock.ts";
import { systemIds } from "../infra/system/ids.ts";

export const BENCH_PREFIX = "hf.bench.evt.0.1.";

export interface BenchServer extends AsyncDisposable {
  readonly version: string;
  openLog(): Promise<Log>;
}

/** An embedded server's roles have a name and a password; an external one's may have none. */
function loginOf(login: {
  readonly user?: string | undefined;
  readonly password?: string | undefined;
}) {
  const { user, password } = login;
  return user === undefined || password === undefined ? {} : { user, password };
}

export async function benchServer(options: {
  readonly suite: "newest" | "floor";
  readonly durability: Durability;
}): Promise<BenchServer> {
  const binary = await obtainNatsServer({ suite: options.suite });
  const dataDir = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
  const server = await launchNatsServer({
    dataDir,
    durability: options.durability,
    binary: binary.path,
  });
  const login = server.credentials.daemon;
  return {
    version: Object.values(server.version).slice(0, 3).join("."),
    openLog: () =>
      openJetStreamLog({
        url: server.url,
        ...loginOf(login),
        inboxPrefix: INBOX_PREFIXES.daemon,
        namespace: "bench",
        partition: 0,
        generation: 1,
      }),
    async [Symbol.asyncDispose]() {
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

export function benchRuntime(
  log: Log,
  durability: Durability,
  definitions: readonly JobDefinition[],
): Promise<Runtime> {
  return Runtime.start({
    log,
    clock: systemClock,
    ids: systemIds(),
    ambient: systemAmbient<ToolContext>(),
    definitions,
    prefix: BENCH_PREFIX,
    owner: "bench",
    durability,
  });
}
