import { describe, expect, it } from "vitest";
import { ConflictError, IllegalStateError, InvalidArgumentError } from "../../../actors/errors.ts";
import { DETAILS_BYTES_MAX, PAGE_BYTES_MAX } from "../../../infra/api/contract/limits.ts";
import { pageOf } from "../../../infra/api/handlers/pages.ts";
import { refusalOf, statusOf } from "../../../infra/api/refusal.ts";
import { Turnstile } from "../../../infra/api/turnstile.ts";
import { Teardown } from "../../../infra/daemon/teardown.ts";
import { isDoneWithin, orNullWithin } from "../../../infra/system/bounded-wait.ts";

describe("a page", () => {
  const from = (offset: number) => ({ position: 9, offset });

  it("ends before its bytes are over, has one entry at least, and says where the next begins", () => {
    const big = Array.from({ length: 5 }, (_, index) => ({
      index,
      text: "x".repeat(PAGE_BYTES_MAX / 2 - 100),
    }));
    expect(pageOf(big, from(0))).toEqual({ entries: big.slice(0, 2), next: "9.2" });
    expect(pageOf(big, from(2))).toEqual({ entries: big.slice(2, 4), next: "9.4" });
    expect(pageOf(big, from(4))).toEqual({ entries: big.slice(4), next: null });
    const huge = [{ text: "x".repeat(2 * PAGE_BYTES_MAX) }, { text: "y" }];
    expect(pageOf(huge, from(0))).toEqual({ entries: huge.slice(0, 1), next: "9.1" });
  });

  it("has at most as many entries as were asked for", () => {
    const all = [1, 2, 3, 4, 5];
    expect(pageOf(all, from(0), 2)).toEqual({ entries: [1, 2], next: "9.2" });
    expect(pageOf(all, from(3), 2)).toEqual({ entries: [4, 5], next: null });
    expect(pageOf(all, from(7), 2)).toEqual({ entries: [], next: null });
  });
});

describe("a turnstile", () => {
  const turnstile = new Turnstile({ what: "queries", insideMax: 2, waitingMax: 2 });

  it("lets so many in at once, the others in their order, and refuses more", async () => {
    const order: string[] = [];
    const leave: (() => void)[] = [];
    const pass = (name: string) =>
      turnstile.pass(async () => {
        order.push(name);
        await new Promise<void>((resolve) => leave.push(resolve));
        return name;
      });
    const passes = ["a", "b", "c", "d"].map(pass);
    await expect(pass("e")).rejects.toMatchObject({ code: "illegal_state", retry: "backoff" });
    expect(order).toEqual(["a", "b"]);
    for (let left = 0; left < 4; left += 1) {
      leave[left]?.();
      await passes[left];
    }
    expect(order).toEqual(["a", "b", "c", "d"]);
  });

  it("gives the place of one that failed to the next", async () => {
    for (let round = 0; round < 5; round += 1) {
      await expect(turnstile.pass(() => Promise.reject(new TypeError("no")))).rejects.toThrow("no");
    }
    expect(await turnstile.pass(() => Promise.resolve(7))).toBe(7);
  });
});

describe("a refusal", () => {
  it("carries the error's code, advice and details", () => {
    const error = new ConflictError("other content", { details: { id: "a" } });
    expect(refusalOf(error)).toEqual({
      ok: false,
      decision: "refused",
      reason: "other content",
      code: "conflict",
      retry: "never",
      details: { id: "a" },
    });
  });

  it("tells a defect without its stack or its text", () => {
    const refusal = refusalOf(new TypeError("secret of the house"));
    expect(refusal).toMatchObject({ code: "system", retry: "never" });
    expect(JSON.stringify(refusal)).not.toContain("secret");
  });

  it("leaves out details that are large, or no JSON", () => {
    const large = new InvalidArgumentError("x", {
      details: { text: "y".repeat(DETAILS_BYTES_MAX) },
    });
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    expect(refusalOf(large).details).toBeUndefined();
    expect(refusalOf(new InvalidArgumentError("x", { details: cyclic })).details).toBeUndefined();
  });

  it("has the number of its kind", () => {
    expect(statusOf(refusalOf(new InvalidArgumentError("x")))).toBe(400);
    expect(statusOf(refusalOf(new ConflictError("x")))).toBe(409);
    expect(statusOf(refusalOf(new IllegalStateError("x")))).toBe(409);
    expect(statusOf(refusalOf(new IllegalStateError("x", { retry: "backoff" })))).toBe(503);
    expect(statusOf(refusalOf(new TypeError("x")))).toBe(500);
  });
});

describe("a bounded wait", () => {
  const never = new Promise<number>(() => {});

  it("ends with the work or with its time", async () => {
    expect(await orNullWithin(Promise.resolve(7), 10_000)).toBe(7);
    expect(await orNullWithin(never, 1)).toBeNull();
    expect(await isDoneWithin(Promise.resolve(), 10_000)).toBe(true);
    expect(await isDoneWithin(never, 1)).toBe(false);
    await expect(isDoneWithin(Promise.reject(new TypeError("no")), 10_000)).rejects.toThrow("no");
  });
});

describe("a teardown", () => {
  it("takes down in reverse, whatever a step does", async () => {
    const order: string[] = [];
    const teardown = new Teardown();
    const error = new TypeError("no");
    teardown.add({ what: "first", close: () => void order.push("first") });
    teardown.add({ what: "slow", waitMs: 1, close: () => new Promise(() => {}) });
    teardown.add({
      what: "bad",
      close: () => {
        order.push("bad");
        throw error;
      },
    });
    expect(await teardown.run()).toEqual([
      { kind: "failed", what: "bad", error },
      { kind: "slow", what: "slow", waitMs: 1 },
    ]);
    expect(order).toEqual(["bad", "first"]);
    expect(await teardown.run()).toEqual([]);
  });

  it("takes down at once what is put up after it was run", async () => {
    const teardown = new Teardown();
    await teardown.run();
    let isClosed = false;
    teardown.add({
      what: "late",
      close: () => {
        isClosed = true;
      },
    });
    await Promise.resolve();
    expect(isClosed).toBe(true);
  });
});
