import { describe, expect, it } from "vitest";
import { Epochs } from "../../../../actors/journal/epochs.ts";

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

describe("what was not told", () => {
  it("is every closed epoch, until an event with it is folded", () => {
    const epochs = new Epochs();
    expect(epochs.untold).toEqual([]);
    epochs.begin("a", 1, 0);
    epochs.begin("b", 20, 15);
    epochs.begin("c", 40, 30);
    const first = { fence: 1, validThrough: 15 };
    const second = { fence: 20, validThrough: 30 };
    expect(epochs.untold).toEqual([first, second]);
    epochs.told([first]);
    epochs.begin("d", 60, 50);
    expect(epochs.untold).toEqual([second, { fence: 40, validThrough: 50 }]);
    epochs.told(epochs.untold);
    expect(epochs.untold).toEqual([]);
  });
});
