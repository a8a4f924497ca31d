/**
 * How a settled handle's end is told as data.
 */
import { describe, expect, it } from "vitest";

import { JobCancelledError, JobTimeoutError } from "../../../actors/errors.ts";
import { outcomeOf } from "../../../infra/api/handlers/submit.ts";
import { flush, TestRuntime } from "../../support/runtime.ts";
import { Workshop } from "../../support/workshop.ts";

const settled = async (end: (shop: Workshop, test: TestRuntime) => Promise<unknown> | unknown) => {
  const shop = new Workshop();
  const test = await TestRuntime.start({ definitions: shop.all });
  const options = { id: "a", timeoutMs: 1_000 };
  const handle = await test.runtime.submit(shop.safe, { label: "a" }, options);
  await flush();
  await end(shop, test);
  await flush();
  if (handle.settlement === null) throw new Error("it has not ended");
  return outcomeOf(handle.settlement);
};

describe("an outcome", () => {
  it("[API-1, ID-5] is how the job ended, whatever error its code threw", async () => {
    const cancelled = new JobCancelledError("the child was cancelled");
    expect(await settled((shop) => shop.fail("a", cancelled))).toMatchObject({
      kind: "failed",
      error: { code: "job_cancelled" },
    });
    const late = new JobTimeoutError("the child ran past its timeout");
    expect(await settled((shop) => shop.fail("a", late))).toMatchObject({ kind: "failed" });
  });

  it("[API-1, ID-5] is a cancellation or a timeout where the job had one", async () => {
    const cancel = async (shop: Workshop, test: TestRuntime) => {
      await test.runtime.cancel("a", "enough", "ada");
      shop.fail("a");
    };
    expect(await settled(cancel)).toMatchObject({
      kind: "cancelled",
      error: { code: "job_cancelled" },
    });
    expect(await settled((_, test) => test.advance(1_500))).toMatchObject({
      kind: "timed_out",
      error: { code: "job_timeout" },
    });
  });
});
