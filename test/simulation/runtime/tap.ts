/**
 * A witness between a runtime and its log: what it sent, as it sent it, and what it was told.
 *
 * Owns: the groups as they were written, and the newest position that a process heard of. Whatever a test plants stands
 * behind it, so that a planted fault cannot change what was seen here. Does not own: any judgement.
 */
import { parseFrame } from "../../../actors/journal/frame.ts";
import type { Log, LogAppender, OutgoingMessage } from "../../../actors/journal/log.ts";

export interface SentGroup {
  /** Of the first of its messages. */
  readonly id: string;
  readonly parts: number;
}

/** Groups that anybody sent, by the ids of their messages. */
export type SentGroups = Map<string, SentGroup>;

export interface Tapped {
  readonly log: Log;
  /** Writers under which this process fenced or wrote. */
  readonly writers: ReadonlySet<string>;
  /** The newest position that this process was told of or has read. */
  toldPosition(): number;
}

export function tapped(log: Log, groups: SentGroups): Tapped {
  let told = 0;
  const writers = new Set<string>();
  const note = (message: OutgoingMessage): void => {
    const frame = parseFrame(message.frame);
    if (frame === null) return;
    writers.add(frame.writer);
    const id = `${frame.writer}.${frame.index - frame.part + 1}`;
    groups.set(message.id, { id, parts: frame.parts });
  };
  const openAppender: Log["openAppender"] = async (events) => {
    const appender: LogAppender = await log.openAppender({
      onDisconnect: events.onDisconnect,
      onAnswer: (index, answer) => {
        if (answer.kind === "stored" && !answer.isDuplicate) told = Math.max(told, answer.sequence);
        events.onAnswer(index, answer);
      },
    });
    return {
      batchMax: appender.batchMax,
      publish: (message, index) => {
        note(message);
        appender.publish(message, index);
      },
      publishBatch: (messages, lastIndex) => {
        for (const message of messages) note(message);
        appender.publishBatch(messages, lastIndex);
      },
      close: () => appender.close(),
    };
  };
  return {
    writers,
    toldPosition: () => told,
    log: {
      openAppender,
      read: (options, visit) =>
        log.read(options, (message) => {
          told = Math.max(told, message.sequence);
          visit(message);
        }),
      info: () => log.info(),
      readLast: (subject) => log.readLast(subject),
      follow: (subject, visit) => log.follow(subject, visit),
      close: () => log.close(),
    },
  };
}
