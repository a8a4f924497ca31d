import type { Msg, Subscription } from "nats";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { StoredMessage } from "../../../actors/journal/log.ts";
import { partitionNames } from "../../../infra/jetstream/names.ts";
import {
  FRUITLESS_MAX,
  readStream,
  type Transport,
} from "../../../infra/jetstream/reading/read.ts";
import { range, sequencesOf } from "../../contract/log-fixture.ts";
import { deliveryReply, type MadeMessage, makeMessage } from "./made-message.ts";

const names = partitionNames({ namespace: "t", partition: 0, generation: 1 });

interface Consumer {
  readonly from: number;
  /** Delivers one message. */
  deliver(sequence: number, delivered: number, pending: number): void;
  /** Says something that is no message. */
  say(message: MadeMessage): void;
}

/** The server of these tests: `play` is asked for each consumer that is created, and says how many it announces. */
class PlayedServer implements Transport {
  readonly hasFilterList = true;
  readonly isConnected = true;
  readonly published: string[] = [];
  readonly created: number[] = [];
  readonly #play: (consumer: Consumer, count: number) => number;
  #receive: (message: Msg) => void = () => undefined;

  constructor(play: (consumer: Consumer, count: number) => number) {
    this.#play = play;
  }

  inbox(): string {
    return "inbox";
  }

  onInterruption(): () => void {
    return () => undefined;
  }

  publish(subject: string): void {
    this.published.push(subject);
  }

  subscribe(_: string, onMessage: (message: Msg) => void): Subscription {
    this.#receive = onMessage;
    // A test double: a read only ends its subscription.
    return { unsubscribe: () => undefined } as unknown as Subscription;
  }

  request(subject: string, payload: string): Promise<Msg> {
    if (!subject.startsWith("$JS.API.CONSUMER.CREATE")) return this.#answer({ success: true });
    const { config } = JSON.parse(payload) as { config: { opt_start_seq: number } }; // Written by the code under test.
    this.created.push(config.opt_start_seq);
    const receive = this.#receive;
    const subjectOf = `${names.prefix}.task.a.1`;
    const announced = this.#play(
      {
        from: config.opt_start_seq,
        deliver: (sequence, delivered, pending) =>
          receive(
            makeMessage({ subject: subjectOf, reply: deliveryReply(sequence, delivered, pending) }),
          ),
        say: (made) => receive(makeMessage(made)),
      },
      this.created.length,
    );
    return this.#answer({ name: "c", num_pending: announced, delivered: { consumer_seq: 0 } });
  }

  #answer(value: unknown): Promise<Msg> {
    return Promise.resolve(makeMessage({ data: Buffer.from(JSON.stringify(value)) }));
  }
}

const heartbeat = (delivered: number, stalled?: string): MadeMessage => ({
  status: { code: 100, description: "Idle Heartbeat" },
  headers: {
    "Nats-Last-Consumer": String(delivered),
    ...(stalled === undefined ? {} : { "Nats-Consumer-Stalled": stalled }),
  },
});

async function read(server: PlayedServer, through: number): Promise<readonly number[]> {
  const messages: StoredMessage[] = [];
  await readStream(server, names, { from: 1, through }, (message) => messages.push(message));
  return sequencesOf(messages);
}

/** A server that delivers all there is from where it is asked. */
const deliverFrom = (consumer: Consumer, last: number): number => {
  for (const at of range(consumer.from, last))
    consumer.deliver(at, at - consumer.from + 1, last - at);
  return last - consumer.from + 1;
};

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("ends at once when the consumer announces nothing", async () => {
  const server = new PlayedServer(() => 0);
  expect(await read(server, 10)).toEqual([]);
  expect(server.created).toEqual([1]);
});

it("goes on behind the last message when one is missing in the consumer's count", async () => {
  const server = new PlayedServer((consumer, count) => {
    if (count > 1) return deliverFrom(consumer, 6);
    consumer.deliver(1, 1, 5);
    consumer.deliver(2, 2, 4);
    consumer.deliver(4, 4, 2);
    consumer.deliver(5, 5, 1);
    return 6;
  });
  expect(await read(server, 6)).toEqual(range(1, 6));
  expect(server.created).toEqual([1, 3]);
});

it("goes on when a heartbeat tells of a message that did not come", async () => {
  const server = new PlayedServer((consumer, count) => {
    if (count > 1) return deliverFrom(consumer, 3);
    consumer.deliver(1, 1, 2);
    consumer.say(heartbeat(2));
    return 3;
  });
  expect(await read(server, 3)).toEqual([1, 2, 3]);
  expect(server.created).toEqual([1, 2]);
});

it("does not believe that nothing is pending before all that was announced has come", async () => {
  const server = new PlayedServer((consumer, count) => {
    if (count > 1) return deliverFrom(consumer, 3);
    consumer.deliver(1, 1, 0);
    return 3;
  });
  expect(await read(server, 3)).toEqual([1, 2, 3]);
});

it("ends where nothing is left before the end of the stretch", async () => {
  const server = new PlayedServer((consumer) => deliverFrom(consumer, 3));
  expect(await read(server, 9)).toEqual([1, 2, 3]);
  expect(server.created).toEqual([1]);
});

it("asks another consumer when one is idle before its end", async () => {
  const server = new PlayedServer((consumer, count) => {
    if (count > 1) return 0;
    consumer.deliver(1, 1, 1);
    consumer.say(heartbeat(1));
    consumer.say(heartbeat(1));
    return 2;
  });
  expect(await read(server, 9)).toEqual([1]);
  expect(server.created).toEqual([1, 2]);
});

it("answers flow control, and a consumer that stalls because an answer was lost", async () => {
  let responses = 0;
  const server = new PlayedServer((consumer) => {
    consumer.deliver(1, 1, 1);
    consumer.say({
      reply: "$JS.FC.S.c.x",
      status: { code: 100, description: "FlowControl Request" },
      respond: () => {
        responses += 1;
        return true;
      },
    });
    consumer.say(heartbeat(1, "$JS.FC.S.c.y"));
    consumer.deliver(2, 2, 0);
    return 2;
  });
  expect(await read(server, 2)).toEqual([1, 2]);
  expect([responses, server.published]).toEqual([1, ["$JS.FC.S.c.y"]]);
});

it("never hangs: silence ends the attempt, and a few such attempts end the read", async () => {
  const server = new PlayedServer(() => 5);
  const reading = read(server, 5);
  const refusal = expect(reading).rejects.toMatchObject({
    code: "journal",
    retry: "backoff",
    details: { outcome: "refused", lastSequence: 0 },
  });
  await vi.advanceTimersByTimeAsync(3_000 * FRUITLESS_MAX);
  await refusal;
  expect(server.created).toEqual(Array.from({ length: FRUITLESS_MAX }, () => 1));
});

it("counts attempts without a message only: any progress begins the count anew", async () => {
  const server = new PlayedServer((consumer, count) => {
    if (count % 2 === 1) return 9;
    consumer.deliver(consumer.from, 1, 9 - consumer.from);
    return 10 - consumer.from;
  });
  const reading = read(server, 9);
  await vi.advanceTimersByTimeAsync(3_000 * 20);
  expect(await reading).toEqual(range(1, 9));
});

it("does not visit a message behind the stretch", async () => {
  const server = new PlayedServer((consumer) => {
    consumer.deliver(1, 1, 2);
    consumer.deliver(7, 2, 1);
    return 3;
  });
  expect(await read(server, 5)).toEqual([1]);
});
