/**
 * One request to the JetStream API: JSON out, JSON in.
 *
 * Owns: the envelope (an `error` member, or the answer). Does not own: what is asked (stream.ts, reading/, leases/).
 */
import type { Msg } from "nats";
import { z } from "zod";
import type { ReadConnection } from "./connection.ts";
import { type Attempt, apiRefusal, unreadableAnswer } from "./errors.ts";

const failureSchema = z.object({
  error: z.object({
    code: z.number(),
    err_code: z.number().default(0),
    description: z.string().default(""),
  }),
});

/**
 * Asks `$JS.API.<verb>`. Sends only the fields given: a server from 2.12 on refuses one that it does not know.
 * Errors: JournalError, refused or unknown; `details.apiCode` is the server's numeric code when it gave one.
 */
export async function callApi<Answer>(
  connection: Pick<ReadConnection, "request">,
  verb: string,
  body: Readonly<Record<string, unknown>> | null,
  schema: z.ZodType<Answer>,
  attempt: Attempt,
): Promise<Answer> {
  const payload = body === null ? "" : JSON.stringify(body);
  return readAnswer(await connection.request(`$JS.API.${verb}`, payload, attempt), schema, attempt);
}

/** The answer in a message that JetStream sent, to a publish too. Errors: as `callApi`. */
export function readAnswer<Answer>(
  message: Msg,
  schema: z.ZodType<Answer>,
  attempt: Attempt,
): Answer {
  const answer = parseAnswer(message.string(), attempt);
  const failure = failureSchema.safeParse(answer);
  if (failure.success) throw apiRefusal(failure.data.error, attempt);
  const result = schema.safeParse(answer);
  if (!result.success) throw unreadableAnswer(attempt, result.error);
  return result.data;
}

function parseAnswer(text: string, attempt: Attempt): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw unreadableAnswer(attempt, error);
  }
}
