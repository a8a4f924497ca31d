import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeBody } from "../../../../actors/journal/codec.ts";
import type { OutgoingMessage, StoredMessage } from "../../../../actors/journal/log.ts";
import {
  JournalReader,
  type ReaderState,
  type ReadFault,
  VOID_RUN_MAX,
} from "../../../../actors/journal/reader.ts";
import { readNaively } from "../rig/naive-reader.ts";
import { randomLogs } from "../rig/random-log.ts";
import {
  FENCE_SUBJECT,
  fence,
  fenceBody,
  junk,
  message,
  stored,
  writerNamed,
} from "../rig/records.ts";

const A = writerNamed("a");
const B = writerNamed("b");

/** A reader and all it told. */
class Reading {
  readonly reader: JournalReader;
  readonly groups: number[][] = [];
  readonly ends: number[] = [];
  readonly faults: ReadFault[] = [];
  readonly fences: {
    readonly at: number;
    readonly validThrough: number;
    readonly voided: number;
  }[] = [];

  constructor(messages: readonly StoredMessage[] = [], from?: ReaderState) {
    this.reader = new JournalReader(
      {
        fence: ({ position, validThrough, voided }) =>
          this.fences.push({ at: position, validThrough, voided }),
        fault: (fault) => this.faults.push(fault),
        group: (records, end) => {
          this.groups.push(records.map(({ position }) => position));
          this.ends.push(end);
        },
      },
      from,
    );
    for (const one of messages) this.reader.push(one);
  }

  positionsOf(kind: ReadFault["kind"]): number[] {
    return this.faults.filter((fault) => fault.kind === kind).map(({ position }) => position);
  }
}

const read = (...messages: readonly OutgoingMessage[]): Reading => new Reading(stored(messages));

/** A group of a writer whose first record has this index. */
const group = (writer: string, index: number, parts: number): OutgoingMessage[] =>
  Array.from({ length: parts }, (_, at) =>
    message({ writer, index: index + at, part: at + 1, parts }),
  );

const damaged = (given: OutgoingMessage): OutgoingMessage => ({
  ...given,
  body: new Uint8Array([1]),
});

describe("[ES-8] a group", () => {
  it("is told when its last record is read, with all of them in order", () => {
    const reading = read(fence(A), ...group(A, 1, 3), ...group(A, 4, 1));
    expect(reading.groups).toEqual([[2, 3, 4], [5]]);
    expect(reading.ends).toEqual([4, 5]);
  });

  it("that is not whole when a fence comes is void, and its size is told", () => {
    const reading = read(
      fence(A),
      ...group(A, 1, 1),
      ...group(A, 2, 3).slice(0, 2),
      fence(B, "resync"),
      ...group(B, 1, 2),
    );
    expect(reading.groups).toEqual([[2], [6, 7]]);
    expect(reading.fences).toEqual([
      { at: 1, validThrough: 0, voided: 0 },
      { at: 5, validThrough: 2, voided: 2 },
    ]);
    expect(reading.faults).toEqual([]);
  });

  it("that is not whole at the end of the log is not told: it may still become whole, or void", () => {
    const reading = read(fence(A), ...group(A, 1, 3).slice(0, 2));
    expect(reading.groups).toEqual([]);
    expect(reading.reader.state.validThrough).toBe(1);
    for (const one of stored([
      ...Array.from({ length: 3 }, () => junk("x")),
      ...group(A, 1, 3).slice(2),
    ]).slice(3))
      reading.reader.push(one);
    expect(reading.groups).toEqual([[2, 3, 4]]);
  });
});

describe("[ES-9] a record", () => {
  it("without a frame, of another writer, or of one that was fenced is void, and told by position", () => {
    const reading = read(
      junk("early"),
      fence(A),
      ...group(A, 1, 1),
      junk("foreign"),
      message({ writer: writerNamed("stranger"), index: 1 }),
      fence(B),
      ...group(A, 2, 1),
      ...group(B, 1, 1),
    );
    expect(reading.positionsOf("void")).toEqual([1, 4, 5, 7]);
    expect(reading.groups).toEqual([[3], [8]]);
    expect(reading.faults.map(({ reason }) => reason)).toEqual([
      "no frame of ours",
      "no frame of ours",
      expect.stringContaining("stranger"),
      expect.stringContaining("is not the owner"),
    ]);
  });

  it("whose body does not match is damaged: it keeps its place, and only it is missing", () => {
    const messages = [fence(A), ...group(A, 1, 3), ...group(A, 4, 1)];
    const reading = read(...messages.map((one, at) => (at === 2 ? damaged(one) : one)));
    expect(reading.groups).toEqual([[2, 4], [5]]);
    expect(reading.faults).toMatchObject([
      { kind: "damaged", position: 3, subject: messages[2]?.subject },
    ]);
    expect(reading.reader.halted).toBeNull();
  });

  it.each([
    ["of a newer version", encodeBody({ ...fenceBody(), v: 2 }), "version 2"],
    ["that is no JSON", new Uint8Array([255]), "not JSON"],
    ["that is a fence's, not at index 0", encodeBody(fenceBody()), "not at index 0"],
  ])("with a good frame over a body %s is damaged", (_, body, reason) => {
    const reading = read(fence(A), message({ writer: A, index: 1, body }), ...group(A, 2, 1));
    expect(reading.faults).toMatchObject([
      { kind: "damaged", position: 2, reason: expect.stringContaining(reason) },
    ]);
    expect(reading.groups).toEqual([[3]]);
  });

  it("damaged with all its group moves the end of what is valid, though nothing is left of it", () => {
    const reading = read(fence(A), ...group(A, 1, 2).map(damaged), fence(B));
    expect(reading.groups).toEqual([]);
    expect(reading.fences.at(-1)).toEqual({ at: 4, validThrough: 3, voided: 0 });
  });
});

describe("[ES-9] a reader halts", () => {
  const orphans = (count: number): OutgoingMessage[] =>
    Array.from({ length: count }, (_, at) => junk(`orphan.${at}`));

  it.each([
    [
      "at an index that does not follow",
      [...group(A, 1, 1), ...group(A, 3, 1)],
      3,
      "index 3 where 2",
    ],
    ["at an index that came before", [...group(A, 1, 1), ...group(A, 1, 1)], 3, "index 1 where 2"],
    [
      "at a group that begins in another",
      [...group(A, 1, 2).slice(0, 1), ...group(A, 2, 2)],
      3,
      "part 1/2",
    ],
    [
      "at a group that changes its size",
      [...group(A, 1, 2).slice(0, 1), message({ writer: A, index: 2, part: 2, parts: 3 })],
      3,
      "part 2/3",
    ],
    ["at a group that does not begin with its first part", group(A, 0, 3).slice(1), 2, "part 2/3"],
    ["at a fence that cannot be read", [damaged(fence(B))], 2, "a fence that cannot be read"],
    [
      "at a fence whose body is a record's",
      [message({ writer: B, index: 0, subject: FENCE_SUBJECT })],
      2,
      "a fence that cannot be read",
    ],
    [
      "at more void records than a window can leave",
      orphans(VOID_RUN_MAX + 1),
      VOID_RUN_MAX + 2,
      "void records in a row",
    ],
  ])("%s, by position, and reads nothing behind it", (_, messages, position, reason) => {
    const reading = read(fence(A), ...messages, fence(B), ...group(B, 1, 1));
    expect(reading.reader.halted).toEqual({ position, reason: expect.stringContaining(reason) });
    expect(reading.fences).toHaveLength(1);
    expect(reading.groups.flat().filter((place) => place >= position)).toEqual([]);
  });

  it("not at as many void records as a window can leave, nor at twice as many with a valid one or a fence between", () => {
    for (const between of [group(A, 1, 1), [fence(B)]]) {
      const reading = read(
        fence(A),
        ...orphans(VOID_RUN_MAX),
        ...between,
        ...orphans(VOID_RUN_MAX),
      );
      expect(reading.reader.halted).toBeNull();
      expect(reading.faults).toHaveLength(2 * VOID_RUN_MAX);
    }
  });
});

describe("any log", () => {
  it("[ES-9] is read as the naive reader reads it: the same groups, fences, faults and halt", () => {
    fc.assert(
      fc.property(randomLogs({ withHalts: true }), (log) => {
        const reading = new Reading(log);
        const naive = readNaively(log);
        const groups = naive.epochs.flatMap((epoch) => epoch.groups);
        const intact = groups.map(({ messages, damaged: bad }) =>
          messages.map(({ sequence }) => sequence).filter((place) => !bad.includes(place)),
        );
        expect(reading.groups).toEqual(intact.filter((places) => places.length > 0));
        expect(reading.fences.map(({ at }) => at)).toEqual(naive.epochs.map(({ fence: at }) => at));
        const closed = naive.epochs.slice(0, -1);
        expect(
          reading.fences.slice(1).map(({ validThrough, voided }) => [validThrough, voided]),
        ).toEqual(closed.map(({ validThrough, tornCount }) => [validThrough, tornCount]));
        expect(reading.reader.halted?.position ?? null).toBe(naive.haltedAt);
        const foreign = reading.positionsOf("void").filter((place) => place !== naive.haltedAt);
        expect(foreign).toEqual(naive.foreign);
        expect(reading.positionsOf("damaged")).toEqual(
          expect.arrayContaining(groups.flatMap(({ damaged: bad }) => bad)),
        );
      }),
      { numRuns: 500 },
    );
  });

  it("is read alike by a reader that is stopped anywhere and started again with its state", () => {
    fc.assert(
      fc.property(randomLogs({ withHalts: true }), fc.nat(), (log, place) => {
        const whole = new Reading(log);
        const cut = place % (log.length + 1);
        const first = new Reading(log.slice(0, cut));
        if (first.reader.halted !== null) return;
        const { state } = first.reader;
        const second = new Reading(log.slice(state.validThrough), state);
        expect([...first.groups, ...second.groups]).toEqual(whole.groups);
        expect([...first.fences, ...second.fences]).toEqual(whole.fences);
        expect(second.reader.halted).toEqual(whole.reader.halted);
        expect(second.reader.state).toEqual(whole.reader.state);
      }),
      { numRuns: 500 },
    );
  });
});
