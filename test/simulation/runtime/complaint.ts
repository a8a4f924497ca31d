/**
 * What a failing run says: how to see it again, what was wrong, what happened before.
 */
import { INVARIANTS } from "./book.ts";
import type { RunReport } from "./run.ts";

const VIOLATIONS_TOLD_MAX = 10;

export const complaintOf = ({ seed, violations, trace }: RunReport): string =>
  [
    `HOLDFAST_SEED=${seed} npx vitest run test/simulation/runtime/lives.test.ts`,
    ...violations
      .slice(0, VIOLATIONS_TOLD_MAX)
      .map(({ invariant, text }) => `${invariant} (${INVARIANTS[invariant]}): ${text}`),
    ...trace,
  ].join("\n");
