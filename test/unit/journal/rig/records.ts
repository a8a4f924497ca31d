/**
 * What the journal's tests write: groups that can be told from each other, and whole from torn, by their bodies alone.
 *
 * Owns: bodies that name their group and their place in it, and reading that back without the code under test.
 */
import { type Durability, encodeBody, type FenceBody } from "../../../../actors/journal/codec.ts";
import {
  checksumOf,
  type Frame,
  formatFrame,
  messageId,
} from "../../../../actors/journal/frame.ts";
import type { OutgoingMessage, StoredMessage } from "../../../../actors/journal/log.ts";
import type { ScopedBody } from "../../../../actors/journal/writer.ts";

export const PREFIX = "hf.test.evt.0.1.";
export const FENCE_SUBJECT = `${PREFIX}dispatcher`;

/** A record's place in what was staged. */
export interface Mark {
  readonly group: string;
  readonly part: number;
  readonly parts: number;
  /** Journal time, ms. */
  readonly t: number;
}

/** Where and when its owner took the partition. */
export interface Boot {
  readonly id: string;
  readonly uptimeMs: number;
}

export interface GroupOptions {
  /** Default 0. */
  readonly t?: number;
  /** Default: `t`. */
  readonly at?: number;
  readonly boot?: Boot;
  /** Adds so many bytes to the body. */
  readonly padding?: number;
}

export function markedBody(options: Omit<Mark, "t"> & GroupOptions): Uint8Array {
  const { group, part, parts, t = 0, at = t, boot, padding = 0 } = options;
  const event = { type: "test.noted", group, part, parts, boot, padding: "x".repeat(padding) };
  const transitions = [{ actor: `job:${group}`, sequence: part, event, from: "a", to: "b" }];
  return encodeBody({ v: 1, at, t, cause: "test", correlation: "workflow", transitions });
}

const decoder = new TextDecoder();

const marks = new WeakMap<Uint8Array, Mark>();

/** Reads a mark back by plain JSON; null for what is none. */
export function markOf(body: Uint8Array): Mark | null {
  const known = marks.get(body) ?? readMark(body);
  if (known !== null) marks.set(body, known); // The same bodies are looked at again and again.
  return known;
}

function readMark(body: Uint8Array): Mark | null {
  try {
    const value = JSON.parse(decoder.decode(body));
    const event = value.transitions?.[0]?.event;
    return event?.type === "test.noted"
      ? { group: event.group, part: event.part, parts: event.parts, t: value.t }
      : null;
  } catch {
    return null; // Damaged or foreign: no mark of ours.
  }
}

/** The messages of one group; part p goes to the scope `scopes[p]`. */
export const markedGroup = (
  group: string,
  scopes: readonly string[],
  options: GroupOptions = {},
): ScopedBody[] =>
  scopes.map((scope, at) => ({
    subject: PREFIX + scope,
    body: markedBody({ ...options, group, part: at + 1, parts: scopes.length }),
  }));

/** A writer id of 22 characters. */
export const writerNamed = (name: string): string => name.padEnd(22, "_");

interface RecordOptions {
  readonly writer: string;
  readonly index: number;
  readonly part?: number;
  readonly parts?: number;
  readonly subject?: string;
  readonly body?: Uint8Array;
  readonly checksum?: string;
}

/** One message as a writer would publish it. */
export function message(options: RecordOptions): OutgoingMessage {
  const { writer, index, part = 1, parts = 1, subject = `${PREFIX}task.w.j` } = options;
  const body = options.body ?? markedBody({ group: `${writer}.${index}`, part, parts });
  const frame: Frame = {
    writer,
    index,
    part,
    parts,
    checksum: options.checksum ?? checksumOf(body),
  };
  return { subject, id: messageId(writer, index), frame: formatFrame(frame), body };
}

export const fenceBody = (
  kind: "take" | "resync" = "take",
  durability: Durability = "fsync",
): FenceBody => ({ v: 1, at: 0, fence: { owner: "test", durability, kind } });

export const fence = (writer: string, kind: "take" | "resync" = "take"): OutgoingMessage =>
  message({ writer, index: 0, subject: FENCE_SUBJECT, body: encodeBody(fenceBody(kind)) });

/** What nobody of ours wrote: no frame that holds. */
export const junk = (id: string): OutgoingMessage => ({
  subject: `${PREFIX}task.w.j`,
  id,
  frame: "not a frame",
  body: new Uint8Array([1, 2, 3]),
});

/** Messages as a log gives them back, at positions from 1 on. */
export const stored = (messages: readonly OutgoingMessage[]): StoredMessage[] =>
  messages.map(({ subject, id, frame, body }, at) => ({
    sequence: at + 1,
    storedAtMs: at + 1,
    subject,
    id,
    frame,
    body,
  }));
