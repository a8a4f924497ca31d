import { describe, expect, it } from "vitest";
import { Recent } from "../../../infra/verify/recent.ts";

describe("a bounded memory", () => {
  it("knows at least the last half of what it may keep, never more than all of it, and says when it forgot", () => {
    const recent = new Recent<number, string>(10);
    const known = (through: number): readonly number[] =>
      Array.from({ length: through + 1 }, (_, key) => key).filter(
        (key) => recent.get(key) !== undefined,
      );
    for (let key = 0; key < 100; key += 1) {
      recent.set(key, String(key));
      const keys = known(key);
      expect(keys.slice(-5)).toEqual(
        Array.from({ length: Math.min(5, key + 1) }, (_, at) => Math.max(0, key - 4) + at),
      );
      expect(keys.length).toBeLessThanOrEqual(10);
      expect(recent.hasForgotten).toBe(keys.length < key + 1);
    }
    recent.set(99, "anew");
    expect(recent.get(99)).toBe("anew");
  });
});
