/**
 * `holdfast verify`: which log is meant, what is told, with which exit code.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parseLine } from "../../../infra/cli/line/arguments.ts";
import { UsageError } from "../../../infra/cli/line/usage-error.ts";
import { Output } from "../../../infra/cli/output.ts";
import { widthOf } from "../../../infra/cli/text.ts";
import { verify } from "../../../infra/cli/verbs/verify.ts";
import { acquireLock } from "../../../infra/nats-server/exclusive-lock.ts";
import { exportLog } from "../../../infra/verify/log-file.ts";
import { logPath } from "../../compat/golden.ts";
import { forged, inserted, junk, type Messages } from "../../compat/planting.ts";
import { copyLog } from "../../support/runtime.ts";
import { good } from "./rig/good-logs.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-verify-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function fileOf(messages: Messages, name: string): Promise<string> {
  const path = join(folder, `${name}.log.jsonl`);
  await exportLog(await copyLog(messages), path);
  return path;
}

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function run(...words: readonly string[]): Promise<Ran> {
  const told = { stdout: "", stderr: "" };
  const streamTo = (name: "stdout" | "stderr") => ({
    write: (text: string) => {
      told[name] += text;
    },
  });
  const output = new Output({
    isJson: words.includes("--json"),
    stdout: streamTo("stdout"),
    stderr: streamTo("stderr"),
    environment: {},
  });
  const line = parseLine(["verify", ...words], [verify]);
  if (line.kind !== "verb") throw new Error("no verb");
  const { values } = line;
  const code = await verify.run({
    output,
    environment: {},
    words: line.words,
    text: (option) => values.get(option)?.[0],
    texts: (option) => values.get(option) ?? [],
    has: (option) => values.has(option),
  });
  return { code, ...told };
}

const json = (ran: Ran): Record<string, unknown> =>
  JSON.parse(ran.stdout) as Record<string, unknown>;

describe("[ES-9] holdfast verify --file", () => {
  it("of a clean log says so, and exits 0", async () => {
    const ran = await run("--file", await fileOf(good, "good"));
    expect(ran.code).toBe(0);
    expect(ran.stderr).toBe("");
    expect(ran.stdout).toMatch(/^verdict +clean$/m);
    expect(ran.stdout).toContain("1 fence, ");
  });

  it("of a log with notes exits 0, and tells them", async () => {
    const ran = await run("--file", logPath("v1", "torn-groups"));
    expect(ran.code).toBe(0);
    expect(ran.stdout).toMatch(/^note +6 torn: /m);
    expect(ran.stdout).toMatch(/^verdict +clean \(2 notes\)$/m);
  });

  it("of a damaged log exits 1, and tells each error by its position", async () => {
    const ran = await run("--file", logPath("v1", "newer-version"));
    expect(ran.code).toBe(1);
    expect(ran.stdout).toMatch(/^error +9 event: /m);
    expect(ran.stdout).toMatch(/^error +12 damaged: /m);
    expect(ran.stdout).toMatch(/^verdict +4 errors$/m);
    const halted = await run("--file", logPath("v1", "lost-record"));
    expect(halted.code).toBe(1);
    expect(halted.stdout).toContain("every reader halts at 5");
  });

  it("with --json gives the report as one document, with the same code", async () => {
    for (const [name, code, ok] of [
      ["newer-version", 1, false],
      ["plain-tree", 0, true],
    ] as const) {
      const ran = await run("--file", logPath("v1", name), "--json");
      expect(ran).toMatchObject({ code, stderr: "" });
      expect(json(ran)).toMatchObject({ ok, haltedAt: null, dropped: 0 });
    }
  });

  it("is readable on 80 columns, and prints nothing that a log smuggles in", async () => {
    const actor = `job:\u001b[2J${"x".repeat(90)}\u202e`;
    const hostile = forged(inserted(good, 5, junk()), {
      scope: "task.two.two",
      transitions: [{ actor, sequence: 1, event: { type: "a b\nc" }, from: "", to: "" }],
    });
    const { stdout } = await run("--file", await fileOf(hostile, "hostile"));
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
    const wide = stdout.split("\n").filter((line) => widthOf(line) > 80 && !line.includes("xxx"));
    expect(wide).toEqual([]);
  });

  it("shows some of many findings, and how many more there are", async () => {
    const many = Array.from({ length: 70 }, () => ({ ...junk(), id: "x" }));
    const log = inserted(good, 5, ...many.map((one, at) => ({ ...one, id: `junk-${at}` })));
    const { stdout, code } = await run("--file", await fileOf(log, "many"));
    expect(code).toBe(1);
    expect(stdout.match(/^error /gm)).toHaveLength(50);
    expect(stdout).toContain("and 20 errors more (see --json)");
  });

  it("of what cannot be read exits 2, and says why", async () => {
    const path = join(folder, "no-log.txt");
    writeFileSync(path, "hello\n");
    for (const file of [path, join(folder, "nothing")]) {
      const ran = await run("--file", file);
      expect(ran).toMatchObject({ code: 2, stdout: "" });
      expect(ran.stderr).toContain(file.slice(0, 20));
      expect(json(await run("--file", file, "--json"))).toMatchObject({
        ok: false,
        decision: "unread",
      });
    }
  });

  it("and another place at once is a slip of the caller", async () => {
    await expect(run("--file", "a", "--data", "b")).rejects.toThrow(UsageError);
    await expect(run("--file", "a", "--nats", "b")).rejects.toThrow(UsageError);
  });
});

describe("holdfast verify --data", () => {
  it("of a folder without a log exits 2, and makes nothing", async () => {
    const path = join(folder, "empty");
    const ran = await run("--data", path);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toContain("There is no log in");
    expect(existsSync(path)).toBe(false);
  });

  it("[ES-3] of a folder that a living process has, and whose server does not run, exits 2 and starts nothing", async () => {
    const path = join(folder, "owned");
    mkdirSync(join(path, "nats", "jetstream"), { recursive: true });
    await using _lock = await acquireLock(join(path, "daemon.lock"), {
      purpose: "a daemon",
      waitMs: 0,
    });
    const ran = await run("--data", path);
    expect(ran.code).toBe(2);
    expect(ran.stderr).toMatch(/belongs\s+to\s+process/);
    expect(existsSync(join(path, "nats", "server.json"))).toBe(false);
  });
});
