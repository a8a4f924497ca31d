/**
 * Headers on the wire, written and read by hand.
 *
 * Owns: the header block of a publish, finding one header in a received block. Does not own: what the values mean.
 * By hand, because the client's own header object costs more than all the rest of a publish or of a read message (measured).
 *
 * H1. A value holds no CR, LF or NUL, and neither starts nor ends with a space or a control character: the server cuts there,
 *     and what is read back must be what was given.
 * H2. The frame stands last: an old server looks a header up by the first place its name occurs, even inside a value.
 * H3. Of a header that the server adds when it hands a message out, the last one counts: whoever published the message may
 *     have put a false one before it.
 */
import type { OutgoingMessage } from "../../actors/journal/log.ts";
import { invariant } from "../../machines/invariant.ts";

export const FRAME_HEADER = "Holdfast-Frame";
export const ID_HEADER = "Nats-Msg-Id";
const LAST_SEQUENCE_HEADER = "Nats-Expected-Last-Sequence";
const LAST_ID_HEADER = "Nats-Expected-Last-Msg-Id";

/** Longest header block, in bytes: five lines with a frame and two ids. The server must have room for it beside a body. */
export const HEADER_BYTES_MAX = 4_096;

const BATCH_ID_HEADER = "Nats-Batch-Id";
const BATCH_SEQUENCE_HEADER = "Nats-Batch-Sequence";
const BATCH_COMMIT_HEADER = "Nats-Batch-Commit";

/** A message's place in a batch that is stored whole or not at all. */
export interface BatchPlace {
  /** At most 64 characters; one batch, one id. */
  readonly id: string;
  /** 1-based. */
  readonly sequence: number;
  readonly isLast: boolean;
}

const LINE_BREAK = /[\r\n\0]/;
const SPACE = 32;

const isSafe = (value: string): boolean =>
  value.charCodeAt(0) > SPACE &&
  value.charCodeAt(value.length - 1) > SPACE &&
  !LINE_BREAK.test(value);

const line = (name: string, value: string): string => {
  if (!isSafe(value)) {
    const message = "H1: a header value is one line, not empty, without white space at its ends";
    invariant(false, message, { name, value });
  }
  return `${name}: ${value}\r\n`;
};

/** The header block of one publish, UTF-8. */
export function encodeHeaders(message: OutgoingMessage, batch?: BatchPlace): Buffer {
  const { id, frame, expectedLastSequence, expectedLastId } = message;
  let block = "NATS/1.0\r\n";
  if (expectedLastSequence !== undefined) {
    block += `${LAST_SEQUENCE_HEADER}: ${expectedLastSequence}\r\n`;
  }
  if (expectedLastId !== undefined) block += line(LAST_ID_HEADER, expectedLastId);
  if (batch !== undefined) {
    block += `${line(BATCH_ID_HEADER, batch.id)}${BATCH_SEQUENCE_HEADER}: ${batch.sequence}\r\n`;
    if (batch.isLast) block += `${BATCH_COMMIT_HEADER}: 1\r\n`;
  }
  block += `${line(ID_HEADER, id)}${line(FRAME_HEADER, frame)}\r\n`;
  const bytes = Buffer.from(block, "utf8");
  if (bytes.length > HEADER_BYTES_MAX) {
    invariant(false, "a header block stays below its limit", { id, bytes: bytes.length });
  }
  return bytes;
}

function valueAt(block: string, at: number, name: string): string {
  if (at === -1) return "";
  let from = at + name.length + 3; // The CR, the LF and the colon around the name.
  while (block.charCodeAt(from) === SPACE) from += 1;
  const to = block.indexOf("\r\n", from);
  return to === -1 ? block.slice(from) : block.slice(from, to);
}

/** The first header of that name in a received block; "" when there is none. */
export const findHeader = (block: string, name: string): string =>
  valueAt(block, block.indexOf(`\r\n${name}:`), name);

/** The last header of that name (H3); "" when there is none. */
export const findAddedHeader = (block: string, name: string): string =>
  valueAt(block, block.lastIndexOf(`\r\n${name}:`), name);
