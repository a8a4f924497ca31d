/**
 * One store under the oldest server, the newest, and the oldest again.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { z } from "zod";
import { defineTool } from "../../../actors/attempt/definition.ts";
import { openJetStreamLog } from "../../../infra/jetstream/log.ts";
import { launchNatsServer } from "../../../infra/nats-server/launch.ts";
import { checkLog } from "../../../infra/verify/log-check.ts";
import { startRealRuntime } from "../../support/real-runtime.ts";
import { describeOnServers, testServerBinary } from "../../support/server.ts";

const ADDRESS = { namespace: "upgrade", partition: 0, generation: 1 };
const JOBS = 20;

const echo = defineTool({
  type: "echo",
  input: z.string(),
  output: z.string(),
  run: (_context, input) => input,
});

/** One server's life on the store: finds what ran before, runs some more. */
async function live(binary: string, dataDir: string, name: string, before: readonly string[]) {
  await using server = await launchNatsServer({
    dataDir,
    durability: "process",
    binary,
    fileBytesMax: 1024 ** 3,
  });
  const log = await openJetStreamLog({ url: server.url, ...server.credentials.daemon, ...ADDRESS });
  const runtime = await startRealRuntime(log, {
    address: ADDRESS,
    definitions: [echo],
    owner: name,
    durability: "process",
  });
  const found = await Promise.all(
    before.map(async (id) => (await runtime.find(id))?.result() ?? null),
  );
  const ids = Array.from({ length: JOBS }, (_, index) => `${name}-${index}`);
  await Promise.all(ids.map(async (id) => (await runtime.submit(echo, id, { id })).result()));
  await runtime.detach();
  const report = await checkLog(log);
  await log.close();
  return { found, ids, report };
}

const newest = await testServerBinary("newest");
/** Skipped, with the reason, where either of them cannot be had. */
const needed = newest.kind === "available" ? "floor" : "newest";

await describeOnServers("one store", [needed], (_version, floor) => {
  it("[ES-4] goes from the floor's server to the newest and back, loses no result, and verifies under each", async () => {
    if (newest.kind === "missing") throw new Error(newest.reason);
    const dataDir = mkdtempSync(join(tmpdir(), "holdfast-upgrade-"));
    try {
      const before: string[] = [];
      const lives = [
        { name: "old", binary: floor },
        { name: "new", binary: newest.server.path },
        { name: "back", binary: floor },
      ];
      for (const { name, binary } of lives) {
        const { found, ids, report } = await live(binary, dataDir, name, before);
        expect({ name, found }).toEqual({ name, found: before });
        before.push(...ids);
        expect({ name, ...report }).toMatchObject({
          name,
          ok: true,
          findings: [],
          jobs: { live: 0, ended: before.length, setAside: 0 },
        });
      }
    } finally {
      rmSync(dataDir, { recursive: true, force: true });
    }
  });
});
