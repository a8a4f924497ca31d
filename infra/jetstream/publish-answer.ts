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
const NINE = 57;
const CLOSING_BRACE = 125;
/** Digits of the largest safe integer. */
const DIGITS_MAX = 16;

export function parsePublishAnswer(message: Msg, stream: string): PublishAnswer {
  const { data } = message;
  if (data.length === 0) {
    const status = message.headers === undefined ? "an empty answer" : message.headers.status;
    return { kind: "unavailable", description: `nothing stores there: ${status}` };
  }
  const sequence = usualSequence(data, stream);
  if (sequence !== null) return { kind: "stored", sequence, isDuplicate: false };
  return parseUnusual(message.string(), stream);
}

/** The sequence in an answer of the usual form; null for any other form. */
function usualSequence(data: Uint8Array, stream: string): number | null {
  let at = data.length - 1;
  if (data[at] !== CLOSING_BRACE) return null;
  let sequence = 0;
  let weight = 1;
  for (at -= 1; at > 0; at -= 1) {
    const byte = data[at] ?? 0;
    if (byte < ZERO || byte > NINE) break;
    sequence += (byte - ZERO) * weight;
    weight *= 10;
  }
  if (weight === 1 || data.length - at > DIGITS_MAX) return null;
  const bytes = Buffer.from(data.buffer, data.byteOffset, at + 1);
  const head = bytes.toString("latin1");
  const isUsual =
    head === `{"stream":"${stream}","seq":` || head === `{"stream":"${stream}", "seq":`;
  return isUsual ? sequence : null;
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
