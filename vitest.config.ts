import { defineConfig } from "vitest/config";

interface ProjectOptions {
  /** Of one test, and of one hook. */
  readonly timeoutMs: number;
  /** One file after the other. Default: as many at once as there are cores. */
  readonly isSerial?: boolean;
}

/** From the quickest to the slowest; each folder begins when the one before it has ended. */
const PROJECTS: Readonly<Record<string, ProjectOptions>> = {
  unit: { timeoutMs: 30_000 },
  model: { timeoutMs: 30_000 },
  simulation: { timeoutMs: 60_000 },
  // Only from here on may a test start servers and processes.
  integration: { timeoutMs: 60_000 },
  // It measures time and kills processes: alone on the machine, or its findings are about its neighbours.
  acceptance: { timeoutMs: 120_000, isSerial: true },
};

export default defineConfig({
  test: {
    projects: Object.entries(PROJECTS).map(([name, { timeoutMs, isSerial = false }], order) => ({
      extends: true as const,
      test: {
        name,
        include: [`test/${name}/**/*.test.ts`],
        testTimeout: timeoutMs,
        hookTimeout: timeoutMs,
        sequence: { groupOrder: order },
        maxWorkers: isSerial ? 1 : "100%",
      },
    })),
  },
});
