/**
 * The Log contract, batches: several messages as one, where the store can.
 */
import { expect, it, type TestContext } from "vitest";
import type { LogAppender, OutgoingMessage, PublishAnswer } from "../../actors/journal/log.ts";
import type { CurrentFixture } from "./log-fixture.ts";
import { readAll } from "./log-fixture.ts";

const body = new TextEncoder().encode("{}");

/** One appender, with its answers as they come. */
async function open(fixture: CurrentFixture, context: TestContext) {
  const waiting: ((answer: PublishAnswer) => void)[] = [];
  const appender: LogAppender = await fixture().log.openAppender({
    onAnswer: (_index, answer) => waiting.shift()?.(answer),
    onDisconnect: () => undefined,
  });
  if (appender.batchMax === 0) {
    await appender.close();
    // A server older than 2.12 stores single messages only: there the journal sends singles.
    context.skip("this store takes no batches");
  }
  const answer = () => new Promise<PublishAnswer>((resolve) => waiting.push(resolve));
  const message = (index: number): OutgoingMessage => ({
    subject: `${fixture().prefix}.task.w.j${index % 3}`,
    id: `writer.${index}`,
    frame: `frame ${index}`,
    body,
  });
  return {
    appender,
    send: (indexes: readonly number[], expectedLastSequence: number) => {
      const [first = 0, ...others] = indexes;
      const messages = [{ ...message(first), expectedLastSequence }, ...others.map(message)];
      const answered = answer();
      appender.publishBatch(messages, indexes.at(-1) ?? 0);
      return answered;
    },
    single: (index: number, expected: Partial<OutgoingMessage>) => {
      const answered = answer();
      appender.publish({ ...message(index), ...expected }, index);
      return answered;
    },
  };
}

export function batches(fixture: CurrentFixture): void {
  it("stores all of one, in order, and answers once with the last one's sequence", async (context) => {
    const { appender, send } = await open(fixture, context);
    const answer = await send([1, 2, 3, 4, 5], 0);
    expect(answer).toEqual({ kind: "stored", sequence: 5, isDuplicate: false });
    const all = await readAll(fixture().log);
    expect(all.map(({ id }) => id)).toEqual([
      "writer.1",
      "writer.2",
      "writer.3",
      "writer.4",
      "writer.5",
    ]);
    expect(all.map(({ frame }) => frame)[4]).toBe("frame 5");
    await appender.close();
  });

  it("[ES-8] stores nothing of one whose expectation does not hold", async (context) => {
    const { appender, send } = await open(fixture, context);
    await send([1, 2], 0);
    expect(await send([3, 4, 5], 7)).toMatchObject({ kind: "refused", code: 10071 });
    expect((await fixture().log.info()).lastSequence).toBe(2);
    await appender.close();
  });

  it("takes a thousand, and leaves the chain to the last of them", async (context) => {
    const { appender, send, single } = await open(fixture, context);
    const indexes = Array.from({ length: appender.batchMax }, (_, at) => at + 1);
    expect(await send(indexes, 0)).toMatchObject({ kind: "stored", sequence: indexes.length });
    const next = indexes.length + 1;
    const wrong = await single(next, { expectedLastId: "writer.1" });
    expect(wrong).toMatchObject({ kind: "refused", code: 10070 });
    const right = await single(next, { expectedLastId: `writer.${indexes.length}` });
    expect(right).toMatchObject({ kind: "stored", sequence: next });
    await appender.close();
  });
}
