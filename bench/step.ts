/**
 * One step of a chart: the compiled table against XState itself under a reused scope, on the job chart's own path.
 */
import { createScopeEngine } from "../machines/engine/scope.ts";
import { type JobContext, jobChart } from "../machines/job/chart.ts";
import type { JobEvent } from "../machines/job/events.ts";
import type { JobSpec } from "../machines/job/spec.ts";
import { type Benchmark, median } from "./measure.ts";

const ROUNDS = 7;
const LIVES = 20_000;
const SCOPE_LIVES = 2_000;

const spec: JobSpec = {
  id: "job-1",
  type: "noop",
  kind: "tool",
  name: "noop",
  workflow: "job-1",
  user: "bench",
  parent: null,
  key: null,
  digest: null,
  input: null,
  dependencies: [],
  toleratesFailures: false,
  timeoutMs: 1_000,
  retryClass: "safe_to_retry",
  retryBudget: 3,
  whenParentEnds: "cancel",
  metadata: {},
};

/** Submitted, lost twice, done: eight moves. */
const LIFE: readonly JobEvent[] = [
  { type: "job.submitted", spec },
  { type: "job.started", attempt: 1, timeoutAt: 1_000 },
  { type: "job.stepRecorded", key: "a", value: 1 },
  { type: "job.interrupted", attempt: 1, isSideEffectUnknown: false },
  { type: "job.rerunScheduled", attempt: 2, reason: "lost" },
  { type: "job.started", attempt: 2, timeoutAt: 2_000 },
  { type: "job.waitDeclared", name: "w", kind: "approval", reason: "w" },
  { type: "job.completed", attempt: 2, result: null },
];

function microsecondsAStep(
  engine: Pick<typeof jobChart.engine, "initial" | "step">,
  lives: number,
): number {
  const startedAt = performance.now();
  for (let life = 0; life < lives; life += 1) {
    let state = engine.initial();
    for (const event of LIFE) {
      const step = engine.step(state, event);
      if (step === null) throw new Error(`the job chart refuses ${event.type} in ${state.value}`);
      state = step.state;
    }
  }
  return ((performance.now() - startedAt) * 1_000) / (lives * LIFE.length);
}

export const step: Benchmark = {
  name: "step",
  about: "one step of the job chart, table and scope",
  async run() {
    const scope = createScopeEngine<JobContext, JobEvent>({ machine: jobChart.machine });
    const table: number[] = [];
    const scoped: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      table.push(microsecondsAStep(jobChart.engine, LIVES));
      scoped.push(microsecondsAStep(scope, SCOPE_LIVES));
    }
    return {
      "step.table": { value: median(table), unit: "µs" },
      "step.scope": { value: median(scoped), unit: "µs" },
      "step.ratio": { value: median(scoped) / median(table), unit: "× faster by the table" },
    };
  },
};
