/**
 * A log as a file: for golden logs, and for looking at one elsewhere.
 *
 * Owns: the format, writing a log into it, a read-only Log over it. Does not own: which of its messages are valid.
 *
 *     {"format":"holdfast-log","version":1}
 *     {"sequence":1,"storedAtMs":1767225600000,"subject":"hf.…","id":"…","frame":"1 …","body":"{\"v\":1,…}"}
 *
 * G1. One JSON document a line: a head, then the messages, their sequences rising. A body that is no UTF-8 stands in `base64`
 *     instead of `body`.
 * G2. Every byte of a message comes back as it was, whatever it is: damage is what such files are for.
 * G3. A file is there whole or not at all, and one that cannot be read whole is refused with the line that is at fault.
 */
import {
  closeSync,
  createReadStream,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { createInterface } from "node:readline";
import { z } from "zod";
import { IllegalStateError, InvalidArgumentError, NotFoundError } from "../../actors/errors.ts";
import type { Log, LogInfo, ReadOptions, StoredMessage } from "../../actors/journal/log.ts";
import { checkPatterns, matcherOfAny } from "../jetstream/subject-pattern.ts";
import { parseJson, reasonOf } from "../nats-server/folder.ts";

const HEAD = { format: "holdfast-log", version: 1 } as const;
const headSchema = z.object({ format: z.literal(HEAD.format), version: z.literal(HEAD.version) });

const lineSchema = z.object({
  sequence: z.int().min(1),
  storedAtMs: z.number(),
  subject: z.string(),
  id: z.string(),
  frame: z.string(),
  body: z.string().optional(),
  base64: z.base64().optional(),
});

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Two characters that JSON may hold as they are, and that readers of lines take for an end of one. */
const SEPARATORS = /[\u2028\u2029]/g;

function lineOf({ sequence, storedAtMs, subject, id, frame, body }: StoredMessage): string {
  const line = JSON.stringify({ sequence, storedAtMs, subject, id, frame, ...contentOf(body) });
  return line.replace(SEPARATORS, (one) => (one === "\u2028" ? "\\u2028" : "\\u2029"));
}

function contentOf(body: Uint8Array): { readonly body: string } | { readonly base64: string } {
  try {
    return { body: decoder.decode(body) };
  } catch {
    return { base64: Buffer.from(body).toString("base64") }; // Not UTF-8.
  }
}

/**
 * Writes a log, from its oldest message to what is its newest one now, to `path`; a file that is there is replaced. Returns how
 * many messages it has. Errors: those of the log, and those of the file system as they come.
 */
export async function exportLog(log: Pick<Log, "info" | "read">, path: string): Promise<number> {
  const beside = `${path}.${process.pid}.new`;
  const file = openSync(beside, "w", 0o600);
  let count = 0;
  try {
    writeSync(file, `${JSON.stringify(HEAD)}\n`);
    const { lastSequence } = await log.info();
    await log.read({ from: 1, through: lastSequence }, (message) => {
      writeSync(file, `${lineOf(message)}\n`);
      count += 1;
    });
  } catch (error) {
    rmSync(beside, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
  renameSync(beside, path);
  return count;
}

/**
 * A log that is a file. It is read anew for every question; nothing can be appended, and nothing comes to a follower.
 * Errors: NotFoundError (no such file, or one that may not be read), InvalidArgumentError (`details.line` is at fault).
 */
export async function openLogFile(path: string): Promise<Log> {
  const info = await infoOf(path);
  const refuse = <Result>(what: string): Promise<Result> =>
    Promise.reject(new IllegalStateError(`A log that is a file ${what}.`, { details: { path } }));
  return {
    openAppender: () => refuse("takes no messages"),
    info: () => Promise.resolve(info),
    read: (options, visit) => readFile(path, options, visit, info.lastSequence),
    readLast: (subject) => readLast(path, subject),
    follow: () => Promise.resolve({ stop: () => Promise.resolve() }),
    close: () => Promise.resolve(),
  };
}

async function infoOf(path: string): Promise<LogInfo> {
  let firstSequence = 0;
  let lastSequence = 0;
  await walk(path, ({ sequence }) => {
    if (firstSequence === 0) firstSequence = sequence;
    lastSequence = sequence;
  });
  const { size: bytes } = statSync(path);
  if (firstSequence === 0) firstSequence = 1;
  return { firstSequence, lastSequence, bytes, bytesMax: null };
}

async function readFile(
  path: string,
  { from, through, subjects }: ReadOptions,
  visit: (message: StoredMessage) => void,
  lastSequence: number,
): Promise<void> {
  checkPatterns(subjects ?? []);
  const matches = matcherOfAny(subjects ?? [">"]);
  const last = through ?? lastSequence;
  await walk(path, (message) => {
    if (message.sequence >= from && message.sequence <= last && matches(message.subject))
      visit(message);
  });
}

async function readLast(path: string, subject: string): Promise<StoredMessage | null> {
  checkPatterns([subject]);
  const matches = matcherOfAny([subject]);
  const found: { last: StoredMessage | null } = { last: null };
  await walk(path, (message) => {
    if (matches(message.subject)) found.last = message;
  });
  return found.last;
}

/** Every message of the file, in order (G3). */
async function walk(path: string, visit: (message: StoredMessage) => void): Promise<void> {
  const input = createReadStream(path);
  const failed = new Promise<never>((_resolve, reject) => {
    input.once("error", (error) => reject(notReadable(path, error)));
  });
  try {
    await Promise.race([walkLines(path, input, visit), failed]);
  } finally {
    input.destroy();
  }
}

async function walkLines(
  path: string,
  input: NodeJS.ReadableStream,
  visit: (message: StoredMessage) => void,
): Promise<void> {
  let number = 0;
  let last = 0;
  for await (const line of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
    number += 1;
    if (number === 1) {
      if (!headSchema.safeParse(parseJson(line)).success) throw noLog(path);
      continue;
    }
    const message = parseLine(path, number, line);
    if (message.sequence <= last) {
      throw badLine(path, number, `sequence ${message.sequence} does not rise above ${last}`);
    }
    last = message.sequence;
    visit(message);
  }
  if (number === 0) throw noLog(path);
}

function parseLine(path: string, number: number, line: string): StoredMessage {
  const parsed = lineSchema.safeParse(parseJson(line));
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => issue.path.join(".") || "no JSON object");
    throw badLine(path, number, faults.join(", "));
  }
  const { body, base64, ...rest } = parsed.data;
  if ((body === undefined) === (base64 === undefined))
    throw badLine(path, number, "one of body and base64 is needed");
  const bytes =
    base64 === undefined ? encoder.encode(body) : new Uint8Array(Buffer.from(base64, "base64"));
  return { ...rest, body: bytes };
}

const notReadable = (path: string, cause: unknown): NotFoundError =>
  new NotFoundError(`The log file ${path} cannot be read (${reasonOf(cause)}).`, {
    details: { path, reason: reasonOf(cause) },
    cause,
  });

const noLog = (path: string): InvalidArgumentError =>
  new InvalidArgumentError(
    `${path} is no log of ours: its first line is not ${JSON.stringify(HEAD)}.`,
    { details: { path, line: 1 } },
  );

const badLine = (path: string, line: number, fault: string): InvalidArgumentError =>
  new InvalidArgumentError(`Line ${line} of ${path} is no message of a log: ${fault}.`, {
    details: { path, line, fault },
  });
