/**
 * The journal's append against a bare chained append through the same adapter, in one run, in turns.
 *
 * Measured: 300-byte bodies, window 256, process mode, newest server. Not measured: deciding, encoding of records.
 */
import { checksumOf, formatFrame, messageId } from "../actors/journal/frame.ts";
import { Journal } from "../actors/journal/journal.ts";
import type { Log } from "../actors/journal/log.ts";
import { WINDOW_MAX } from "../actors/journal/writer.ts";
import { systemClock } from "../infra/system/clock.ts";
import { systemIds } from "../infra/system/ids.ts";
import { BENCH_PREFIX, benchServer } from "./bench-runtime.ts";
import { type Benchmark, median } from "./measure.ts";

const MESSAGES = 40_000;
const ROUNDS = 5;

const body = new TextEncoder().encode(JSON.stringify({ text: "x".repeat(288) }));
const subject = `${BENCH_PREFIX}task.bench.bench`;

/** A chain of conditional publishes with a window, and nothing else. Resolves with messages a second. */
async function raw(log: Log): Promise<number> {
  const writer = systemIds().writerId();
  const { lastSequence } = await log.info();
  let acknowledged = 0;
  let sent = 0;
  let finish: (rate: number) => void = () => undefined;
  const done = new Promise<number>((resolve) => {
    finish = resolve;
  });
  const pump = () => {
    while (sent < MESSAGES && sent - acknowledged < WINDOW_MAX) {
      sent += 1;
      const frame = formatFrame({
        writer,
        index: sent,
        part: 1,
        parts: 1,
        checksum: checksumOf(body),
      });
      const chain = sent === 1 ? {} : { expectedLastId: messageId(writer, sent - 1) };
      const expectedLastSequence = lastSequence + sent - 1;
      appender.publish(
        { subject, id: messageId(writer, sent), frame, body, expectedLastSequence, ...chain },
        sent,
      );
    }
  };
  const appender = await log.openAppender({
    onAnswer: (_index, answer) => {
      if (answer.kind !== "stored") throw new Error(`not stored: ${JSON.stringify(answer)}`);
      acknowledged += 1;
      if (acknowledged === MESSAGES) finish(MESSAGES / ((performance.now() - startedAt) / 1_000));
      else pump();
    },
    onDisconnect: () => undefined,
  });
  const startedAt = performance.now();
  pump();
  const rate = await done;
  await appender.close();
  return rate;
}

/** The same messages as groups of one through the journal. */
async function journaled(log: Log): Promise<number> {
  const journal = await Journal.take(
    {
      log,
      clock: systemClock,
      ids: systemIds(),
      owner: "bench",
      durability: "process",
      fenceSubject: `${BENCH_PREFIX}dispatcher`,
      onEnd: (error) => {
        throw error;
      },
    },
    { fence: () => undefined, group: () => undefined, fault: () => undefined },
  );
  journal.open(null);
  const startedAt = performance.now();
  await new Promise<void>((resolve) => {
    let left = MESSAGES;
    const acknowledged = () => {
      left -= 1;
      if (left === 0) resolve();
    };
    for (let at = 0; at < MESSAGES; at += 1) journal.append([{ subject, body }], acknowledged);
  });
  const rate = MESSAGES / ((performance.now() - startedAt) / 1_000);
  await journal.close();
  return rate;
}

export const append: Benchmark = {
  name: "append",
  about: `${MESSAGES.toLocaleString("en")} chained messages of 300 bytes, bare and through the journal`,
  async run() {
    const bare: number[] = [];
    const through: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      // A log of its own each time: taking one reads all that was written before.
      await using server = await benchServer({ suite: "newest", durability: "process" });
      const log = await server.openLog();
      bare.push(await raw(log));
      await log.close();
      await using other = await benchServer({ suite: "newest", durability: "process" });
      const second = await other.openLog();
      through.push(await journaled(second));
      await second.close();
    }
    const share = median(through.map((rate, at) => rate / (bare[at] ?? Number.NaN)));
    return {
      "append.raw": { value: median(bare), unit: "messages/s" },
      "append.journal": { value: median(through), unit: "messages/s" },
      "append.share": { value: 100 * share, unit: "% of raw", budget: { atLeast: 80 } },
    };
  },
};
