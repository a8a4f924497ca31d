/** Jobs of the campaign of kills. Every run writes where it begins and where it ends to $EFFECTS, each one line. */
import { appendFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { defineDoer, defineTool } from "holdfast";
import { z } from "zod";

const effect = (what, { id, attempt }) =>
  appendFileSync(process.env.EFFECTS, `${what} ${id} ${attempt}\n`);

async function work(context, { ms }) {
  effect("start", context);
  if (ms > 0) await pause(ms);
  effect("end", context);
  return `done by ${context.id}`;
}

const input = z.strictObject({ ms: z.number() });

/** May be run again: nothing is harmed by a second line under another attempt. */
export const again = defineTool({
  type: "again",
  input,
  output: z.string(),
  retry: { class: "safe_to_retry", budget: 1_000 },
  run: work,
});

/** By its class it is never run again by itself. */
export const once = defineTool({ type: "once", input, output: z.string(), run: work });

/** Two steps: children side by side, then one more. */
export const family = defineDoer({
  type: "family",
  input: z.strictObject({ ms: z.number(), width: z.number() }),
  output: z.number(),
  run: async (context, { ms, width }) => {
    context.nextStep();
    const children = await Promise.all(
      Array.from({ length: width }, (_, at) =>
        context.submitInCurrentStep(again, { ms }, { key: `c${at}` }),
      ),
    );
    await Promise.all(children.map((child) => child.result()));
    const last = await context.submitInStep(again, { ms: 0 }, { key: "last" });
    await last.result();
    return width;
  },
});

/** Ends when it is told to. */
export const gate = defineDoer({
  type: "gate",
  input: z.strictObject({}),
  output: z.null(),
  run: (context) => context.waitFor("open", { reason: "the job behind it is to wait" }),
});
