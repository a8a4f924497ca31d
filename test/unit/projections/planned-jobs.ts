/**
 * Workflows drawn at random: who is whose child, in which step, and who starts when.
 */
import fc from "fast-check";
import { TurnWorld } from "./turn-world.ts";

export interface PlannedJob {
  readonly id: string;
  /** Place in the order of submission, from 0. */
  readonly place: number;
  readonly parent: string | null;
  readonly ordinal: number | null;
  /** When it starts by the wall clock, ms, and in which turn after the submissions; null: not at all. */
  readonly start: { readonly at: number; readonly turn: number } | null;
}

const JOBS_MAX = 24;

/** Few ordinals and few instants, so that they collide; turns and instants in no relation, so that the clock steps back. */
export const plannedJobs: fc.Arbitrary<readonly PlannedJob[]> = fc
  .array(
    fc.record({
      parent: fc.nat(),
      ordinal: fc.option(fc.integer({ min: 1, max: 3 }), { nil: null }),
      at: fc.option(fc.integer({ min: 1_000, max: 1_003 }), { nil: null }),
      turn: fc.nat({ max: 1_000 }),
    }),
    { minLength: 1, maxLength: JOBS_MAX },
  )
  .map((drawn) =>
    drawn.map(({ parent, ordinal, at, turn }, place) => {
      // One in place + 1 has none: there may be several roots.
      const above = parent % (place + 1);
      return {
        id: idAt(place),
        place,
        parent: above === place ? null : idAt(above),
        ordinal: above === place ? null : ordinal,
        // The place makes every turn another one.
        start: at === null ? null : { at, turn: turn * JOBS_MAX + place },
      };
    }),
  );

/** In no relation to places, so that an order by name would be seen. */
const idAt = (place: number): string => `${String.fromCharCode(97 + ((place * 7) % 26))}-${place}`;

/** The world after all submissions and starts. */
export function worldOf(jobs: readonly PlannedJob[]): TurnWorld {
  const world = new TurnWorld();
  for (const { id, parent, ordinal } of jobs) {
    world.submit({ id, parent, metadata: ordinal === null ? {} : { iteration_number: ordinal } });
  }
  const starts = jobs.flatMap(({ id, start }) => (start === null ? [] : [{ id, ...start }]));
  for (const { id, at } of starts.toSorted((a, b) => a.turn - b.turn)) {
    world.at = at;
    world.start(id);
  }
  return world;
}
