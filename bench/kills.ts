/**
 * What a crash costs: the time from a server's death to work again, and from a new owner's start to every job decided.
 *
 * Measured: the daemon's own way back (it finds its server dead, starts it again, resyncs) until a job submitted after the kill
 * has settled; a runtime's start over interrupted jobs. Not measured: the start of a Node process.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { defineTool } from "../actors/attempt/definition.ts";
import { SystemError } from "../actors/errors.ts";
import { startDaemon } from "../infra/daemon/daemon.ts";
import { openLog } from "../infra/logging/logger.ts";
import { obtainNatsServer } from "../infra/nats-server/binary/obtain.ts";
import { readProcessIdentity, signalProcess } from "../infra/processes/identity.ts";
import { benchRuntime, benchServer } from "./bench-runtime.ts";
import { type Benchmark, median } from "./measure.ts";

const KILLS = 5;
const LANES = 50;
const INTERRUPTED = 200;
const ROUNDS = 5;

const noop = defineTool({ type: "noop", input: z.null(), output: z.null(), run: () => null });

const endless = defineTool({
  type: "endless",
  input: z.null(),
  output: z.null(),
  timeoutMs: null,
  retry: { class: "safe_to_retry", budget: 100 },
  run: () => new Promise<null>(() => undefined),
});

export const resync: Benchmark = {
  name: "resync",
  about: `the server killed with ${LANES} jobs in flight, until a job submitted after it has settled; longest of ${KILLS}`,
  async run() {
    const { path } = await obtainNatsServer({ suite: "newest" });
    process.env["HOLDFAST_NATS_SERVER"] = path;
    const dataDir = mkdtempSync(join(tmpdir(), "holdfast-bench-"));
    const log = openLog({ level: "fatal" });
    const options = { dataDir, durability: "process", jobs: [], definitions: [noop], log } as const;
    const daemon = await startDaemon(options);
    let isOver = false;
    const lane = async () => {
      while (!isOver) await (await daemon.runtime.submit(noop, null)).result();
    };
    const lanes = Array.from({ length: LANES }, lane);
    const samples: number[] = [];
    for (let kill = 0; kill < KILLS; kill += 1) {
      await new Promise((resolve) => setTimeout(resolve, 700 + 60 * kill));
      const identity = readProcessIdentity(daemon.server.pid ?? 0);
      if (identity === null) throw new SystemError("the server's process is not there");
      const startedAt = performance.now();
      signalProcess(identity, "SIGKILL");
      await (await daemon.runtime.submit(noop, null)).result();
      samples.push((performance.now() - startedAt) / 1_000);
    }
    isOver = true;
    await Promise.all(lanes);
    await daemon.stop();
    rmSync(dataDir, { recursive: true, force: true });
    return {
      "resync.longest": { value: Math.max(...samples), unit: "s", budget: { atMost: 1 } },
      "resync.median": { value: median(samples), unit: "s" },
    };
  },
};

export const recovery: Benchmark = {
  name: "recovery",
  about: `a runtime's start over ${INTERRUPTED} interrupted jobs, until all are decided and it is in the log`,
  async run() {
    await using server = await benchServer({ suite: "newest", durability: "process" });
    const before = await server.openLog();
    const first = await benchRuntime(before, "process", [endless]);
    for (let at = 0; at < INTERRUPTED; at += 1) await first.submit(endless, null);
    // Its connections end as those of a process that died do.
    await before.close();
    const samples: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const log = await server.openLog();
      const startedAt = performance.now();
      await benchRuntime(log, "process", [endless]);
      samples.push((performance.now() - startedAt) / 1_000);
      await log.close();
    }
    return {
      recovery: { value: Math.max(...samples), unit: "s", budget: { atMost: 0.5 } },
      "recovery.median": { value: median(samples), unit: "s" },
    };
  },
};
