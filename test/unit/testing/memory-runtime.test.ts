import { expect, it } from "vitest";
import { z } from "zod";
import { defineTool } from "../../../index.ts";
import { MemoryRuntime } from "../../../testing.ts";

it("runs a job, and after a restart answers from the same log", async () => {
  let runs = 0;
  const count = defineTool({
    type: "count",
    input: z.null(),
    output: z.number(),
    run: () => {
      runs += 1;
      return runs;
    },
  });
  const memory = await MemoryRuntime.open({ jobs: [count] });
  const job = await memory.runtime.submit(count, null, { id: "once" });
  expect(await job.result()).toBe(1);

  await memory.restart();
  const again = await memory.runtime.submit(count, null, { id: "once" });
  expect(await again.result()).toBe(1);
  expect(runs).toBe(1);
});

it("[TO-2] times a job out when a test moves the time", async () => {
  const stuck = defineTool({
    type: "stuck",
    input: z.null(),
    output: z.null(),
    timeoutMs: 60_000,
    run: (context) =>
      new Promise<null>((_resolve, reject) => {
        context.onTimeout(() => reject(new Error("gave up")));
      }),
  });
  const memory = await MemoryRuntime.open({ jobs: [stuck] });
  const job = await memory.runtime.submit(stuck, null);
  const ended = job.result().catch((error) => error.cause.code);
  await memory.machine.time.advance(60_000);
  expect(await ended).toBe("job_timeout");
});
