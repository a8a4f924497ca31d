import fc from "fast-check";
import { expect, it } from "vitest";
import { z } from "zod";
import { defineDoer, defineTool } from "../../../actors/attempt/definition.ts";
import { ConfigError, JournalError } from "../../../actors/errors.ts";
import { ROOM_AGE_MS_MAX, roomIn, type StoreBound } from "../../../actors/runtime/space.ts";
import { failureOf, standingOf, TestRuntime } from "../../support/runtime.ts";

const stream = (usedBytes: number): StoreBound => ({
  what: "stream",
  usedBytes,
  limitBytes: 1_000,
});

it("[ES-4] room ends where less than a tenth of a limit is left", () => {
  expect(roomIn([])).toBeNull();
  expect(roomIn([stream(900)])).toEqual({ ...stream(900), reserveBytes: 100, isFull: false });
  expect(roomIn([stream(901)])).toEqual({ ...stream(901), reserveBytes: 100, isFull: true });
});

it("[ES-4] keeps a least reserve where a tenth is too little, as of a small disk", () => {
  const disk: StoreBound = {
    what: "disk",
    usedBytes: 10,
    limitBytes: 500,
    reserveBytesMin: 491,
  };
  expect(roomIn([disk])).toMatchObject({ what: "disk", reserveBytes: 491, isFull: true });
  expect(roomIn([{ ...disk, reserveBytesMin: 490 }])).toMatchObject({ isFull: false });
});

it("[ES-4] a store is full when any one bound is, and names the one that is nearest", () => {
  const bound = fc.record({
    what: fc.constantFrom("stream" as const, "account" as const, "server" as const),
    usedBytes: fc.nat(2_000),
    limitBytes: fc.nat(2_000),
  });
  fc.assert(
    fc.property(fc.array(bound, { minLength: 1 }), (bounds) => {
      const anyFull = bounds.some((each) => roomIn([each])?.isFull === true);
      expect(roomIn(bounds)?.isFull).toBe(anyFull);
    }),
  );
});

const echo = defineTool({
  type: "echo",
  input: z.string(),
  output: z.string(),
  run: (_context, input) => input,
});

function gatedDoer() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const definition = defineDoer({
    type: "gated",
    input: z.null(),
    output: z.string(),
    run: async (context) => {
      await opened;
      const child = await context.submitInCurrentStep(echo, "of a running job");
      return await child.result();
    },
  });
  return { definition, open: () => open() };
}

/** A store whose fill a test sets. */
async function startFilling(used: { bytes: number; fault?: Error; asked: number }) {
  const gate = gatedDoer();
  const test = await TestRuntime.start({
    definitions: [echo, gate.definition],
    bounds: () => {
      used.asked += 1;
      return used.fault === undefined
        ? Promise.resolve([stream(used.bytes)])
        : Promise.reject(used.fault);
    },
  });
  /** Has it asked again, and answered. */
  const look = async () => {
    await test.runtime.lookAtRoom();
    await test.settle();
  };
  return { test, gate, look };
}

it("[API-2] [ES-4] new work is refused while the store is full, and nothing of it is journaled; work that runs ends", async () => {
  const used = { bytes: 0, asked: 0 };
  const { test, gate, look } = await startFilling(used);
  const running = await test.runtime.submit(gate.definition, null, { id: "running" });
  used.bytes = 950;
  await look();
  const { length } = test.log.messages;
  const refused = await test.runtime.submit(echo, "new");
  expect(await failureOf(refused)).toMatchObject({
    code: "journal",
    retry: "backoff",
    details: {
      reason: "store_full",
      outcome: "refused",
      what: "stream",
      usedBytes: 950,
      limitBytes: 1_000,
      reserveBytes: 100,
    },
  });
  expect(test.log.messages).toHaveLength(length);
  expect(test.runtime.health().room).toMatchObject({ isFull: true });
  const joined = await test.runtime.submit(gate.definition, null, { id: "running" });
  expect(joined).toBe(running);
  gate.open();
  await test.settle();
  expect(standingOf(running)).toBe('completed "of a running job"');
  used.bytes = 10;
  await look();
  const taken = await test.runtime.submit(echo, "again");
  expect(await taken.result()).toBe("again");
});

it("[ES-4] a submission that finds the last answer old has the room asked for again", async () => {
  const used = { bytes: 0, asked: 0 };
  const { test } = await startFilling(used);
  expect(used.asked).toBe(1); // Before it was ready.
  await test.runtime.submit(echo, "fresh");
  expect(used.asked).toBe(1);
  used.bytes = 950;
  await test.advance(ROOM_AGE_MS_MAX + 1);
  expect(used.asked).toBe(1); // Nobody asked for work.
  await (await test.runtime.submit(echo, "finds it old")).result();
  expect(used.asked).toBe(2);
  expect(standingOf(await test.runtime.submit(echo, "behind it"))).toBe("journal");
});

it("[ES-4] a store that does not answer leaves the room as it was told last; what asking cannot mend is loud", async () => {
  const used: Parameters<typeof startFilling>[0] = { bytes: 950, asked: 0 };
  const { test, look } = await startFilling(used);
  used.fault = new JournalError("away");
  await look();
  expect(test.runtime.health().room).toMatchObject({ isFull: true });
  expect(test.faults()).toEqual([]);
  used.fault = new ConfigError("no such folder");
  await look();
  expect(test.faults()).toMatchObject([{ where: "the store's room", error: used.fault }]);
});
