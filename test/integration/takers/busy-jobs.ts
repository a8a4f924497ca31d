/** Jobs that keep an owner appending: whoever is stopped in the middle of one has something to write when it goes on. */
import { setTimeout as pause } from "node:timers/promises";
import { z } from "zod";
import { defineDoer, defineTool } from "../../../actors/attempt/definition.ts";

const step = defineTool({
  type: "step",
  input: z.number(),
  output: z.number(),
  retry: { class: "safe_to_retry", budget: 100 },
  run: async (_context, input) => {
    await pause(2);
    return input;
  },
});

/** As many steps as it is told, one after another; the number of those that came back. */
const busy = defineDoer({
  type: "busy",
  input: z.number(),
  output: z.number(),
  timeoutMs: null,
  run: async (context, count) => {
    let done = 0;
    for (let at = 0; at < count; at += 1) {
      const child = await context.submitInStep(step, at);
      if ((await child.result()) === at) done += 1;
    }
    return done;
  },
});

export const busyJobs = [step, busy];
