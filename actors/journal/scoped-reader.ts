/**
 * Reading some scopes only: the valid records of a job, a workflow, an actor.
 *
 * Owns: the reader rule as it looks to who does not see the whole stream: by epochs instead of by groups (epochs.ts).
 * Does not own: the table of epochs. Damaged records are left out: whoever keeps them set aside says so (the fold).
 */
import { decodeBody } from "./codec.ts";
import type { Epochs } from "./epochs.ts";
import { checksumOf, parseFrame } from "./frame.ts";
import type { Log, StoredMessage } from "./log.ts";
import type { ReadRecord } from "./reader.ts";

export interface ScopedReadOptions {
  readonly log: Log;
  readonly epochs: Epochs;
  readonly subjects: readonly string[];
  /** First position that is read. Default: 1. */
  readonly from?: number;
  /** Last position that is read; the open epoch is acknowledged up to it or beyond. */
  readonly through: number;
}

export async function readScopes(
  options: ScopedReadOptions,
  visit: (record: ReadRecord) => void,
): Promise<void> {
  const { log, epochs, subjects, from = 1, through } = options;
  if (from > through) return;
  await log.read({ from, through, subjects }, (message) => {
    const record = validRecord(message, epochs, through);
    if (record !== null) visit(record);
  });
}

function validRecord(message: StoredMessage, epochs: Epochs, through: number): ReadRecord | null {
  const { sequence: position, subject, body } = message;
  const frame = parseFrame(message.frame);
  if (frame === null || frame.index === 0 || !epochs.isValid(frame.writer, position, through))
    return null;
  if (checksumOf(body) !== frame.checksum) return null;
  const decoded = decodeBody(body);
  return decoded.kind === "record" ? { position, subject, body: decoded.body } : null;
}
