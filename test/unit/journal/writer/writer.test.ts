import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import type { OutgoingMessage, PublishAnswer } from "../../../../actors/journal/log.ts";
import { JournalWriter, WINDOW_MAX } from "../../../../actors/journal/writer.ts";
import { readNaively } from "../rig/naive-reader.ts";
import { fence, markedGroup, PREFIX, stored, writerNamed } from "../rig/records.ts";

const WRITER = writerNamed("first");
const NEXT = writerNamed("next");
const FENCE = 10;

/** A writer that has begun at FENCE, with what its callbacks said. */
class Rig {
  readonly writer = new JournalWriter();
  readonly called: string[] = [];

  constructor() {
    this.writer.begin(WRITER, FENCE);
  }

  stage(group: string, parts = 1): void {
    const scopes = Array.from({ length: parts }, (_, at) => `task.w.j${at}`);
    this.writer.stage(markedGroup(group, scopes), () => this.called.push(group));
  }

  barrier(name: string): void {
    this.writer.barrier(() => this.called.push(name));
  }

  /** Everything that may be published now. */
  publish(): { readonly index: number; readonly message: OutgoingMessage }[] {
    const published: { index: number; message: OutgoingMessage }[] = [];
    for (let next = this.writer.next(); next !== null; next = this.writer.next())
      published.push(next);
    return published;
  }

  /** Answers messages as stored where they were expected. */
  store(...indexes: readonly number[]): void {
    for (const index of indexes) this.writer.answer(index, storedAt(FENCE + index));
  }
}

const storedAt = (sequence: number, isDuplicate = false): PublishAnswer => ({
  kind: "stored",
  sequence,
  isDuplicate,
});
const refused: PublishAnswer = { kind: "refused", code: 10071, description: "wrong last sequence" };

describe("a publish", () => {
  it("is expected behind its predecessor, by position and by id, from the fence on (W1)", () => {
    const rig = new Rig();
    rig.stage("a", 2);
    rig.stage("b");
    const chain = rig
      .publish()
      .map(({ message }) => [
        message.id,
        message.expectedLastSequence,
        message.expectedLastId,
        message.frame.split(" ").slice(1, 4).join(" "),
      ]);
    expect(chain).toEqual([
      [`${WRITER}.1`, 10, `${WRITER}.0`, `${WRITER} 1 1/2`],
      [`${WRITER}.2`, 11, `${WRITER}.1`, `${WRITER} 2 2/2`],
      [`${WRITER}.3`, 12, `${WRITER}.2`, `${WRITER} 3 1/1`],
    ]);
  });

  it("waits for a fence, and for something to publish", () => {
    const writer = new JournalWriter();
    writer.stage(markedGroup("a", ["task.w.j"]), () => undefined);
    expect(writer.next()).toBeNull();
    writer.begin(WRITER, FENCE);
    expect(writer.next()?.index).toBe(1);
    expect(writer.next()).toBeNull();
  });

  it("waits when as many as the window holds are in flight, and goes on with each acknowledgement", () => {
    const rig = new Rig();
    for (let at = 0; at < WINDOW_MAX + 5; at += 1) rig.stage(`g${at}`);
    expect(rig.publish()).toHaveLength(WINDOW_MAX);
    rig.store(2);
    expect(rig.publish()).toEqual([]);
    rig.store(1);
    expect(rig.publish().map(({ index }) => index)).toEqual([WINDOW_MAX + 1, WINDOW_MAX + 2]);
    expect(rig.writer.inFlightCount).toBe(WINDOW_MAX);
  });

  it("makes a group that readers take for whole", () => {
    const rig = new Rig();
    for (const [at, parts] of [1, 3, 2].entries()) rig.stage(`g${at}`, parts);
    const log = stored([fence(WRITER), ...rig.publish().map(({ message }) => message)]);
    const { epochs, haltedAt, void: voided } = readNaively(log);
    expect(epochs[0]?.groups.map(({ messages }) => messages.length)).toEqual([1, 3, 2]);
    expect([haltedAt, voided]).toEqual([null, []]);
  });
});

describe("an acknowledgement", () => {
  it("runs a group's callback with its last message and all before it, in order, once (W3)", () => {
    const rig = new Rig();
    rig.stage("a", 2);
    rig.stage("b");
    rig.stage("c", 2);
    rig.publish();
    rig.store(3);
    rig.store(2);
    expect(rig.called).toEqual([]);
    rig.store(1);
    expect(rig.called).toEqual(["a", "b"]);
    rig.store(1, 2, 3, 4);
    expect(rig.called).toEqual(["a", "b"]);
    rig.store(5);
    expect(rig.called).toEqual(["a", "b", "c"]);
    expect([rig.writer.acknowledgedPosition, rig.writer.pendingCount]).toEqual([FENCE + 5, 0]);
  });

  it("of what was not published is none", () => {
    const rig = new Rig();
    rig.stage("a");
    rig.store(1);
    expect([rig.called, rig.writer.poison]).toEqual([[], null]);
    rig.publish();
    rig.store(2, 0, -1);
    rig.writer.answer(7, refused);
    expect([rig.called, rig.writer.poison]).toEqual([[], null]);
  });

  it("counts bytes until a group is whole", () => {
    const rig = new Rig();
    const group = markedGroup("a", ["task.w.a", "task.w.b"]);
    const bytes = group.reduce((sum, { body }) => sum + body.length, 0);
    rig.writer.stage(group, () => undefined);
    rig.publish();
    rig.store(1);
    expect(rig.writer.pendingBytes).toBe(bytes);
    rig.store(2);
    expect(rig.writer.pendingBytes).toBe(0);
  });

  it("lets a barrier run behind what was staged before it (W3)", () => {
    const rig = new Rig();
    rig.barrier("first");
    rig.stage("a");
    rig.barrier("second");
    rig.stage("b");
    rig.publish();
    expect(rig.called).toEqual(["first"]);
    rig.store(1);
    expect(rig.called).toEqual(["first", "a", "second"]);
  });

  it("lets a barrier that a callback sets run behind the others of that group", () => {
    const rig = new Rig();
    const group = markedGroup("a", ["task.w.j"]);
    rig.writer.stage(group, () => {
      rig.called.push("a");
      rig.barrier("set by a");
    });
    rig.barrier("older");
    rig.publish();
    rig.store(1);
    expect(rig.called).toEqual(["a", "older", "set by a"]);
    rig.barrier("later");
    expect(rig.called.at(-1)).toBe("later");
  });
});

describe("poison", () => {
  it.each([
    ["a refusal", refused, { code: 10071 }],
    ["nobody there", { kind: "unavailable", description: "no stream" } as const, { code: null }],
    ["another position", storedAt(FENCE + 3), { reason: expect.stringContaining("not at 12") }],
    ["a duplicate", storedAt(FENCE + 2, true), { reason: expect.stringContaining("duplicate") }],
  ])("is %s: nothing more is published, nothing behind it counts (W2, W4)", (_, answer, poison) => {
    const rig = new Rig();
    for (const group of ["a", "b", "c", "d"]) rig.stage(group);
    rig.publish();
    rig.store(3);
    rig.writer.answer(2, answer);
    expect(rig.writer.poison).toMatchObject(poison);
    rig.stage("e");
    expect(rig.writer.next()).toBeNull();
    // What came before it and is answered later still counts.
    rig.store(1, 4);
    expect(rig.called).toEqual(["a"]);
    expect(rig.writer.firstIncomplete).toEqual({ position: FENCE + 2, index: 2 });
  });

  it("keeps its first reason, whatever is answered or found out later", () => {
    const rig = new Rig();
    rig.stage("a");
    rig.stage("b");
    rig.publish();
    rig.writer.answer(2, refused);
    rig.writer.poisonWith("silence");
    rig.writer.answer(1, { kind: "unavailable", description: "away" });
    expect(rig.writer.poison).toEqual({ reason: "wrong last sequence", code: 10071 });
  });

  it("ends with a new fence: all from the first group that is not whole is sent again, renumbered (W4)", () => {
    const rig = new Rig();
    rig.stage("a");
    rig.stage("b", 3);
    rig.stage("c");
    rig.publish();
    rig.store(1, 2, 3);
    rig.writer.poisonWith("the connection broke");
    expect(rig.writer.firstIncomplete).toEqual({ position: FENCE + 2, index: 2 });
    rig.writer.begin(NEXT, 30);
    expect([rig.writer.poison, rig.writer.pendingCount]).toEqual([null, 4]);
    const again = rig.publish();
    expect(again.map(({ message }) => [message.id, message.expectedLastSequence])).toEqual([
      [`${NEXT}.1`, 30],
      [`${NEXT}.2`, 31],
      [`${NEXT}.3`, 32],
      [`${NEXT}.4`, 33],
    ]);
    expect(again[0]?.message.expectedLastId).toBe(`${NEXT}.0`);
    // Answers to the old numbers are answers to nothing.
    rig.store(1, 2, 3, 4);
    expect(rig.writer.poison).not.toBeNull();
  });

  it("sends again what was acknowledged of a group of which the log has lost the rest", () => {
    const rig = new Rig();
    rig.stage("a", 3);
    rig.publish();
    rig.store(1, 2);
    rig.writer.begin(NEXT, 20);
    expect(rig.publish().map(({ message }) => message.frame.split(" ")[3])).toEqual([
      "1/3",
      "2/3",
      "3/3",
    ]);
    for (const index of [1, 2, 3]) rig.writer.answer(index, storedAt(20 + index));
    expect(rig.called).toEqual(["a"]);
  });
});

describe("what a resync finds in the log", () => {
  it("is acknowledged without an answer, and not sent again", () => {
    const rig = new Rig();
    for (const group of ["a", "b", "c"]) rig.stage(group, 2);
    rig.publish();
    rig.writer.poisonWith("silence");
    rig.writer.confirmBelow(5);
    expect(rig.called).toEqual(["a", "b"]);
    rig.writer.begin(NEXT, 20);
    expect(rig.publish()).toHaveLength(2);
  });

  it("ends there: an answer that came out of order does not outweigh what the log has lost since", () => {
    const rig = new Rig();
    for (const group of ["a", "b", "c"]) rig.stage(group);
    rig.publish();
    rig.store(2, 3);
    rig.writer.poisonWith("the power failed");
    rig.writer.confirmBelow(2);
    expect(rig.called).toEqual(["a"]);
    rig.writer.begin(NEXT, 20);
    expect(rig.publish()).toHaveLength(2);
  });

  it("cannot be more than was staged", () => {
    const rig = new Rig();
    rig.stage("a");
    rig.publish();
    expect(() => rig.writer.confirmBelow(3)).toThrow("W2");
  });
});

describe("a long life", () => {
  it.each([4_000, 4_050, 4_090])(
    "keeps the parts of a group that is not whole, while it lets go the %i messages before it",
    (before) => {
      const rig = new Rig();
      for (let at = 0; at < before; at += 1) rig.stage(`g${at}`);
      // Long enough that the letting go, at whichever count it comes, comes within it.
      rig.stage("last", 150);
      for (let index = 1; index <= before + 149; index += 1) {
        rig.publish();
        rig.store(index);
      }
      expect(rig.writer.firstIncomplete.index).toBe(before + 1);
      expect(rig.writer.pendingCount).toBe(1);
      rig.writer.begin(NEXT, 90_000);
      expect(rig.writer.pendingCount).toBe(150);
      expect(rig.publish().map(({ message }) => message.frame.split(" ")[3])).toEqual(
        Array.from({ length: 150 }, (_, at) => `${at + 1}/150`),
      );
      expect(rig.called).toHaveLength(before);
    },
  );

  it("holds no large bodies that are acknowledged, idle or not", async () => {
    setFlagsFromString("--expose-gc");
    const collect: () => void = runInNewContext("gc");
    const rig = new Rig();
    const bodies: WeakRef<Uint8Array>[] = [];
    const stageLarge = (): void => {
      const body = new Uint8Array(262_144);
      bodies.push(new WeakRef(body));
      rig.writer.stage([{ subject: `${PREFIX}task.w.j`, body }], () => undefined);
    };
    const held = async (): Promise<number> => {
      await new Promise((resolve) => setImmediate(resolve)); // What was looked at in this turn is held until its end.
      collect();
      return bodies.filter((body) => body.deref() !== undefined).length;
    };
    stageLarge();
    for (let index = 1; index <= 200; index += 1) {
      stageLarge();
      rig.publish();
      rig.store(index);
    }
    // One is pending; of what is acknowledged at most 16 MiB are held.
    expect(await held()).toBeLessThanOrEqual(1 + 64);
    rig.store(201);
    expect(await held()).toBe(0);
  });
});
