/**
 * What a benchmark is and what it says.
 *
 * Owns: the shape of a figure, medians, budgets. A figure without a budget is information; one with a budget is kept or not.
 * Figures are taken within one run on one machine: compare ratios, not runs.
 */

export interface Figure {
  readonly value: number;
  readonly unit: string;
  /** What it must not exceed (`atMost`) or fall below (`atLeast`), in the same unit. */
  readonly budget?: { readonly atMost: number } | { readonly atLeast: number };
}

export interface Benchmark {
  readonly name: string;
  /** One line: what is measured, and what is not. */
  readonly about: string;
  run(): Promise<Readonly<Record<string, Figure>>>;
}

export function isWithin({ value, budget }: Figure): boolean | undefined {
  if (budget === undefined) return undefined;
  return "atMost" in budget ? value <= budget.atMost : value >= budget.atLeast;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

/** Three significant digits: more is noise. */
export const rounded = (value: number): number => Number(value.toPrecision(3));
