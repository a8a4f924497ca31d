/**
 * Whole jobs by the library: throughput, latency, fan-out.
 *
 * Measured: submit → settle of no-op jobs with a 200-byte payload, each two messages in the log of a real server.
 * Not measured: the cost of real work, a network between runtime and server.
 */
import { z } from "zod";
import { defineDoer, defineTool } from "../actors/attempt/definition.ts";
import type { Durability } from "../actors/journal/codec.ts";
import { benchRuntime, benchServer } from "./bench-runtime.ts";
import { type Benchmark, type Figure, median, percentile } from "./measure.ts";

const JOBS = 20_000;
const IN_FLIGHT = 2_000;
const ROUNDS = 3;
const SINGLES = 1_000;
const CHILDREN = 1_000;

const payload = { text: "x".repeat(188) };

const noop = defineTool({
  type: "noop",
  input: z.object({ text: z.string() }),
  output: z.null(),
  run: () => null,
});

const parent = defineDoer({
  type: "parent",
  input: z.number(),
  output: z.number(),
  async run(context, count) {
    context.nextStep();
    const handles = await Promise.all(
      Array.from({ length: count }, (_, at) =>
        context.submitInCurrentStep(noop, payload, { key: `c${at}` }),
      ),
    );
    await Promise.all(handles.map((handle) => handle.result()));
    return handles.length;
  },
});

async function throughput(
  suite: "newest" | "floor",
  durability: Durability,
): Promise<{ rate: number; cpu: number }> {
  await using server = await benchServer({ suite, durability });
  const log = await server.openLog();
  const runtime = await benchRuntime(log, durability, [noop]);
  const rates: number[] = [];
  const cpus: number[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const before = process.cpuUsage();
    const startedAt = performance.now();
    let left = JOBS;
    const lane = async () => {
      while (left > 0) {
        left -= 1;
        await (await runtime.submit(noop, payload)).result();
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
    const elapsedMs = performance.now() - startedAt;
    const used = process.cpuUsage(before);
    if (round === 0) continue; // The first round compiles the code that the others measure.
    rates.push((JOBS / elapsedMs) * 1_000);
    cpus.push((used.user + used.system) / JOBS);
  }
  await runtime.detach();
  await log.close();
  return { rate: median(rates), cpu: median(cpus) };
}

export const jobs: Benchmark = {
  name: "jobs",
  about: `${JOBS.toLocaleString("en")} no-op jobs, 200-byte payload, ${IN_FLIGHT.toLocaleString("en")} in flight, by the library`,
  async run() {
    const newest = await throughput("newest", "process");
    const floor = await throughput("floor", "process");
    const synced = await throughput("newest", "fsync");
    return {
      "jobs.process": { value: newest.rate, unit: "jobs/s", budget: { atLeast: 12_000 } },
      "jobs.process.cpu": { value: newest.cpu, unit: "µs of Node a job" },
      "jobs.process.floor": { value: floor.rate, unit: "jobs/s" },
      "jobs.fsync": { value: synced.rate, unit: "jobs/s", budget: { atLeast: 10_000 } },
    };
  },
};

/** Ms from submitting a job to its result, one at a time; the first half compiles the code that the second measures. */
async function singles(durability: Durability): Promise<readonly number[]> {
  await using server = await benchServer({ suite: "newest", durability });
  const log = await server.openLog();
  const runtime = await benchRuntime(log, durability, [noop]);
  const samples: number[] = [];
  for (let at = 0; at < 2 * SINGLES; at += 1) {
    const startedAt = performance.now();
    await (await runtime.submit(noop, payload)).result();
    if (at >= SINGLES) samples.push(performance.now() - startedAt);
  }
  await runtime.detach();
  await log.close();
  return samples;
}

export const latency: Benchmark = {
  name: "latency",
  about: `submit → result of ${SINGLES.toLocaleString("en")} no-op jobs, one at a time`,
  async run() {
    const process = await singles("process");
    const fsync = await singles("fsync");
    const figures: Record<string, Figure> = {
      "latency.p50": { value: percentile(process, 0.5), unit: "ms", budget: { atMost: 1.0 } },
      "latency.p99": { value: percentile(process, 0.99), unit: "ms" },
      "latency.fsync.p50": { value: percentile(fsync, 0.5), unit: "ms", budget: { atMost: 1.8 } },
      "latency.fsync.p99": { value: percentile(fsync, 0.99), unit: "ms" },
    };
    return figures;
  },
};

export const fanOut: Benchmark = {
  name: "fan-out",
  about: `a doer with ${CHILDREN.toLocaleString("en")} children, submitted and settled, process mode`,
  async run() {
    await using server = await benchServer({ suite: "newest", durability: "process" });
    const log = await server.openLog();
    const runtime = await benchRuntime(log, "process", [noop, parent]);
    const samples: number[] = [];
    for (let round = 0; round < 6; round += 1) {
      const startedAt = performance.now();
      await (await runtime.submit(parent, CHILDREN)).result();
      if (round > 0) samples.push((performance.now() - startedAt) / 1_000);
    }
    await runtime.detach();
    await log.close();
    return { "fan-out": { value: median(samples), unit: "s", budget: { atMost: 0.25 } } };
  },
};
