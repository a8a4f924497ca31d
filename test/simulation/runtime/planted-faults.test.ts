/**
 * Whether the simulation of whole runtimes would notice: a rule is taken away, one at a time, and a few runs must find it by
 * the invariant that it breaks.
 */
import { describe, expect, it } from "vitest";
import { PLANTED, type PlantedFault } from "./planted.ts";
import { run } from "./run.ts";

const RUNS_MAX = 100;

/** The first seed whose run notices as it must; null: none does. */
async function findBreach({ plant, breaks }: PlantedFault): Promise<string | null> {
  for (let seed = 1; seed <= RUNS_MAX; seed += 1) {
    const { violations } = await run({ seed, plant });
    const found = violations.find(({ invariant }) => breaks.includes(invariant));
    if (found !== undefined) return `seed ${seed}, ${found.invariant}: ${found.text}`;
  }
  return null;
}

describe("[ES-2, ES-3, ES-8, ES-10, ES-11] a run notices when this is gone", () => {
  it.each(Object.entries(PLANTED))("%s", async (_, fault) => {
    expect(await findBreach(fault)).not.toBeNull();
  });
});
