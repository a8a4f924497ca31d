import { crc32 } from "node:zlib";
import fc from "fast-check";
import { expect, it } from "vitest";
import {
  checksumOf,
  type Frame,
  formatFrame,
  messageId,
  parseFrame,
} from "../../../../actors/journal/frame.ts";
import { writerNamed } from "../rig/records.ts";

const writers = fc.stringMatching(/^[A-Za-z0-9_-]{22}$/);
const frames: fc.Arbitrary<Frame> = fc
  .record({
    writer: writers,
    index: fc.integer({ min: 0, max: 999_999_999_999_999 }),
    places: fc.tuple(fc.integer({ min: 1, max: 999_999_999 }), fc.nat(999_999_998)),
    checksum: fc.stringMatching(/^[0-9a-f]{8}$/),
  })
  .map(({ writer, index, places: [part, more], checksum }) => ({
    writer,
    index,
    part,
    parts: Math.min(part + more, 999_999_999),
    checksum,
  }));

it("reads back every frame that it writes", () => {
  fc.assert(
    fc.property(frames, (frame) => {
      expect(parseFrame(formatFrame(frame))).toEqual(frame);
    }),
  );
});

it("writes a frame as one short line without white space at its ends, as a header value must be", () => {
  fc.assert(
    fc.property(frames, (frame) => {
      const line = formatFrame(frame);
      expect(line).toMatch(/^\S.*\S$/);
      expect(line.length).toBeLessThan(80);
    }),
  );
});

it("gives null for what is no frame, and never throws", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: "binary" })), (line) => {
      expect(parseFrame(line)).toBeNull();
    }),
  );
});

it("gives null for a frame in which one character is missing or added", () => {
  const line = formatFrame({
    writer: writerNamed("w"),
    index: 7,
    part: 1,
    parts: 1,
    checksum: "00c0ffee",
  });
  for (let at = 0; at < line.length; at += 1) {
    // The index alone may lose or gain a digit and still be one.
    if (line[at] === "7") continue;
    expect([at, parseFrame(line.slice(0, at) + line.slice(at + 1))]).toEqual([at, null]);
    expect([at, parseFrame(`${line.slice(0, at)} ${line.slice(at)}`)]).toEqual([at, null]);
  }
});

it.each([
  ["an unknown version", "2 WWWWWWWWWWWWWWWWWWWWWW 1 1/1 00000000"],
  ["part 0", "1 WWWWWWWWWWWWWWWWWWWWWW 1 0/1 00000000"],
  ["a part behind the last", "1 WWWWWWWWWWWWWWWWWWWWWW 1 2/1 00000000"],
  ["a negative index", "1 WWWWWWWWWWWWWWWWWWWWWW -1 1/1 00000000"],
  ["an index that is no safe integer", "1 WWWWWWWWWWWWWWWWWWWWWW 9999999999999999 1/1 00000000"],
  ["a short writer", "1 WWWWWWWWWWWWWWWWWWWWW 1 1/1 00000000"],
  ["a checksum in capitals", "1 WWWWWWWWWWWWWWWWWWWWWW 1 1/1 0000000A"],
  ["a second line", "1 WWWWWWWWWWWWWWWWWWWWWW 1 1/1 00000000\n"],
])("gives null for %s", (_, line) => {
  expect(parseFrame(line)).toBeNull();
});

it("has a checksum that is CRC-32 in eight digits, and changes with every byte", () => {
  expect(checksumOf(new TextEncoder().encode("123456789"))).toBe("cbf43926");
  expect(checksumOf(new Uint8Array(0))).toBe("00000000");
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1 }),
      fc.nat(),
      fc.integer({ min: 1, max: 255 }),
      (body, at, flip) => {
        const checksum = checksumOf(body);
        expect(checksum).toMatch(/^[0-9a-f]{8}$/);
        expect(Number.parseInt(checksum, 16)).toBe(crc32(body));
        const place = at % body.length;
        const damaged = body.map((byte, index) => (index === place ? byte ^ flip : byte));
        expect(checksumOf(damaged)).not.toBe(checksum);
      },
    ),
  );
});

it("has ids that differ whenever writer or index do", () => {
  fc.assert(
    fc.property(writers, fc.nat(), writers, fc.nat(), (one, index, other, place) => {
      const isSame = one === other && index === place;
      expect(messageId(one, index) === messageId(other, place)).toBe(isSame);
    }),
  );
});
