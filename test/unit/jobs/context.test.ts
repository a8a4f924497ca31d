/**
 * The context of a job: callbacks, ends, and which job the code that runs right now belongs to.
 */
import { EventEmitter } from "node:events";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Cancellation, CancellationSignal } from "../../../actors/attempt/cancellation.ts";
import { defineDoer, defineTool } from "../../../actors/attempt/definition.ts";
import { SystemError } from "../../../actors/errors.ts";
import { worldOf } from "../../../actors/runtime/runtime.ts";
import { assertLiveIsFold } from "../../support/fold.ts";
import { afterTimer } from "../../support/platform-timer.ts";
import { codeOf, failureOf, flush, standingOf, TestRuntime } from "../../support/runtime.ts";
import { Workshop } from "../../support/workshop.ts";

describe("callbacks of a cancellation", () => {
  const begin = () => {
    const faults: unknown[] = [];
    const seen: string[] = [];
    const cancellation = new Cancellation((error) => faults.push(error));
    return { cancellation, seen, faults, see: (what: string) => () => void seen.push(what) };
  };

  it("[CTX-2] run once at the signal, in the order of their registration; a second signal runs nothing", () => {
    const { cancellation, seen, see } = begin();
    cancellation.onCancel(see("a"));
    cancellation.onCancel(see("b"));
    cancellation.onTimeout(see("t"));
    cancellation.raise("enough", false);
    cancellation.raise("again", false);
    expect(seen).toEqual(["a", "b"]);
    expect(cancellation.reason).toBe("enough");
  });

  it("[CTX-2] run at once when registered after the fact", () => {
    const { cancellation, seen, see } = begin();
    cancellation.raise("late", true);
    cancellation.onCancel(see("cancel"));
    cancellation.onTimeout(see("timeout"));
    expect(seen).toEqual(["cancel", "timeout"]);
  });

  it("[CTX-2] registered while they fire run exactly once", () => {
    const { cancellation, seen, see } = begin();
    cancellation.onTimeout(() => {
      cancellation.onTimeout(see("timeout in timeout"));
      cancellation.onCancel(see("cancel in timeout"));
    });
    cancellation.onCancel(() => {
      cancellation.onCancel(see("cancel in cancel"));
      cancellation.onTimeout(see("timeout in cancel"));
    });
    cancellation.raise("enough", true);
    cancellation.raise("again", true);
    expect(seen.sort()).toEqual([
      "cancel in cancel",
      "cancel in timeout",
      "timeout in cancel",
      "timeout in timeout",
    ]);
  });

  it("[CTX-2] that throw are complained of, and stop no other", () => {
    const { cancellation, seen, see, faults } = begin();
    cancellation.onCancel(() => {
      throw new Error("mine");
    });
    cancellation.onCancel(see("other"));
    cancellation.raise("enough", false);
    expect(seen).toEqual(["other"]);
    expect(faults.map(codeOf)).toEqual(["Error: mine"]);
  });

  it("[CTX-2] of a timeout are dropped after the end", () => {
    const { cancellation, seen, see } = begin();
    cancellation.onTimeout(see("before"));
    cancellation.close();
    cancellation.onTimeout(see("after"));
    cancellation.raise("late", true);
    expect(seen).toEqual([]);
  });

  it("[CTX-2] a timeout after a cancel runs the timeout's alone", () => {
    const { cancellation, seen, see } = begin();
    cancellation.onCancel(see("cancel"));
    cancellation.onTimeout(see("timeout"));
    cancellation.raise("enough", false);
    cancellation.raise("it ran past its timeout", true);
    expect(seen).toEqual(["cancel", "timeout"]);
    expect([cancellation.reason, cancellation.hasTimedOut]).toEqual(["enough", true]);
  });

  it("[CTX-2, CAN-2] the abort signal carries the cancellation, before and after it", () => {
    for (const order of ["looked before", "looked after"]) {
      const { cancellation } = begin();
      const before = order === "looked before" ? cancellation.signal : null;
      cancellation.raise("enough", false);
      const signal = before ?? cancellation.signal;
      expect(signal.aborted).toBe(true);
      expect(signal.reason).toBeInstanceOf(CancellationSignal);
      expect(signal.reason.message).toContain("enough");
    }
  });

  it("[CTX-2] that a job's code registers are told of to people when they throw, and the job goes on", async () => {
    const shop = new Workshop();
    const test = await TestRuntime.start({ definitions: shop.all });
    const handle = await test.runtime.submit(shop.safe, { label: "a" }, { id: "a" });
    await flush();
    shop.context("a").onCancel(() => {
      throw new Error("mine");
    });
    await handle.cancel("enough");
    expect(test.faults()).toMatchObject([{ kind: "fault", job: "a" }]);
    shop.end("a");
    expect((await failureOf(handle)).code).toBe("job_cancelled");
  });
});

describe("the current job", () => {
  /** Every way in which code of a job goes on later, each of which must still know the job. */
  async function wander(
    current: () => string | null,
    emitter: EventEmitter,
  ): Promise<readonly (string | null)[]> {
    const seen: (string | null)[] = [current()];
    await Promise.resolve();
    seen.push(current());
    await new Promise<void>((resolve) => setImmediate(resolve));
    seen.push(current());
    await afterTimer();
    seen.push(current());
    process.nextTick(() => seen.push(current()));
    queueMicrotask(() => seen.push(current()));
    await flush();
    const own = new EventEmitter();
    own.on("hop", () => seen.push(current()));
    own.emit("hop");
    // A listener runs as whoever emits: this one is woken by every job, and says who woke it.
    emitter.emit("hop", current());
    const chunks = Readable.from(["a", "b", "c"]);
    await pipeline(chunks, async (source) => {
      for await (const _ of source) seen.push(current());
    });
    const hops = [flush(), afterTimer(), Promise.resolve()];
    seen.push(...(await Promise.all(hops.map((hop) => hop.then(current)))));
    return seen;
  }

  it("[CTX-6] is each job's own through awaits, timers, emitters, streams and Promise.all, in 100 interleaved jobs", async () => {
    const emitter = new EventEmitter();
    const emitted: boolean[] = [];
    const tool = defineTool({
      type: "wander",
      input: z.null(),
      output: z.boolean(),
      run: async ({ id }) => {
        const seen = await wander(() => test.runtime.currentJob()?.id ?? null, emitter);
        expect(seen).toHaveLength(13);
        return seen.every((each) => each === id);
      },
    });
    const doer = defineDoer({
      type: "lead",
      input: z.null(),
      output: z.array(z.boolean()),
      run: async (context) => {
        context.nextStep();
        const children = await Promise.all(
          Array.from({ length: 19 }, (_, at) =>
            context.submitInCurrentStep(tool, null, { key: String(at) }),
          ),
        );
        const results = await Promise.all(children.map((child) => child.result()));
        const seen = await wander(() => test.runtime.currentJob()?.id ?? null, emitter);
        return [...results, seen.every((each) => each === context.id)];
      },
    });
    const test = await TestRuntime.start({ definitions: [tool, doer] });
    emitter.on("hop", (from) => {
      emitted.push(test.runtime.currentJob()?.id === from);
    });
    const roots = await Promise.all(
      Array.from({ length: 5 }, () => test.runtime.submit(doer, null)),
    );
    expect(test.runtime.currentJob()).toBeNull();
    const results = (await Promise.all(roots.map((root) => root.result()))).flat();
    expect(results).toEqual(Array(100).fill(true));
    expect(emitted).toEqual(Array(100).fill(true));
    expect(test.runtime.currentJob()).toBeNull();
  });

  it("[CTX-6] is nobody's outside any job: in a notice, in an answer, after a submit", async () => {
    const shop = new Workshop();
    const test = await TestRuntime.start({ definitions: shop.all });
    const seen: unknown[] = [];
    const handle = await test.runtime.submit(shop.safe, { label: "a" });
    await flush();
    void handle.result().then(() => seen.push(test.runtime.currentJob()));
    const dependent = await test.runtime.submit(shop.quick, { label: "b" }, { after: [handle] });
    shop.end("a");
    await dependent.result();
    seen.push(test.runtime.currentJob());
    expect(seen).toEqual([null, null]);
  });

  it("[CTX-6] of a child that its parent started is the child, and of the parent's code after it the parent", async () => {
    const shop = new Workshop();
    const test = await TestRuntime.start({ definitions: shop.all });
    const seen: Record<string, unknown> = {};
    shop.answer("child", () => {
      seen["child"] = test.runtime.currentJob()?.id;
      return null;
    });
    shop.plan("root", async (context) => {
      const child = await context.submitInStep(shop.quick, { label: "child" });
      seen["between"] = test.runtime.currentJob()?.id;
      await child.result();
      seen["after"] = test.runtime.currentJob()?.id;
      return child.id;
    });
    const root = await test.runtime.submit(shop.doer, { label: "root" }, { id: "r" });
    const child = await root.result();
    expect(seen).toEqual({ child, between: "r", after: "r" });
  });
});

describe("a job's end", () => {
  it("[CTX-5] is its only one, whatever its code still does", async () => {
    const shop = new Workshop();
    const test = await TestRuntime.start({ definitions: shop.all });
    const handle = await test.runtime.submit(shop.safe, { label: "a" }, { id: "a" });
    await flush();
    const cells = worldOf(test.runtime).cells.task("a");
    if (cells === undefined) throw new Error("it is live");
    shop.end("a", 1);
    await flush();
    const { length } = test.log.messages;
    for (const event of [
      { type: "job.failed", attempt: 1, failure: { code: "system", message: "x", retry: "never" } },
      { type: "job.cancelRequested", reason: "x", by: "ada" },
      { type: "job.completed", attempt: 1, result: 2 },
      { type: "job.timeoutReached", attempt: 1, graceUntil: 1 },
      { type: "job.started", attempt: 2, timeoutAt: null },
    ] as const)
      expect(worldOf(test.runtime).runTurn("test", (turn) => turn.apply(cells.job, event))).toBe(
        false,
      );
    expect(test.log.messages).toHaveLength(length);
    expect(standingOf(handle)).toBe("completed 1");
  });

  it("[ATT-7] is told last: who is woken by it finds the job out of the running set, and asks for it in the journal", async () => {
    const shop = new Workshop();
    const test = await TestRuntime.start({ definitions: shop.all });
    const handle = await test.runtime.submit(shop.safe, { label: "a" }, { id: "a" });
    await flush();
    const woken = handle.result().then(() => {
      const { liveJobs, runningJobs } = test.runtime.health();
      return { liveJobs, runningJobs, isLive: worldOf(test.runtime).cells.task("a") !== undefined };
    });
    shop.end("a");
    expect(await woken).toEqual({ liveJobs: 0, runningJobs: 0, isLive: false });
  });
});

describe("what a job throws", () => {
  class Teapot extends Error {
    readonly code = "not_found";
  }
  const proxied = new Proxy(new Error("p"), {
    get: () => {
      throw new Error("no");
    },
  });
  const thrown: readonly (readonly [string, unknown, string])[] = [
    ["an error", new RangeError("no page"), "RangeError: no page"],
    ["nothing", undefined, "undefined"],
    ["a text", "oh no", "oh no"],
    ["a symbol", Symbol("s"), "s"],
    ["an object without a prototype", Object.create(null), ""],
    ["an error that cannot be looked at", proxied, ""],
    ["an error of another library with a code like ours", new Teapot("short and stout"), "short"],
    ["an error in a cycle", cyclic(), "round"],
    ["an error of any length", new Error("x".repeat(100_000)), "xxx"],
    [
      "details that are no JSON",
      new SystemError("x", { details: { big: 1n } }),
      "cannot be recorded",
    ],
    [
      "details too large for the log",
      new SystemError("x", { details: { x: "x".repeat(300_000) } }),
      "bytes",
    ],
  ];

  it.each(thrown)(
    "[RR-5] is recorded and ends it, whatever it is: %s",
    async (_name, value, says) => {
      const shop = new Workshop();
      const test = await TestRuntime.start({ definitions: shop.all });
      const handle = await test.runtime.submit(shop.safe, { label: "a" }, { id: "a" });
      await flush();
      shop.fail("a", value);
      const failure = await failureOf(handle);
      expect(failure.message).toContain(says);
      expect(failure.message.length).toBeLessThan(3_000);
      expect(test.stateOf("a")).toBeNull();
      expect(test.states("a").at(-1)).toBe("failed");
      expect(test.runtime.health().runningJobs).toBe(0);
      await test.restart();
      const again = await test.runtime.find("a");
      expect(again && (await failureOf(again)).message).toBe(failure.message);
    },
  );

  it("[ES-2] is for its dependents, live, what the log gives back: dates are texts, and nothing is undefined", async () => {
    const shop = new Workshop();
    const test = await TestRuntime.start({ definitions: shop.all });
    const a = await test.runtime.submit(shop.safe, { label: "a" });
    const held = await test.runtime.submit(shop.safe, { label: "held" });
    const options = { id: "d", after: [a, held], toleratesFailures: true };
    await test.runtime.submit(shop.safe, { label: "d" }, options);
    await flush();
    const details = { at: new Date(0), nothing: undefined, not: Number.NaN, list: [undefined] };
    shop.fail("a", new SystemError("no", { details, cause: new SystemError("why", { details }) }));
    await flush();
    const plain = { at: "1970-01-01T00:00:00.000Z", not: null, list: [null] };
    const { failure } = test.contextOf("d").settled[a.id] ?? {};
    expect(failure?.cause?.details).toStrictEqual(plain);
    assertLiveIsFold(test.runtime, test.log.messages);
  });

  function cyclic(): Error {
    const error = new Error("round and round");
    error.cause = error;
    return error;
  }
});
