/**
 * The newest message of a subject or pattern, by one direct get.
 *
 * Owns: the request and its answer. Wildcards work on every server version from the floor on (run on 2.9, 2.10, 2.15); on 2.9 a
 * wildcard that matches nothing costs a scan (150 ms for a million messages).
 */
import { JournalError } from "../../../actors/errors.ts";
import type { StoredMessage } from "../../../actors/journal/log.ts";
import type { ReadConnection } from "../connection.ts";
import { unreadableAnswer } from "../errors.ts";
import type { PartitionNames } from "../names.ts";
import { fromAddedHeaders, receive } from "../raw-message.ts";
import { narrowTo } from "../subject-pattern.ts";

const NOT_FOUND = 404;
/** The status of an answer without a message, in its first line. */
const STATUS = /^NATS\/1\.0 (\d{3}) ?(.*)/;

/** Null: nothing matches. Errors: JournalError. */
export async function readLastMessage(
  connection: ReadConnection,
  { stream, prefix }: PartitionNames,
  subject: string,
): Promise<StoredMessage | null> {
  const pattern = narrowTo(prefix, subject);
  if (pattern === null) return null;
  const attempt = { action: `read the last message of ${subject}`, details: { stream, subject } };
  const payload = JSON.stringify({ last_by_subj: pattern });
  const answer = await connection.request(`$JS.API.DIRECT.GET.${stream}`, payload, attempt);
  const received = receive(answer);
  const message = fromAddedHeaders(received);
  if (message !== null) return message;
  const status = STATUS.exec(received.headers);
  if (status === null) throw unreadableAnswer(attempt, received.headers);
  if (Number(status[1]) === NOT_FOUND) return null;
  throw new JournalError(`Could not ${attempt.action}: ${status[1]} ${status[2]}.`, {
    details: { ...attempt.details, outcome: "refused", status: Number(status[1]) },
  });
}
