/**
 * Faults planted between the journal and its log: each takes away one rule, and the simulation must notice.
 *
 * Owns: decorators of a Log. Nothing in the product knows of them.
 */
import { type Frame, formatFrame, parseFrame } from "../../../actors/journal/frame.ts";
import type { OutgoingMessage, PublishAnswer, StoredMessage } from "../../../actors/journal/log.ts";
import type { Decorate } from "../../unit/journal/rig/owner.ts";
import { FENCE_SUBJECT } from "../../unit/journal/rig/records.ts";

/** What was sent at once: one message, or several that are stored as one. */
type Sent = readonly OutgoingMessage[];

interface Between {
  /** What is sent instead of a message. */
  readonly sending?: (message: OutgoingMessage) => OutgoingMessage;
  /** What is told instead of an answer. */
  readonly telling?: (answer: PublishAnswer, sent: Sent) => PublishAnswer;
  /** Whether every record is told to be stored as soon as it is sent. */
  readonly isEager?: boolean;
  /** What is read instead of a message, by a read that starts at `from`; null: it is not seen. */
  readonly reading?: (message: StoredMessage, from: number) => StoredMessage | null;
}

const same = <Value>(value: Value): Value => value;

/** A log with something between it and its user, made anew for each life. */
const between =
  (plant: () => Between): Decorate =>
  (log) => {
    const { sending = same, telling = same, reading = same, isEager = false } = plant();
    return {
      openAppender: async (events) => {
        const sentAt = new Map<number, Sent>();
        const appender = await log.openAppender({
          onDisconnect: events.onDisconnect,
          onAnswer: (index, answer) => {
            const sent = sentAt.get(index);
            events.onAnswer(index, sent === undefined ? answer : telling(answer, sent));
          },
        });
        const note = (sent: Sent, index: number): void => {
          sentAt.set(index, sent);
          if (isEager && !sent.some(isFence))
            queueMicrotask(() => events.onAnswer(index, storedAsExpected(sent)));
        };
        return {
          batchMax: appender.batchMax,
          publish: (message, index) => {
            appender.publish(sending(message), index);
            note([message], index);
          },
          publishBatch: (messages, lastIndex) => {
            appender.publishBatch(messages.map(sending), lastIndex);
            note(messages, lastIndex);
          },
          close: () => appender.close(),
        };
      },
      read: (options, visit) =>
        log.read(options, (message) => {
          const changed = reading(message, options.from);
          if (changed !== null) visit(changed);
        }),
      info: () => log.info(),
      readLast: (subject) => log.readLast(subject),
      follow: (subject, visit) => log.follow(subject, visit),
      close: () => log.close(),
    };
  };

const withFrame = <Message extends { readonly frame: string }>(
  message: Message,
  change: (frame: Frame) => Frame,
): Message => {
  const frame = parseFrame(message.frame);
  return frame === null ? message : { ...message, frame: formatFrame(change(frame)) };
};

const isFence = ({ subject }: { readonly subject: string }): boolean => subject === FENCE_SUBJECT;
const alone = (frame: Frame): Frame => ({ ...frame, part: 1, parts: 1 });

/** Stored where it was expected, whatever really happened. */
const storedAsExpected = (sent: Sent): PublishAnswer => ({
  kind: "stored",
  sequence: (sent[0]?.expectedLastSequence ?? 0) + sent.length,
  isDuplicate: false,
});

/** Numbers records on through every fence of one life. */
function numberingOn(): Between {
  let offset = 0;
  let last = 0;
  return {
    sending: (message) => {
      if (isFence(message)) offset = last;
      else last += 1;
      return isFence(message)
        ? message
        : withFrame(message, (frame) => ({ ...frame, index: frame.index + offset }));
    },
  };
}

/** What is taken away, by name. */
export const PLANTED: Readonly<Record<string, Decorate>> = {
  "the chain: a record is bound to its position alone": between(() => ({
    sending: (message) => {
      const { expectedLastId: _, ...unchained } = message;
      return unchained;
    },
  })),
  "the condition of a resync's fence": between(() => ({
    sending: (message) => {
      const { expectedLastSequence: _, ...unconditional } = message;
      return isFence(message) ? unconditional : message;
    },
  })),
  "the group rule when writing: every record is a group of its own": between(() => ({
    sending: (message) => withFrame(message, alone),
  })),
  "the group rule when reading: every record is a group of its own": between(() => ({
    reading: (message) => withFrame(message, alone),
  })),
  "the duplicate rule: an answer of a duplicate is an acknowledgement": between(() => ({
    telling: (answer, sent) =>
      answer.kind === "stored" && answer.isDuplicate ? storedAsExpected(sent) : answer,
  })),
  "the refusal: it is an acknowledgement": between(() => ({
    telling: (answer, sent) =>
      answer.kind === "refused" && !sent.some(isFence) ? storedAsExpected(sent) : answer,
  })),
  "the wait for the answer: a record is acknowledged when it is sent": between(() => ({
    isEager: true,
  })),
  "the renumbering: after a resync the numbers go on where they were": between(numberingOn),
  "the look at the log: a resync does not see what was stored and not answered": between(() => {
    let from = 0;
    return {
      reading: (message, start) => {
        const isFirst = from !== start;
        from = start;
        return isFirst || start === 1 ? message : null;
      },
    };
  }),
};
