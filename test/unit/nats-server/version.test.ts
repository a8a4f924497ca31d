/** Versions: what is read, how they are ordered, what each can do. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  capabilitiesOf,
  compareVersions,
  faultOfVersion,
  formatVersion,
  parseVersion,
  type ServerVersion,
} from "../../../infra/nats-server/binary/version.ts";

const parsed = (text: string): ServerVersion => {
  const version = parseVersion(text);
  if (version === null) throw new Error(`no version in ${text}`);
  return version;
};

describe("parsing", () => {
  it.each([
    ["nats-server: v2.9.10\n", "2.9.10"],
    ["nats-server: v2.15.1", "2.15.1"],
    ["2.12.3", "2.12.3"],
    ["v2.12.0-RC.1", "2.12.0-RC.1"],
    ["nats-server: v2.15.0-dev", "2.15.0-dev"],
  ])("%j is version %s", (text, version) => {
    expect(formatVersion(parsed(text))).toBe(version);
  });

  it.each(["", "nats-server", "v2.9", "GNU bash, version unknown", "v2.9.1.4", "1234567.0.0"])(
    "%j names no version",
    (text) => {
      expect(parseVersion(text)).toBeNull();
    },
  );

  it("what is written is read back", () => {
    const number = fc.integer({ min: 0, max: 999_999 });
    fc.assert(
      fc.property(number, number, number, fc.constantFrom("", "dev", "RC.1"), (...parts) => {
        const [major, minor, patch, preRelease] = parts;
        const version = { major, minor, patch, preRelease };
        expect(parseVersion(`nats-server: v${formatVersion(version)}`)).toEqual(version);
      }),
    );
  });
});

describe("ordering", () => {
  it("goes by number, not by letter, and puts a pre-release before its release", () => {
    const sorted = ["2.9.10", "2.10.0", "2.12.0-RC.1", "2.12.0-dev", "2.12.0", "2.12.10", "3.0.0"];
    const versions = sorted.map(parsed);
    expect([...versions].reverse().sort(compareVersions).map(formatVersion)).toEqual(sorted);
  });

  it("calls equal what is equal", () => {
    expect(compareVersions(parsed("2.12.3"), parsed("v2.12.3"))).toBe(0);
  });
});

describe("capabilities", () => {
  it.each([
    ["2.9.10", false, false, false],
    ["2.10.0", true, false, false],
    ["2.11.9", true, false, false],
    ["2.12.0-RC.1", true, false, false],
    ["2.12.0", true, true, false],
    ["2.12.3", true, true, true],
    ["2.15.1", true, true, true],
  ])("of %s", (text, hasSyncInterval, hasAtomicBatch, isRecommended) => {
    expect(capabilitiesOf(parsed(text))).toEqual({
      hasSyncInterval,
      hasAtomicBatch,
      isRecommended,
    });
  });
});

describe("what a durability needs", () => {
  it.each(["2.9.10", "2.10.27", "2.11.9", "2.12.0-RC.1"])("%s is too old for fsync", (text) => {
    const fault = faultOfVersion(parsed(text), "fsync");
    expect(fault).toContain(text);
    expect(fault).toContain("2.12.0");
    expect(fault).toContain("newer server");
    expect(fault).toContain("--durability process");
  });

  it.each(["2.9.10", "2.12.0", "2.15.1"])("%s will do for process", (text) => {
    expect(faultOfVersion(parsed(text), "process")).toBeNull();
  });

  it("2.12.0 will do for fsync", () => {
    expect(faultOfVersion(parsed("2.12.0"), "fsync")).toBeNull();
  });

  it.each(["fsync", "process"] as const)("below the floor nothing will do for %s", (durability) => {
    const fault = faultOfVersion(parsed("2.9.9"), durability);
    expect(fault).toContain("2.9.9");
    expect(fault).toContain("2.9.10");
  });
});
