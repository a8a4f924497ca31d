/**
 * Faults planted into whole runtimes: each takes away one rule, and the simulation must notice by the invariant that it breaks.
 *
 * Owns: what is put between a runtime and its log, and what is changed on a runtime that has started. Nothing in the product
 * knows of them. Does not own: the faults of the journal's own simulation, which are planted here once more by name.
 */
import { checksumOf, formatFrame, parseFrame } from "../../../actors/journal/frame.ts";
import type { Log, StoredMessage } from "../../../actors/journal/log.ts";
import { type Runtime, worldOf } from "../../../actors/runtime/runtime.ts";
import { PLANTED as PLANTED_IN_JOURNAL } from "../journal/planted.ts";
import type { Invariant } from "./book.ts";
import type { Plant } from "./life.ts";

export interface PlantedFault {
  readonly plant: Plant;
  /** One of these is broken by it. */
  readonly breaks: readonly Invariant[];
}

const inJournal = (name: string): Plant => {
  const log = PLANTED_IN_JOURNAL[name];
  if (log === undefined) throw new RangeError(`nothing is planted as ${name}`);
  return { log };
};

/** T2: effects and answers leave when their group is staged. */
function releaseAtOnce(runtime: Runtime): void {
  const { journal } = worldOf(runtime);
  const append = journal.append.bind(journal);
  journal.append = (messages, onAcknowledged) => {
    append(messages, () => undefined);
    onAcknowledged();
  };
}

/** T2 for what names no event: refusals, second handles and queries leave at once. */
function answerAtOnce(runtime: Runtime): void {
  const { journal } = worldOf(runtime);
  journal.barrier = (callback) => queueMicrotask(callback);
}

/** The watermark of what is acknowledged runs ahead: whatever was sent before an answer came counts as stored. */
function watermarkAhead(log: Log): Log {
  return {
    info: () => log.info(),
    read: (options, visit) => log.read(options, visit),
    readLast: (subject) => log.readLast(subject),
    follow: (subject, visit) => log.follow(subject, visit),
    close: () => log.close(),
    openAppender: async (events) => {
      let sent = 0;
      let told = 0;
      const appender = await log.openAppender({
        onDisconnect: events.onDisconnect,
        onAnswer: (index, answer) => {
          if (index === 0 || answer.kind !== "stored") return events.onAnswer(index, answer);
          for (told = Math.max(told, index); told <= sent; told += 1) {
            const sequence = answer.sequence + told - index;
            events.onAnswer(told, { kind: "stored", sequence, isDuplicate: false });
          }
        },
      });
      return {
        batchMax: 0,
        publish: (message, index) => {
          sent = index;
          appender.publish(message, index);
        },
        publishBatch: (messages, lastIndex) => appender.publishBatch(messages, lastIndex),
        close: () => appender.close(),
      };
    },
  };
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/** A fold that drops what one transition does to its actor: the record is read with an event that leaves nothing behind. */
function foldingWithout(pattern: RegExp, replacement: string) {
  const forgetful = (message: StoredMessage): StoredMessage => {
    const text = decoder.decode(message.body);
    const changed = text.replace(pattern, replacement);
    const frame = parseFrame(message.frame);
    if (changed === text || frame === null) return message;
    const body = encoder.encode(changed);
    return { ...message, body, frame: formatFrame({ ...frame, checksum: checksumOf(body) }) };
  };
  return (log: Log): Log => ({
    openAppender: (events) => log.openAppender(events),
    info: () => log.info(),
    read: (options, visit) => log.read(options, (message) => visit(forgetful(message))),
    readLast: (subject) => log.readLast(subject),
    follow: (subject, visit) => log.follow(subject, visit),
    close: () => log.close(),
  });
}

/** What is taken away, by name. */
export const PLANTED: Readonly<Record<string, PlantedFault>> = {
  "the chain: a record is bound to its position alone": {
    plant: inJournal("the chain: a record is bound to its position alone"),
    breaks: ["log-clean", "readers-agree", "ends-orderly"],
  },
  "the group rule when writing: every record is a group of its own": {
    plant: inJournal("the group rule when writing: every record is a group of its own"),
    breaks: ["groups-whole"],
  },
  "the group rule when reading: every record is a group of its own": {
    plant: inJournal("the group rule when reading: every record is a group of its own"),
    breaks: ["fold-is-live"],
  },
  "the duplicate rule: an answer of a duplicate is an acknowledgement": {
    plant: inJournal("the duplicate rule: an answer of a duplicate is an acknowledgement"),
    breaks: ["answers-acknowledged", "effects-after-ack"],
  },
  "the wait for the answer: a record is acknowledged when it is sent": {
    plant: inJournal("the wait for the answer: a record is acknowledged when it is sent"),
    breaks: ["effects-after-ack"],
  },
  "T2: effects leave when they are staged": {
    plant: { runtime: releaseAtOnce },
    breaks: ["effects-after-ack"],
  },
  "T2: answers that name no event leave at once": {
    plant: { runtime: answerAtOnce },
    breaks: ["answers-acknowledged"],
  },
  "the watermark: what was sent counts as stored once anything is answered": {
    plant: { log: watermarkAhead },
    breaks: ["effects-after-ack", "answers-acknowledged"],
  },
  "the fold of a step: what it recorded is dropped": {
    plant: { log: foldingWithout(/("type":"job.stepRecorded","key":)"[^"]*"/, '$1"forgotten"') },
    breaks: ["fold-is-live"],
  },
  "the fold of a start: its attempt is not counted": {
    plant: {
      log: foldingWithout(
        /("type":"job.started","attempt":)\d+,"timeoutAt":\w+/,
        '$11,"timeoutAt":null',
      ),
    },
    breaks: ["fold-is-live"],
  },
};
