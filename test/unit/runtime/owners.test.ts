import { expect, it } from "vitest";
import { RETOLD_MAX } from "../../../actors/journal/epochs.ts";
import { TestRuntime } from "../../support/runtime.ts";

it("[ES-3] each owner tells of every epoch that nobody told of, and of the newest again, never of all there were", async () => {
  const test = await TestRuntime.start({ definitions: [] });
  const lives = RETOLD_MAX + 10;
  for (let life = 1; life < lives; life += 1) await test.restart();
  const taken = test
    .transitions()
    .flatMap(({ event }) =>
      event.type === "dispatcher.taken"
        ? [event as unknown as { fence: number; closed: { fence: number }[] }]
        : [],
    );
  const fences = taken.map(({ fence }) => fence);
  for (const [life, { closed }] of taken.entries()) {
    const newest = fences.slice(Math.max(0, life - RETOLD_MAX), life);
    expect(closed.map(({ fence }) => fence)).toEqual(newest);
  }
});
