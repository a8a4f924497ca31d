/**
 * The simulated store's faults: each does what it says and no more, and a seed repeats them.
 */
import { describe, expect, it } from "vitest";
import type { OutgoingMessage, PublishAnswer } from "../../../../actors/journal/log.ts";
import { SimulatedClock, SimulatedMachine } from "../../../../infra/simulated/clock.ts";
import {
  drawnFates,
  type Fate,
  NO_FAULTS,
  scriptedFates,
} from "../../../../infra/simulated/fates.ts";
import { SimulatedLog } from "../../../../infra/simulated/log.ts";
import { Random } from "../../../../infra/simulated/random.ts";
import { SimulatedStore } from "../../../../infra/simulated/store.ts";
import { junk, message, PREFIX, writerNamed } from "../rig/records.ts";

const W = writerNamed("w");

/** A client with one connection, and what came to it. */
class Rig {
  readonly machine: SimulatedMachine;
  readonly store: SimulatedStore;
  readonly clock: SimulatedClock;
  readonly log: SimulatedLog;
  readonly answers: {
    readonly index: number;
    readonly answer: PublishAnswer;
    readonly atMs: number;
  }[] = [];
  readonly disconnects: string[] = [];
  publish: (message: OutgoingMessage, index: number) => void = () => undefined;
  close: () => Promise<void> = () => Promise.resolve();

  private constructor(store: SimulatedStore) {
    this.machine = store.machine;
    this.store = store;
    this.clock = new SimulatedClock(store.machine);
    this.log = new SimulatedLog(store, this.clock);
  }

  static async start(seed?: number): Promise<Rig> {
    const random = seed === undefined ? {} : { random: new Random(seed) };
    const rig = new Rig(await SimulatedStore.start({ machine: new SimulatedMachine(), ...random }));
    await rig.connect();
    return rig;
  }

  async connect(): Promise<void> {
    const opening = this.log.openAppender({
      onAnswer: (index, answer) =>
        this.answers.push({ index, answer, atMs: this.machine.time.nowMs }),
      onDisconnect: (reason) => this.disconnects.push(reason),
    });
    await this.machine.time.advance(20);
    const appender = await opening;
    this.publish = (given, index) => appender.publish(given, index);
    this.close = () => appender.close();
  }

  /** Publishes records w.1 … w.count, chained from the log's beginning. */
  publishChain(count: number): void {
    for (let index = 1; index <= count; index += 1)
      this.publish({ ...message({ writer: W, index }), expectedLastSequence: index - 1 }, index);
  }

  get stored(): string[] {
    return this.store.messages.map(({ id }) => id.replace(W, "w"));
  }

  /** Each answer as its index and what it says. */
  get told(): string[] {
    return this.answers.map(({ index, answer }) => {
      const duplicate = answer.kind === "stored" && answer.isDuplicate ? " duplicate" : "";
      const what =
        answer.kind === "stored"
          ? `${answer.sequence}${duplicate}`
          : answer.kind === "refused"
            ? `${answer.code}`
            : "away";
      return `${index}: ${what}`;
    });
  }
}

describe("a fate", () => {
  it.each<readonly [string, Fate, readonly string[], readonly string[]]>([
    ["deliver", { kind: "deliver" }, ["w.1", "w.2", "w.3"], ["1: 1", "2: 2", "3: 3"]],
    ["lose", { kind: "lose" }, ["w.1"], ["1: 1", "3: 10071"]],
    ["loseAnswer", { kind: "loseAnswer" }, ["w.1", "w.2", "w.3"], ["1: 1", "3: 3"]],
    [
      "answerTwice",
      { kind: "answerTwice" },
      ["w.1", "w.2", "w.3"],
      ["1: 1", "2: 2", "2: 2", "3: 3"],
    ],
    [
      "arriveTwice",
      { kind: "arriveTwice" },
      ["w.1", "w.2", "w.3"],
      ["1: 1", "2: 2", "2: 10071", "3: 3"],
    ],
    ["claimDuplicate", { kind: "claimDuplicate" }, ["w.1"], ["1: 1", "2: 2 duplicate", "3: 10071"]],
    [
      "refuse",
      { kind: "refuse", code: 10023, description: "full" },
      ["w.1"],
      ["1: 1", "2: 10023", "3: 10071"],
    ],
    ["unavailable", { kind: "unavailable" }, ["w.1"], ["1: 1", "2: away", "3: 10071"]],
    [
      "displace",
      { kind: "displace", by: junk("rival.1") },
      ["w.1", "rival.1", "w.3"],
      ["1: 1", "2: 10071", "3: 3"],
    ],
    ["breakConnection, unstored", { kind: "breakConnection", isStored: false }, ["w.1"], []],
    ["breakConnection, stored", { kind: "breakConnection", isStored: true }, ["w.1", "w.2"], []],
  ])("%s", async (_, fate, stored, told) => {
    const rig = await Rig.start();
    rig.store.fateOf = scriptedFates([{ kind: "deliver" }, fate]);
    rig.publishChain(3);
    await rig.machine.time.advance(100);
    expect([rig.stored, rig.told]).toEqual([stored, told]);
    expect(rig.disconnects.length).toBe(fate.kind === "breakConnection" ? 1 : 0);
  });

  it("delayAnswer holds up the answers behind it, and no message", async () => {
    const rig = await Rig.start();
    rig.store.fateOf = scriptedFates([{ kind: "deliver" }, { kind: "delayAnswer", ms: 500 }]);
    rig.publishChain(3);
    await rig.machine.time.advance(100);
    expect([rig.stored.length, rig.told]).toEqual([3, ["1: 1"]]);
    await rig.machine.time.advance(500);
    expect(rig.told).toEqual(["1: 1", "2: 2", "3: 3"]);
  });

  it("delay holds up everything behind it, and lets it arrive soon when the connection is closed meanwhile", async () => {
    const rig = await Rig.start();
    rig.store.fateOf = scriptedFates([{ kind: "deliver" }, { kind: "delay", ms: 500 }]);
    rig.publishChain(3);
    await rig.machine.time.advance(400);
    expect([rig.stored, rig.told]).toEqual([["w.1"], ["1: 1"]]);
    await rig.close();
    await rig.machine.time.advance(2);
    expect([rig.stored, rig.told]).toEqual([["w.1", "w.2", "w.3"], ["1: 1"]]);
    expect(rig.store.clientCount).toBe(0);
  });

  it("is drawn as often as its rate says, the same from the same seed", async () => {
    const fates = (seed: number) => {
      const rates = { ...NO_FAULTS, lose: 0.1, refuse: 0.2 };
      const fateOf = drawnFates(new Random(seed), rates, () => junk("x"));
      return Array.from({ length: 5_000 }, () => fateOf(junk("y")).kind);
    };
    expect(fates(1)).toEqual(fates(1));
    expect(fates(1)).not.toEqual(fates(2));
    const count = (kind: string) => fates(1).filter((drawn) => drawn === kind).length;
    expect(count("lose") / 5_000).toBeCloseTo(0.1, 1);
    expect(count("refuse") / 5_000).toBeCloseTo(0.2, 1);
    expect(count("deliver") + count("lose") + count("refuse")).toBe(5_000);
  });
});

describe("the server", () => {
  it("that is full refuses, that is silent says nothing; both can be asked, and go on when it is over", async () => {
    const rig = await Rig.start();
    rig.store.isFull = true;
    rig.publish(junk("a.1"), 1);
    await rig.machine.time.advance(10);
    rig.store.isFull = false;
    rig.store.isSilent = true;
    rig.publish(junk("a.2"), 2);
    const asking = rig.log.info();
    await rig.machine.time.advance(10);
    expect((await asking).lastSequence).toBe(0);
    rig.store.isSilent = false;
    rig.publish(junk("a.3"), 3);
    await rig.machine.time.advance(10);
    expect([rig.told, rig.stored]).toEqual([["1: 10023", "3: 1"], ["a.3"]]);
  });

  it("that is deaf lets questions wait, and rejects them", async () => {
    const rig = await Rig.start();
    rig.store.isDeaf = true;
    const asking = rig.log.info();
    const refusal = expect(asking).rejects.toMatchObject({ code: "journal" });
    await rig.machine.time.advance(10_000);
    await refusal;
  });

  it.each([
    ["arrives", ["w.1", "w.2", "w.3"]],
    ["isLost", []],
  ] as const)("that dies answers nothing more; what was under way %s", async (underWay, stored) => {
    const rig = await Rig.start();
    rig.publishChain(3);
    rig.store.stop(underWay);
    await rig.machine.time.advance(100);
    expect([rig.stored, rig.told, rig.disconnects]).toEqual([stored, [], ["the server died"]]);
    const asking = expect(rig.log.info()).rejects.toMatchObject({ code: "journal" });
    await rig.machine.time.advance(100);
    await asking;
    rig.store.start();
    await rig.connect();
    rig.publish(junk("again.1"), 9);
    await rig.machine.time.advance(100);
    expect(rig.told).toEqual([`9: ${stored.length + 1}`]);
  });

  it("that dies between two halves of a read, or restarts, ends the read", async () => {
    const rig = await Rig.start();
    rig.publishChain(10);
    await rig.machine.time.advance(100);
    const seen: number[] = [];
    const reading = expect(
      rig.log.read({ from: 1 }, ({ sequence }) => seen.push(sequence)),
    ).rejects.toMatchObject({ code: "journal" });
    await rig.machine.time.runUntil(() => seen.length > 0, 100);
    rig.store.stop("isLost");
    rig.store.start();
    await rig.machine.time.advance(100);
    await reading;
    expect(seen).toEqual([1, 2, 3, 4, 5]);
  });

  it("that loses power loses the end of its stream, ids included, and keeps the rest as it was", async () => {
    const rig = await Rig.start();
    rig.publishChain(5);
    await rig.machine.time.advance(100);
    const before = rig.store.messages.slice(0, 3);
    await rig.store.cutPower(2);
    expect(rig.store.messages).toEqual(before);
    rig.store.start();
    await rig.connect();
    rig.publish({ ...message({ writer: W, index: 4 }), expectedLastId: `${W}.3` }, 4);
    await rig.machine.time.advance(100);
    expect(rig.told.at(-1)).toBe("4: 4");
  });
});

describe("a connection", () => {
  it("that is closed answers nothing, though what was under way arrives (A2, A3)", async () => {
    const rig = await Rig.start();
    rig.publishChain(3);
    await rig.close();
    rig.publish(junk("late.1"), 9);
    await rig.machine.time.advance(100);
    expect([rig.stored, rig.told, rig.disconnects]).toEqual([["w.1", "w.2", "w.3"], [], []]);
    expect(rig.store.clientCount).toBe(0);
  });

  it("of a process that is stopped is answered when it goes on, of a dead one never", async () => {
    const rig = await Rig.start();
    rig.publishChain(2);
    rig.clock.stop();
    await rig.machine.time.advance(100);
    expect([rig.stored.length, rig.told]).toEqual([2, []]);
    rig.clock.goOn();
    await rig.machine.time.advance(0);
    expect(rig.told).toEqual(["1: 1", "2: 2"]);
    rig.publish(junk("last.1"), 3);
    rig.clock.kill();
    rig.publish(junk("none.1"), 4);
    await rig.machine.time.advance(100);
    expect([rig.stored.at(-1), rig.told.length]).toEqual(["last.1", 2]);
  });

  it("keeps the order of messages and answers when latencies are drawn (A1)", async () => {
    const rig = await Rig.start(11);
    rig.publishChain(300);
    await rig.machine.time.advance(1_000);
    expect(rig.told).toEqual(Array.from({ length: 300 }, (_, at) => `${at + 1}: ${at + 1}`));
    const times = rig.answers.map(({ atMs }) => atMs);
    expect(new Set(times).size).toBeGreaterThan(2);
  });
});

describe("a follower", () => {
  it("sees what is stored as late as the store says", async () => {
    const rig = await Rig.start();
    rig.store.followLagMs = 1_000;
    const seen: string[] = [];
    const following = rig.log.follow(`${PREFIX}task.>`, ({ id }) => seen.push(id));
    await rig.machine.time.advance(10);
    await following;
    rig.store.storeForeign(junk("a"));
    await rig.machine.time.advance(999);
    expect(seen).toEqual([]);
    await rig.machine.time.advance(2);
    expect(seen).toEqual(["a"]);
  });

  it("sees each message once, in order, over restarts and a power cut (G3)", async () => {
    const rig = await Rig.start();
    const seen: string[] = [];
    const following = rig.log.follow(`${PREFIX}task.>`, ({ sequence, id }) =>
      seen.push(`${sequence} ${id}`),
    );
    await rig.machine.time.advance(10);
    const { stop } = await following;
    rig.store.storeForeign(junk("a"));
    await rig.machine.time.advance(10);
    rig.store.storeForeign(junk("b"));
    rig.store.stop("isLost");
    await rig.machine.time.advance(10);
    expect(seen).toEqual(["1 a"]);
    rig.store.start();
    rig.store.storeForeign(junk("c"));
    await rig.machine.time.advance(10);
    expect(seen).toEqual(["1 a", "2 b", "3 c"]);
    await rig.store.cutPower(2);
    rig.store.start();
    rig.store.storeForeign(junk("d"));
    await rig.machine.time.advance(10);
    expect(seen).toEqual(["1 a", "2 b", "3 c", "2 d"]);
    await stop();
    rig.store.storeForeign(junk("e"));
    await rig.machine.time.advance(10);
    expect(seen).toHaveLength(4);
  });
});
