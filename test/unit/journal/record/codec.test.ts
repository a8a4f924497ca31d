import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  BODY_VERSION,
  decodeBody,
  encodeBody,
  type RecordBody,
  type Transition,
} from "../../../../actors/journal/codec.ts";
import { fenceBody } from "../rig/records.ts";

const encoder = new TextEncoder();
const bytesOf = (value: unknown): Uint8Array => encoder.encode(JSON.stringify(value));

/** JSON has no negative zero. */
const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)));
const optional = <Value>(key: string, values: fc.Arbitrary<Value>) =>
  fc.option(values, { nil: null }).map((value) => (value === null ? {} : { [key]: value }));

const transitions: fc.Arbitrary<Transition> = fc
  .tuple(
    fc.record({
      actor: fc.string({ unit: "binary" }),
      sequence: fc.nat(),
      from: fc.string(),
      to: fc.string(),
      event: fc.record({ type: fc.string(), payload: json }),
    }),
    optional("v", fc.integer({ min: 2, max: 9 })),
    optional("reason", fc.string({ unit: "binary" })),
    optional("evidence", fc.dictionary(fc.string(), json)),
    optional("effects", fc.array(fc.string())),
  )
  .map(([move, ...rest]) => Object.assign(move, ...rest));

const records: fc.Arbitrary<RecordBody> = fc.record({
  v: fc.constant(BODY_VERSION),
  at: fc.nat(),
  t: fc.nat(),
  cause: fc.string(),
  correlation: fc.string({ unit: "grapheme" }),
  transitions: fc.array(transitions),
});

const good: RecordBody = {
  v: 1,
  at: 1,
  t: 2,
  cause: "command:1",
  correlation: "w",
  transitions: [{ actor: "job:a", sequence: 1, event: { type: "x" }, from: "a", to: "b" }],
};
const withTransition = (change: Record<string, unknown>): unknown => ({
  ...good,
  transitions: [{ ...good.transitions[0], ...change }],
});

describe("a record", () => {
  it("[ES-5] is read as it was written: version, times, cause, correlation, every transition (K1)", () => {
    fc.assert(
      fc.property(records, (body) => {
        expect(decodeBody(encodeBody(body))).toEqual({ kind: "record", body });
      }),
      { numRuns: 500 },
    );
  });

  it("keeps its bytes whatever is written after it", () => {
    const bodies = Array.from({ length: 3_000 }, (_, at) => ({
      ...good,
      cause: `${at}${"ä€🦄".repeat(at % 90)}`,
    }));
    const written = bodies.map(encodeBody);
    expect(written.map(decodeBody)).toEqual(bodies.map((body) => ({ kind: "record", body })));
  });

  it.each(["take", "resync"] as const)("is told from a fence: %s", (kind) => {
    const body = fenceBody(kind, "process");
    expect(decodeBody(encodeBody(body))).toEqual({ kind: "fence", body });
  });
});

describe("[ES-6] what cannot be read", () => {
  it.each([
    ["at", "times"],
    ["t", "times"],
    ["v", "version"],
    ["sequence", "transition"],
  ])("is a number that JSON has and nobody can count with: %s", (field, reason) => {
    for (const number of ["1e999", "-1e999"]) {
      const text = JSON.stringify(good).replace(
        new RegExp(`"${field}":\\d+`),
        `"${field}":${number}`,
      );
      expect(text).toContain(number);
      expect(decodeBody(encoder.encode(text))).toEqual({
        kind: "unreadable",
        reason: expect.stringContaining(reason),
      });
    }
  });

  it("is said so, whatever the bytes, and nothing is thrown (K2)", () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array(), json.map(bytesOf)), (bytes) => {
        const decoded = decodeBody(bytes);
        expect(decoded.kind).toBe("unreadable");
        expect(decoded).toHaveProperty("reason", expect.stringMatching(/./));
      }),
      { numRuns: 1_000 },
    );
  });

  it("is what a record becomes when any of its bytes is cut off its end", () => {
    const bytes = encodeBody(good);
    for (let length = 0; length < bytes.length; length += 1)
      expect(decodeBody(bytes.subarray(0, length)).kind).toBe("unreadable");
  });

  it.each([
    ["a newer version", { ...good, v: BODY_VERSION + 1 }, "version 2"],
    ["no version", { ...good, v: undefined }, "version undefined"],
    ["a version that is no number", { ...good, v: "1" }, "version 1"],
    ["neither transitions nor a fence", { v: 1, at: 0, t: 0 }, "neither"],
    ["a time that is none", { ...good, t: "soon" }, "times"],
    ["a wall time that is none", { ...good, at: null }, "times"],
    ["no cause", { ...good, cause: undefined }, "cause"],
    ["no correlation", { ...good, correlation: 7 }, "correlation"],
    ["a transition that is null", { ...good, transitions: [null] }, "transition"],
    ["a transition that is a list", { ...good, transitions: [[]] }, "transition"],
    ["no actor", withTransition({ actor: undefined }), "transition"],
    ["a sequence that is no integer", withTransition({ sequence: 1.5 }), "transition"],
    ["no event", withTransition({ event: null }), "transition"],
    ["an event without a type", withTransition({ event: {} }), "transition"],
    ["no state to go to", withTransition({ to: null }), "transition"],
    ["an event's version that is none", withTransition({ v: "2" }), "transition"],
  ])("is told with its reason: %s", (_, value, reason) => {
    expect(decodeBody(bytesOf(value))).toEqual({
      kind: "unreadable",
      reason: expect.stringContaining(reason),
    });
  });
});
