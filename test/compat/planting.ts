/**
 * Damage, planted by hand into a log that was good.
 *
 * Owns: rewriting, forging, dropping and repeating messages, with frames that hold where they are meant to. Does not own: what
 * readers make of it.
 */
import {
  BODY_VERSION,
  decodeBody,
  encodeBody,
  type FenceBody,
  type RecordBody,
  type Transition,
} from "../../actors/journal/codec.ts";
import {
  checksumOf,
  type Frame,
  formatFrame,
  messageId,
  parseFrame,
} from "../../actors/journal/frame.ts";
import type { StoredMessage } from "../../actors/journal/log.ts";

export type Messages = readonly StoredMessage[];

export const PREFIX = "hf.test.evt.0.1.";

/** A writer id that no owner of a test mints. */
export const STRANGER = "stranger_______________".slice(0, 22);

export function frameOf(message: StoredMessage): Frame {
  const frame = parseFrame(message.frame);
  if (frame === null) throw new Error(`message ${message.sequence} has no frame`);
  return frame;
}

export function recordOf(message: StoredMessage): RecordBody {
  const decoded = decodeBody(message.body);
  if (decoded.kind !== "record") throw new Error(`message ${message.sequence} is no record`);
  return decoded.body;
}

export const isRecord = (message: StoredMessage): boolean =>
  decodeBody(message.body).kind === "record";

/** Position of the first record with a transition that is wanted. */
export function positionOf(
  messages: Messages,
  isWanted: (transition: Transition, body: RecordBody) => boolean,
): number {
  const found = messages.find(
    (message) =>
      isRecord(message) &&
      recordOf(message).transitions.some((each) => isWanted(each, recordOf(message))),
  );
  if (found === undefined) throw new Error("no such record");
  return found.sequence;
}

/** Positions 1 … n, as if the store had them so from the beginning. */
export const renumbered = (messages: Messages): StoredMessage[] =>
  messages.map((message, at) => ({ ...message, sequence: at + 1, storedAtMs: at + 1 }));

export const changedAt = (
  messages: Messages,
  position: number,
  change: (message: StoredMessage) => StoredMessage,
): StoredMessage[] =>
  messages.map((message) => (message.sequence === position ? change(message) : message));

/** Without those at the positions; what is left keeps its own. */
export const without = (messages: Messages, ...positions: readonly number[]): StoredMessage[] =>
  messages.filter(({ sequence }) => !positions.includes(sequence));

/** One bit of the body is another: the frame holds, the body does not. */
export function flipped(message: StoredMessage, at = message.body.length >> 1): StoredMessage {
  const body = message.body.slice();
  body[at] = (body[at] ?? 0) ^ 1;
  return { ...message, body };
}

/** With this body, and a checksum that fits it. */
export function withBody(message: StoredMessage, body: Uint8Array): StoredMessage {
  return reframed({ ...message, body }, { checksum: checksumOf(body) });
}

export function reframed(message: StoredMessage, change: Partial<Frame>): StoredMessage {
  const frame = { ...frameOf(message), ...change };
  return { ...message, frame: formatFrame(frame), id: messageId(frame.writer, frame.index) };
}

/** The record says something else, and its frame vouches for it. */
export const rewritten = (
  message: StoredMessage,
  change: (body: RecordBody) => RecordBody,
): StoredMessage => withBody(message, encodeBody(change(recordOf(message))));

/** One of its transitions says something else. */
export const withTransition = (
  message: StoredMessage,
  index: number,
  change: (transition: Transition) => Transition,
): StoredMessage =>
  rewritten(message, (body) => ({
    ...body,
    transitions: body.transitions.map((each, at) => (at === index ? change(each) : each)),
  }));

export interface Forged {
  /** Below the prefix. */
  readonly scope: string;
  readonly transitions: readonly unknown[];
  readonly correlation?: string;
  /** Default: 1. */
  readonly v?: number;
}

/** The last record that stands for its writer's, and what a next one of it looks like. */
function lastOf(messages: Messages): { readonly frame: Frame; readonly t: number } {
  const frames = messages.map(({ frame }) => parseFrame(frame));
  const fence = frames.findLast((frame) => frame?.index === 0);
  const last = frames.findLast((frame) => frame?.writer === fence?.writer);
  if (last === undefined || last === null) throw new Error("nobody owns this log");
  const record = messages.findLast(isRecord);
  return { frame: last, t: record === undefined ? 0 : recordOf(record).t };
}

/** One more group of the present owner, as only it could write it. `at` and `t` are those of its last record. */
export function forged(messages: Messages, ...records: readonly Forged[]): StoredMessage[] {
  const { frame, t } = lastOf(messages);
  const added = records.map(({ scope, transitions, correlation, v = BODY_VERSION }, at) => {
    const workflow = correlation ?? scope.split(".")[1] ?? "";
    const body = { v, at: t, t, cause: "forged", correlation: workflow, transitions };
    const bytes = new TextEncoder().encode(JSON.stringify(body));
    return messageOf(`${PREFIX}${scope}`, bytes, {
      writer: frame.writer,
      index: frame.index + 1 + at,
      part: at + 1,
      parts: records.length,
    });
  });
  return renumbered([...messages, ...added]);
}

export function messageOf(
  subject: string,
  body: Uint8Array,
  frame: Omit<Frame, "checksum">,
): StoredMessage {
  const { writer, index } = frame;
  const line = formatFrame({ ...frame, checksum: checksumOf(body) });
  return { sequence: 0, storedAtMs: 0, subject, id: messageId(writer, index), frame: line, body };
}

export function fenceOf(
  writer: string,
  kind: FenceBody["fence"]["kind"],
  subject = `${PREFIX}dispatcher`,
): StoredMessage {
  const fence = { owner: `owner ${writer}`, durability: "process", kind } as const;
  const body = encodeBody({ v: BODY_VERSION, at: 0, fence });
  return messageOf(subject, body, { writer, index: 0, part: 1, parts: 1 });
}

/** What nobody of ours wrote. */
export const junk = (): StoredMessage => ({
  sequence: 0,
  storedAtMs: 0,
  subject: `${PREFIX}task.junk.junk`,
  id: "not-ours",
  frame: "not a frame",
  body: new Uint8Array([255, 0, 1]),
});

/** `more` stands in the log before the message at `position`, or at its end. */
export const inserted = (
  messages: Messages,
  position: number,
  ...more: readonly StoredMessage[]
): StoredMessage[] =>
  renumbered([...messages.slice(0, position - 1), ...more, ...messages.slice(position - 1)]);
