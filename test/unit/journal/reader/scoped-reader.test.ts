import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Epochs } from "../../../../actors/journal/epochs.ts";
import type { StoredMessage } from "../../../../actors/journal/log.ts";
import { JournalReader, type ReadRecord } from "../../../../actors/journal/reader.ts";
import { readScopes } from "../../../../actors/journal/scoped-reader.ts";
import { matcherOfAny } from "../../../../infra/jetstream/subject-pattern.ts";
import { MemoryLog } from "../../../../infra/memory/log.ts";
import { randomLogs } from "../rig/random-log.ts";
import { fence, message, PREFIX, stored, writerNamed } from "../rig/records.ts";

const PATTERNS = [["task.v.a"], ["task.v.>"], ["task.*.a", "account.x"], ["dispatcher"], [">"]];

/** A whole log, read by the reader rule. */
interface FullRead {
  readonly epochs: Epochs;
  readonly records: readonly ReadRecord[];
  readonly validThrough: number;
}

function readFully(messages: readonly StoredMessage[]): FullRead {
  const epochs = new Epochs();
  const records: ReadRecord[] = [];
  const reader = new JournalReader({
    fence: ({ writer, position, validThrough }) => epochs.begin(writer, position, validThrough),
    group: (group) => records.push(...group),
    fault: () => undefined,
  });
  for (const one of messages) reader.push(one);
  return { epochs, records, validThrough: reader.state.validThrough };
}

async function logOf(messages: readonly StoredMessage[]): Promise<MemoryLog> {
  const log = new MemoryLog({ schedule: (task) => task(), duplicateWindowCount: 0 });
  const appender = await log.openAppender({
    onAnswer: () => undefined,
    onDisconnect: () => undefined,
  });
  for (const [at, one] of messages.entries()) appender.publish(one, at);
  return log;
}

async function readScoped(log: MemoryLog, full: FullRead, subjects: readonly string[], from = 1) {
  const records: ReadRecord[] = [];
  const { epochs, validThrough: through } = full;
  await readScopes({ log, epochs, subjects, from, through }, (record) => records.push(record));
  return records;
}

describe("a reader of some scopes", () => {
  it("[ES-9] gives the verdict of the full reader on every prefix of any log, for each pattern", async () => {
    await fc.assert(
      fc.asyncProperty(
        randomLogs({ withHalts: true }),
        fc.constantFrom(...PATTERNS),
        async (messages, patterns) => {
          const subjects = patterns.map((pattern) => PREFIX + pattern);
          const matches = matcherOfAny(subjects);
          const log = await logOf(messages);
          for (let length = 0; length <= messages.length; length += 1) {
            const full = readFully(messages.slice(0, length));
            const expected = full.records.filter(({ subject }) => matches(subject));
            expect(await readScoped(log, full, subjects)).toEqual(expected);
            const from = 1 + Math.floor(length / 2);
            const later = expected.filter(({ position }) => position >= from);
            expect(await readScoped(log, full, subjects, from)).toEqual(later);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it("[ES-8] leaves out the parts of a torn group that stand in its scope", async () => {
    const [a, b] = [writerNamed("a"), writerNamed("b")];
    const subject = `${PREFIX}task.v.a`;
    const messages = stored([
      fence(a),
      message({ writer: a, index: 1, subject }),
      message({ writer: a, index: 2, part: 1, parts: 2, subject }),
      fence(b),
      message({ writer: b, index: 1, subject }),
      message({ writer: b, index: 2, part: 1, parts: 2, subject }),
    ]);
    const records = await readScoped(await logOf(messages), readFully(messages), [subject]);
    expect(records.map(({ position }) => position)).toEqual([2, 5]);
  });

  it("[ES-9] leaves out what is damaged, forged or stale", async () => {
    const [a, b] = [writerNamed("a"), writerNamed("b")];
    const subject = `${PREFIX}task.v.a`;
    const good = message({ writer: b, index: 1, subject });
    const messages = stored([
      fence(a),
      fence(b),
      message({ writer: a, index: 1, subject }),
      message({ writer: writerNamed("forger"), index: 1, subject }),
      good,
      { ...message({ writer: b, index: 2, subject }), body: new Uint8Array([1]) },
      message({ writer: b, index: 3, subject, body: new Uint8Array([123]) }),
    ]);
    const records = await readScoped(await logOf(messages), readFully(messages), [subject]);
    expect(records.map(({ position }) => position)).toEqual([5]);
  });
});
