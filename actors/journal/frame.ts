/**
 * The frame: what makes a stored message one of ours, before its body is looked at.
 *
 * Owns: the one line `1 <writer> <index> <k>/<n> <checksum>` kept beside every body, and the message id.
 * Does not own: bodies (codec.ts), validity (reader.ts).
 *
 * F1. Index 0 is the writer's fence; every later message of that writer has the next index, without a hole.
 * F2. `k/n` says: message k of the n that make one group, whole or void together.
 * F3. The checksum (CRC-32 of the body, 8 hex digits) tells damage; it proves nothing about who wrote it.
 */
import { crc32 } from "node:zlib";

export interface Frame {
  /** 22 characters of base64url: 128 random bits minted for one fence. */
  readonly writer: string;
  /** Counts this writer's messages from its fence, 0. */
  readonly index: number;
  /** 1-based place in the group. */
  readonly part: number;
  readonly parts: number;
  readonly checksum: string;
}

const FRAME = /^1 ([A-Za-z0-9_-]{22}) (\d{1,15}) (\d{1,9})\/(\d{1,9}) ([0-9a-f]{8})$/;

export const checksumOf = (body: Uint8Array): string => crc32(body).toString(16).padStart(8, "0");

export const formatFrame = (frame: Frame): string =>
  `1 ${frame.writer} ${frame.index} ${frame.part}/${frame.parts} ${frame.checksum}`;

export const messageId = (writer: string, index: number): string => `${writer}.${index}`;

/** Null: not a frame of ours. */
export function parseFrame(line: string): Frame | null {
  const match = FRAME.exec(line);
  if (match === null) return null;
  const [, writer = "", index, part, parts, checksum = ""] = match;
  const frame = {
    writer,
    index: Number(index),
    part: Number(part),
    parts: Number(parts),
    checksum,
  };
  return frame.part >= 1 && frame.part <= frame.parts ? frame : null;
}
