import { describe, expect, it } from "vitest";
import { Epochs, RETOLD_MAX } from "../../../../actors/journal/epochs.ts";

describe("an epoch", () => {
  it("holds what lies behind its fence and not behind its last whole group (E1)", () => {
    const epochs = new Epochs();
    epochs.begin("a", 10, 0);
    epochs.begin("b", 20, 15);
    const valid = (writer: string) =>
      Array.from({ length: 30 }, (_, at) => at).filter((at) => epochs.isValid(writer, at, 25));
    expect(valid("a")).toEqual([11, 12, 13, 14, 15]);
    expect(valid("b")).toEqual([21, 22, 23, 24, 25]);
    expect(valid("nobody")).toEqual([]);
  });

  it("that is open reaches as far as the caller says, a closed one does not (E2)", () => {
    const epochs = new Epochs();
    epochs.begin("a", 10, 0);
    expect(epochs.isValid("a", 14, 13)).toBe(false);
    expect(epochs.isValid("a", 14, 14)).toBe(true);
    epochs.begin("b", 20, 12);
    expect(epochs.isValid("a", 14, 99)).toBe(false);
  });

  it("that held no whole group holds nothing: it is valid through its own fence", () => {
    const epochs = new Epochs();
    epochs.begin("a", 10, 0);
    epochs.begin("b", 20, 10);
    expect([10, 11, 19].filter((at) => epochs.isValid("a", at, 99))).toEqual([]);
  });
});

describe("what an owner tells", () => {
  it("is every closed epoch with a record in it, until an event with it is folded (E3)", () => {
    const epochs = new Epochs();
    expect(epochs.toTell).toEqual([]);
    // As many as are told again anyway, and three more.
    const closed = Array.from({ length: RETOLD_MAX + 3 }, (_, at) => ({
      fence: 1 + 10 * at,
      validThrough: 5 + 10 * at,
    }));
    let last = 0;
    for (const { fence, validThrough } of closed) {
      epochs.begin(`w${fence}`, fence, last);
      last = validThrough;
    }
    epochs.begin("present", 10_000, last);
    expect(epochs.toTell).toEqual(closed);
    epochs.told(epochs.toTell);
    expect(epochs.toTell).toEqual(closed.slice(-RETOLD_MAX));
  });

  it("leaves out an epoch that held nothing: no reader asks for it", () => {
    const epochs = new Epochs();
    epochs.begin("a", 10, 0);
    epochs.begin("b", 20, 10);
    expect(epochs.toTell).toEqual([]);
  });
});
