/**
 * Whether the simulation would notice: a rule is taken away, one at a time, and a few runs must find it.
 */
import { expect, it } from "vitest";
import { PLANTED } from "./planted.ts";
import { run } from "./run.ts";

/** Far fewer than CI plays (lives.test.ts). */
const RUNS_MAX = 120;

/** The first seed whose run notices, with what it noticed; null: none does. */
async function findFault(name: string): Promise<string | null> {
  const decorate = PLANTED[name];
  if (decorate === undefined) return null;
  for (let seed = 1; seed <= RUNS_MAX; seed += 1) {
    const { violations } = await run({ seed, decorate });
    if (violations.length > 0) return `seed ${seed}: ${violations[0]}`;
  }
  return null;
}

it.each(Object.keys(PLANTED))(
  "[ES-3, ES-4, ES-8] a run notices when this is gone: %s",
  async (name) => {
    expect(await findFault(name)).not.toBeNull();
  },
);
