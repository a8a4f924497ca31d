/** The configuration text: what stands in it for which version and durability. */
import { describe, expect, it } from "vitest";
import type { Durability } from "../../../actors/journal/codec.ts";
import { parseVersion } from "../../../infra/nats-server/binary/version.ts";
import {
  configurationFingerprint,
  configurationText,
  readTemplate,
  type ServerSettings,
} from "../../../infra/nats-server/configuration.ts";

function settings(text: string, changes: Partial<ServerSettings> = {}): ServerSettings {
  const version = parseVersion(text);
  if (version === null) throw new Error(`no version in ${text}`);
  return {
    version,
    durability: "process",
    port: 4321,
    storeParent: "/data/nats",
    logFile: "/data/nats/server.log",
    fileBytesMax: 123_456_789,
    passwords: { daemon: "pd", service: "ps", operator: "po", observer: "pv" },
    ...changes,
  };
}

/** The lines that the server reads. */
const effective = (text: string): readonly string[] =>
  text
    .split("\n")
    .map((line) => line.replace(/#.*$/, "").trim())
    .filter((line) => line !== "");

const textFor = (version: string, durability: Durability): readonly string[] =>
  effective(configurationText(readTemplate(), settings(version, { durability })));

describe("[N3] by version and durability", () => {
  it.each([
    ["2.9.10", "process", false, false],
    ["2.10.0", "process", false, true],
    ["2.12.0", "process", false, true],
    ["2.12.0", "fsync", true, true],
    ["2.15.1", "fsync", true, true],
  ] as const)("%s with %s", (version, durability, syncsAlways, boundsLogs) => {
    const lines = textFor(version, durability);
    expect(lines.includes("sync_interval: always")).toBe(syncsAlways);
    expect(lines.some((line) => line.startsWith("logfile_max_num"))).toBe(boundsLogs);
  });

  it("no mark is left in what the server reads", () => {
    expect(textFor("2.15.1", "fsync").join("\n")).not.toContain("#@");
  });

  it("a mark in a comment means nothing", () => {
    const template = `# see \`#@ since 9.9.9\`\n${readTemplate()}`;
    expect(configurationText(template, settings("2.15.1"))).toContain("see `#@ since 9.9.9`");
  });

  it("a mark that names no version is a fault of the installation", () => {
    const template = `${readTemplate()}\nx: 1 #@ since soon\n`;
    expect(() => configurationText(template, settings("2.15.1"))).toThrow(/names no version/);
  });
});

describe("[N2] values", () => {
  it("are filled in, and nothing is left to the environment", () => {
    const lines = textFor("2.15.1", "process");
    expect(lines).toContain('HF_HOST: "127.0.0.1"');
    expect(lines).toContain("HF_PORT: 4321");
    expect(lines).toContain('HF_STORE: "/data/nats"');
    expect(lines).toContain("HF_FILE_MAX: 123456789");
    expect(lines).toContain('HF_DAEMON_PASSWORD: "pd"');
    expect(lines.join("\n")).not.toContain("$HOLDFAST_");
  });

  it("a template that lacks one is a fault of the installation", () => {
    const template = readTemplate().replace(/^HF_FILE_MAX:.*$/m, "");
    expect(() => configurationText(template, settings("2.15.1"))).toThrow(/HF_FILE_MAX/);
  });

  it("a template that has one more is too", () => {
    const template = `${readTemplate()}\nHF_SURPRISE: 1\n`;
    expect(() => configurationText(template, settings("2.15.1"))).toThrow(/HF_SURPRISE/);
  });

  it("a path with quotes and backslashes stays one text", () => {
    const text = configurationText(
      readTemplate(),
      settings("2.15.1", { storeParent: '/a"b\\c $HOME' }),
    );
    expect(text).toContain('HF_STORE: "/a\\"b\\\\c $HOME"');
  });

  it("a path with a line break is refused", () => {
    expect(() =>
      configurationText(readTemplate(), settings("2.15.1", { storeParent: "/a\nport: 1" })),
    ).toThrow(/control character/);
  });
});

describe("fingerprint", () => {
  const fingerprint = (changes: Partial<ServerSettings>) =>
    configurationFingerprint(readTemplate(), settings("2.15.1", changes));

  it("is the same on another port", () => {
    expect(fingerprint({ port: 1 })).toBe(fingerprint({ port: 2 }));
  });

  it.each<[string, Partial<ServerSettings>]>([
    ["durability", { durability: "fsync" }],
    ["size limit", { fileBytesMax: 1 }],
    ["a password", { passwords: { daemon: "x", service: "ps", operator: "po", observer: "pv" } }],
    ["the folder", { storeParent: "/elsewhere" }],
  ])("is another with another %s", (_what, changes) => {
    expect(fingerprint(changes)).not.toBe(fingerprint({}));
  });
});

describe("who may do what", () => {
  const block = (role: string): string => {
    const match = new RegExp(`^HF_${role}: \\{$([\\s\\S]*?)^\\}$`, "m").exec(readTemplate());
    return match?.[1] ?? "";
  };

  it.each(["SERVICE", "OPERATOR", "OBSERVER"])(
    "%s may publish neither to JetStream nor into the journal",
    (role) => {
      expect(block(role)).toMatch(/publish/);
      expect(block(role)).not.toMatch(/\$JS|\$KV|evt|"hf\.>"|"hf\.\*\.>"|">"/);
    },
  );

  it("nobody's answers may go wherever a request says", () => {
    expect(effective(readTemplate()).join("\n")).not.toContain("allow_responses");
  });
});
