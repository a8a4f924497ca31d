/**
 * The answer to a publish, from its bytes.
 *
 * Owns: the form of a publish acknowledgement. Does not own: whether it is a good one (writer.ts).
 *
 * B1. The quick way takes exactly `{"stream":"<ours>","seq":<digits>}` (old servers put a space before the second key). Anything
 *     else (an error, a duplicate, a domain) is parsed as JSON. An error also ends in `"seq":0}`: hence the look at its start.
 * B2. What cannot be read, or comes from another stream, is answered as unavailable: nothing is known to be stored.
 */
import type { Msg } from "nats";
import { z } from "zod";
import type { PublishAnswer } from "../../actors/journal/log.ts";

const answerSchema = z.object({
  stream: z.string().optional(),
  seq: z.number().optional(),
  duplicate: z.boolean().default(false),
  error: z
    .object({
      code: z.number(),
      err_code: z.number().optional(),
      description: z.string().default(""),
    })
    .optional(),
});

const ZERO = 48;
const CLOSING_BRACE = 125;
/** As many digits are always a safe integer. */
const DIGITS_MAX = 15;

/** Whether an answer says no more than that a batch has begun: empty, and without a status. */
export const isStaged = (message: Msg): boolean =>
  message.data.length === 0 && (message.headers === undefined || message.headers.code === 0);

/** Reads the answers of one stream. */
export function answerReader(stream: string): (message: Msg) => PublishAnswer {
  const heads = [`{"stream":"${stream}","seq":`, `{"stream":"${stream}", "seq":`].map((head) =>
    Buffer.from(head, "latin1"),
  );
  return (message) => {
    const { data } = message;
    if (data.length === 0) {
      const status = message.headers === undefined ? "an empty answer" : message.headers.status;
      return { kind: "unavailable", description: `nothing stores there: ${status}` };
    }
    for (const head of heads) {
      const sequence = sequenceAfter(head, data);
      if (sequence !== null) return { kind: "stored", sequence, isDuplicate: false };
    }
    return parseUnusual(message.string(), stream);
  };
}

/** The sequence in an answer that is `head`, digits, and a brace; null for any other. */
function sequenceAfter(head: Uint8Array, data: Uint8Array): number | null {
  const last = data.length - 1;
  const digits = last - head.length;
  if (data[last] !== CLOSING_BRACE || digits < 1 || digits > DIGITS_MAX) return null;
  let sequence = 0;
  for (let at = head.length; at < last; at += 1) {
    const digit = (data[at] ?? 0) - ZERO;
    if (digit < 0 || digit > 9) return null;
    sequence = 10 * sequence + digit;
  }
  for (let at = 0; at < head.length; at += 1) if (data[at] !== head[at]) return null;
  return sequence;
}

function parseUnusual(text: string, stream: string): PublishAnswer {
  const parsed = answerSchema.safeParse(parseJson(text));
  if (!parsed.success) return unreadable(text);
  const { error, seq, stream: from, duplicate } = parsed.data;
  if (error !== undefined) {
    return { kind: "refused", code: error.err_code ?? error.code, description: error.description };
  }
  if (seq === undefined || from !== stream) return unreadable(text);
  return { kind: "stored", sequence: seq, isDuplicate: duplicate };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // Told apart by the schema, like any other answer of the wrong form.
  }
}

const SHOWN_CHARACTERS = 200;

const unreadable = (text: string): PublishAnswer => ({
  kind: "unavailable",
  description: `an answer that cannot be read: ${text.slice(0, SHOWN_CHARACTERS)}`,
});
