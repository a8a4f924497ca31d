/**
 * Readings of workflows that are handed out page by page.
 */
import { describe, expect, it, vi } from "vitest";

import { formatCursor, WorkflowRequest } from "../../../infra/api/contract/requests.ts";
import { trajectoryHandler, treeHandler } from "../../../infra/api/handlers/queries.ts";
import { KEPT_MS, Readings } from "../../../infra/api/handlers/readings.ts";
import { flush, TestRuntime } from "../../support/runtime.ts";
import { Workshop } from "../../support/workshop.ts";

/** A workflow of 10 jobs; `reads` counts how often its records were read. */
const family = async () => {
  const shop = new Workshop();
  const test = await TestRuntime.start({ definitions: shop.all });
  shop.plan("root", async (context) => {
    for (let at = 0; at < 9; at += 1)
      await (await context.submitInStep(shop.quick, { label: `c${at}` })).result();
    return null;
  });
  await (await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" })).result();
  await flush();
  const seen = { reads: 0 };
  const { runtime } = test;
  const asked = new Proxy(runtime, {
    get: (target, name) => {
      if (name === "recordsOf") seen.reads += 1;
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  return { asked, seen, test };
};

type Page = { readonly next: string | null; readonly [key: string]: unknown };

describe("pages of a workflow", () => {
  it.each([
    ["tree", treeHandler, "nodes"],
    ["trajectory", trajectoryHandler, "entries"],
  ] as const)(
    "of its %s are read once, and are all of one moment",
    async (_what, handler, list) => {
      const { asked, seen, test } = await family();
      const handle = handler(asked);
      const whole = (await handle(WorkflowRequest.parse({ job: "r" }))) as unknown as Page;
      expect([seen.reads, whole.next]).toEqual([1, null]);
      const all: unknown[] = [];
      let cursor: string | undefined;
      do {
        const request = { job: "r", limit: 3, ...(cursor === undefined ? {} : { cursor }) };
        const page = (await handle(WorkflowRequest.parse(request))) as unknown as Page;
        all.push(...(page[list] as unknown[]));
        cursor = page.next ?? undefined;
        // What happens meanwhile belongs to no page.
        await test.runtime.cancel("r", "too late", "ada");
      } while (cursor !== undefined);
      expect(all).toEqual(whole[list]);
      expect(seen.reads).toBe(2);
    },
  );

  it("are the same where the reading is not kept any more", async () => {
    const { asked, seen } = await family();
    const first = (await treeHandler(asked)(
      WorkflowRequest.parse({ job: "r", limit: 4 }),
    )) as unknown as Page;
    const request = WorkflowRequest.parse({ job: "r", limit: 4, cursor: first.next });
    const handle = treeHandler(asked);
    const again = await handle(request);
    expect(await handle(request)).toEqual(again);
    expect(seen.reads).toBe(2);
  });

  it("of another job, or of another moment, are another reading", async () => {
    const { asked, seen } = await family();
    const handle = treeHandler(asked);
    const first = (await handle(WorkflowRequest.parse({ job: "r", limit: 1 }))) as unknown as Page;
    const [position = 0] = (first.next ?? "").split(".").map(Number);
    const earlier = formatCursor({ position: position - 1, offset: 1 });
    await handle(WorkflowRequest.parse({ job: "r", limit: 1, cursor: earlier }));
    expect(seen.reads).toBe(2);
  });
});

it("keeps a reading only while somebody goes on with it", () => {
  vi.useFakeTimers();
  try {
    const readings = new Readings<{ readonly all: readonly object[] }>();
    for (let page = 0; page < 3; page += 1) {
      readings.keep("j", 1, { all: [{}] }, true);
      vi.advanceTimersByTime(KEPT_MS - 1);
      expect(readings.find("j", 1)).toBeDefined();
    }
    vi.advanceTimersByTime(1);
    expect(readings.find("j", 1)).toBeUndefined();
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

it("keeps no more readings and no more entries than its bounds", () => {
  const readings = new Readings<{ readonly all: readonly object[] }>(10);
  const of = (length: number) => ({ all: Array.from({ length }, () => ({})) });
  for (let job = 0; job < 20; job += 1) readings.keep(`j${job}`, 1, of(1), true);
  const kept = () =>
    Array.from({ length: 20 }, (_, job) => job).filter(
      (job) => readings.find(`j${job}`, 1) !== undefined,
    );
  expect(kept()).toEqual([12, 13, 14, 15, 16, 17, 18, 19]);
  readings.keep("large", 1, of(9), true);
  expect([kept(), readings.find("large", 1)?.all.length]).toEqual([[19], 9]);
  readings.keep("too large", 1, of(11), true);
  expect(readings.find("too large", 1)).toBeUndefined();
  readings.keep("large", 1, of(9), false);
  expect(readings.find("large", 1)).toBeUndefined();
  expect(kept()).toEqual([19]);
});
