/**
 * A log as a file: what goes in comes out, byte for byte, and what is no log is refused with its line.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import type { Log, StoredMessage } from "../../../actors/journal/log.ts";
import { checkLog } from "../../../infra/verify/log-check.ts";
import { exportLog, openLogFile } from "../../../infra/verify/log-file.ts";
import { codeOf, copyLog } from "../../support/runtime.ts";
import { owned } from "./rig/good-logs.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-log-file-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;
const freshPath = (): string => {
  count += 1;
  return join(folder, `${count}.log.jsonl`);
};

const written = (...lines: readonly string[]): string => {
  const path = freshPath();
  writeFileSync(path, lines.join("\n"));
  return path;
};

const HEAD = '{"format":"holdfast-log","version":1}';
const LINE = '{"sequence":1,"storedAtMs":1,"subject":"a.b","id":"i","frame":"f","body":"{}"}';

/** A log that gives these messages, whatever they are. */
const logOf = (messages: readonly StoredMessage[]): Pick<Log, "info" | "read"> => ({
  info: () =>
    Promise.resolve({
      firstSequence: 1,
      lastSequence: messages.at(-1)?.sequence ?? 0,
      bytes: 0,
      bytesMax: null,
    }),
  read: (_options, visit) => {
    for (const message of messages) visit(message);
    return Promise.resolve();
  },
});

async function readAll(log: Log, options: Partial<Parameters<Log["read"]>[0]> = {}) {
  const messages: StoredMessage[] = [];
  await log.read({ from: 1, ...options }, (message) => messages.push(message));
  return messages;
}

describe("a log that was written to a file", () => {
  it("comes back as it was, whatever bytes and characters are in it", async () => {
    const text = fc.string({ unit: "binary" });
    const messages = fc.array(
      fc.record({
        subject: text,
        id: text,
        frame: text,
        body: fc.uint8Array({ maxLength: 40 }),
        storedAtMs: fc.nat(),
      }),
      { maxLength: 8 },
    );
    await fc.assert(
      fc.asyncProperty(messages, async (drawn) => {
        const all = drawn.map((one, at) => ({ ...one, sequence: 3 * at + 1 }));
        const path = freshPath();
        expect(await exportLog(logOf(all), path)).toBe(all.length);
        expect(await readAll(await openLogFile(path))).toEqual(all);
      }),
      { numRuns: 100 },
    );
  });

  it("keeps line separators and byte order marks inside bodies, and bodies that are no UTF-8", async () => {
    const encoder = new TextEncoder();
    const bodies = ["\u2028a\u2029\r\n\n", "\ufeff{}", ""].map((each) => encoder.encode(each));
    const all = [...bodies, new Uint8Array([255, 254])].map((body, at) => ({
      ...{ sequence: at + 1, storedAtMs: 0, subject: "a", id: "i", frame: "f" },
      body,
    }));
    const path = freshPath();
    await exportLog(logOf(all), path);
    // One message a line, whatever the reader takes for the end of one.
    expect(readFileSync(path, "utf8").split(/[\n\r\u2028\u2029]/)).toHaveLength(all.length + 2);
    expect(await readAll(await openLogFile(path))).toEqual(all);
  });

  it("is read by stretch and by subject, and tells its newest of a subject", async () => {
    const path = freshPath();
    await exportLog(await copyLog(owned), path);
    const log = await openLogFile(path);
    const memory = await copyLog(owned);
    const subjects = ["hf.test.evt.0.1.task.*.two", "hf.test.evt.0.1.dispatcher"];
    const options = { from: 3, through: 9, subjects };
    const wanted: StoredMessage[] = [];
    await memory.read(options, (message) => wanted.push(message));
    expect(wanted.length).toBeGreaterThan(2);
    expect(await readAll(log, options)).toEqual(wanted);
    expect(await log.readLast("hf.test.evt.0.1.task.>")).toEqual(
      await memory.readLast("hf.test.evt.0.1.task.>"),
    );
    expect(await log.readLast("nobody")).toBeNull();
    expect(await log.info()).toMatchObject({ firstSequence: 1, lastSequence: owned.length });
  });

  it("is checked as the log itself is", async () => {
    const path = freshPath();
    await exportLog(await copyLog(owned), path);
    expect(await checkLog(await openLogFile(path))).toEqual(await checkLog(await copyLog(owned)));
  });

  it("takes no messages", async () => {
    const log = await openLogFile(written(HEAD, LINE));
    const events = { onAnswer: () => undefined, onDisconnect: () => undefined };
    await expect(log.openAppender(events).catch(codeOf)).resolves.toBe("illegal_state");
  });

  it("is not there at all when the log could not be read to its end", async () => {
    const path = freshPath();
    const broken: Pick<Log, "info" | "read"> = {
      ...logOf([]),
      read: () => Promise.reject(new Error("the server died")),
    };
    await expect(exportLog(broken, path)).rejects.toThrow("the server died");
    expect(existsSync(path)).toBe(false);
    expect(readdirSync(folder).filter((file) => file.endsWith(".new"))).toEqual([]);
  });

  it("may be empty", async () => {
    const log = await openLogFile(written(HEAD, ""));
    expect(await log.info()).toMatchObject({ firstSequence: 1, lastSequence: 0 });
    expect(await readAll(log)).toEqual([]);
  });
});

describe("a file that is no log", () => {
  it.each([
    ["without a head", [LINE], 1],
    ["of a version to come", ['{"format":"holdfast-log","version":2}', LINE], 1],
    ["that is empty", [], 1],
    ["cut within a line", [HEAD, LINE.slice(0, 40)], 2],
    ["with an empty line in it", [HEAD, LINE, "", LINE], 3],
    ["with a sequence that does not rise", [HEAD, LINE, LINE], 3],
    ["with a sequence that is none", [HEAD, LINE.replace('"sequence":1', '"sequence":0')], 2],
    ["with a message without a body", [HEAD, LINE.replace(',"body":"{}"', "")], 2],
    ["with a message with two bodies", [HEAD, LINE.replace("}", ',"base64":"AA=="}')], 2],
    ["with a body that is no base64", [HEAD, LINE.replace('"body":"{}"', '"base64":"?"')], 2],
    ["of other JSON", ['{"name":"holdfast"}'], 1],
  ])("%s is refused by its line", async (_, lines, line) => {
    await expect(openLogFile(written(...lines))).rejects.toMatchObject({
      code: "invalid_argument",
      details: { line },
    });
  });

  it("that is not there, or is a folder, is told so", async () => {
    for (const path of [join(folder, "nothing"), folder]) {
      await expect(openLogFile(path)).rejects.toMatchObject({
        code: "not_found",
        details: { path },
      });
    }
  });
});
