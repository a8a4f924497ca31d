/**
 * Batches: many waiting groups as one publication that is stored whole or not at all.
 */
import { describe, expect, it } from "vitest";
import { JournalWriter, SINGLES_MAX } from "../../../../actors/journal/writer.ts";
import { markedGroup, writerNamed } from "../rig/records.ts";

const WRITER = writerNamed("first");
const NEXT = writerNamed("next");
const FENCE = 10;
const BATCH_MAX = 1_000;

function begun(groups: number, parts = 1) {
  const writer = new JournalWriter();
  const called: number[] = [];
  writer.begin(WRITER, FENCE);
  for (let group = 0; group < groups; group += 1) {
    const scopes = Array.from({ length: parts }, (_, at) => `task.w.j${at}`);
    writer.stage(markedGroup(`g${group}`, scopes), () => called.push(group));
  }
  return { writer, called };
}

const stored = (sequence: number) => ({ kind: "stored", sequence, isDuplicate: false }) as const;

describe("a batch (W5)", () => {
  it("holds all that waits, chained by position at its first message and by nothing else", () => {
    const { writer } = begun(SINGLES_MAX + 4);
    const batch = writer.nextBatch(BATCH_MAX);
    expect(batch?.lastIndex).toBe(SINGLES_MAX + 4);
    expect(batch?.messages.map(({ expectedLastSequence }) => expectedLastSequence)).toEqual([
      FENCE,
      ...Array.from({ length: SINGLES_MAX + 3 }, () => undefined),
    ]);
    expect(batch?.messages.every(({ expectedLastId }) => expectedLastId === undefined)).toBe(true);
    expect(batch?.messages.map(({ id }) => id)).toEqual(
      Array.from({ length: SINGLES_MAX + 4 }, (_, at) => `${WRITER}.${at + 1}`),
    );
  });

  it("acknowledges everything in it, in order, by the one answer to its last message", () => {
    const { writer, called } = begun(20, 2);
    const batch = writer.nextBatch(BATCH_MAX);
    writer.answer(batch?.lastIndex ?? 0, stored(FENCE + 40));
    expect(called).toEqual(Array.from({ length: 20 }, (_, at) => at));
    expect(writer.acknowledgedPosition).toBe(FENCE + 40);
  });

  it("is alone in flight: no single beside it, and it waits for singles that are", () => {
    const { writer } = begun(20);
    expect(writer.next()).not.toBeNull();
    expect(writer.nextBatch(BATCH_MAX)).toBeNull();
    writer.answer(1, stored(FENCE + 1));
    expect(writer.nextBatch(BATCH_MAX)?.lastIndex).toBe(20);
    expect(writer.next()).toBeNull();
    expect(writer.nextBatch(BATCH_MAX)).toBeNull();
  });

  it("is followed by a single that is chained to its last message", () => {
    const { writer } = begun(3);
    writer.nextBatch(BATCH_MAX);
    writer.answer(3, stored(FENCE + 3));
    writer.stage(markedGroup("later", ["task.w.j"]), () => undefined);
    expect(writer.next()?.message).toMatchObject({
      id: `${WRITER}.4`,
      expectedLastSequence: FENCE + 3,
      expectedLastId: `${WRITER}.3`,
    });
  });

  it("is no larger than the store takes, and than can be answered in time", () => {
    expect(begun(30).writer.nextBatch(25)?.messages).toHaveLength(25);
    const large = new JournalWriter();
    large.begin(WRITER, FENCE);
    for (let at = 0; at < 60; at += 1) {
      large.stage([{ subject: "task.w.j", body: new Uint8Array(256 * 1024) }], () => undefined);
    }
    expect(large.nextBatch(BATCH_MAX)?.messages.length).toBe(32);
  });

  it("that is refused, or stored elsewhere, poisons, and acknowledges nothing", () => {
    for (const answer of [
      { kind: "refused", code: 10071, description: "wrong last sequence" } as const,
      stored(FENCE + 7),
    ]) {
      const { writer, called } = begun(5);
      writer.nextBatch(BATCH_MAX);
      writer.answer(5, answer);
      expect(writer.poison).not.toBeNull();
      expect(called).toEqual([]);
      expect(writer.next()).toBeNull();
    }
  });

  it("is sent again under the next fence, when the log has nothing of it", () => {
    const { writer, called } = begun(5);
    writer.nextBatch(BATCH_MAX);
    writer.poisonWith("no answer");
    writer.begin(NEXT, 30);
    const again = writer.nextBatch(BATCH_MAX);
    expect(again?.messages[0]).toMatchObject({ id: `${NEXT}.1`, expectedLastSequence: 30 });
    writer.answer(5, stored(35));
    expect(called).toEqual([0, 1, 2, 3, 4]);
  });

  it("is not sent again when a resync found it in the log", () => {
    const { writer, called } = begun(5);
    writer.nextBatch(BATCH_MAX);
    writer.poisonWith("no answer");
    writer.confirmBelow(6);
    expect(called).toEqual([0, 1, 2, 3, 4]);
    writer.begin(NEXT, 30);
    expect(writer.nextBatch(BATCH_MAX)).toBeNull();
    expect(writer.next()).toBeNull();
  });
});
