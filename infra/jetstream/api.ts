/**
 * One request to the JetStream API: JSON out, JSON in.
 *
 * Owns: the envelope (an `error` member, or the answer), finding or creating a stream while others do the same. Does not own: what
 * is asked, what a stream has to be like (stream.ts, leases/, records/), reading.
 */
import type { Msg } from "nats";
import { z } from "zod";
import type { ReadConnection } from "./connection.ts";
import {
  type Attempt,
  apiRefusal,
  isRefusedWith,
  STREAM_NAME_IN_USE,
  STREAM_NOT_FOUND,
  SUBJECTS_OVERLAP,
  unreadableAnswer,
} from "./errors.ts";

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

/** What the server says of a stream; null: there is none. Errors: as `callApi`. */
export async function findStream<Info>(
  connection: Pick<ReadConnection, "request">,
  stream: string,
  schema: z.ZodType<Info>,
  attempt: Attempt,
): Promise<Info | null> {
  try {
    return await callApi(connection, `STREAM.INFO.${stream}`, null, schema, attempt);
  } catch (error) {
    if (isRefusedWith(error, STREAM_NOT_FOUND)) return null;
    throw error;
  }
}

/**
 * What the server says of the stream of that name, which is created so if there is none. It may be another than was asked for:
 * who calls judges it. Errors: as `callApi`.
 */
export async function findOrCreateStream<Info>(
  connection: Pick<ReadConnection, "request">,
  config: Readonly<Record<string, unknown>> & { readonly name: string },
  schema: z.ZodType<Info>,
  attempts: { readonly find: Attempt; readonly create: Attempt },
): Promise<Info> {
  const find = () => findStream(connection, config.name, schema, attempts.find);
  const found = await find();
  if (found !== null) return found;
  try {
    const verb = `STREAM.CREATE.${config.name}`;
    return await callApi(connection, verb, config, schema, attempts.create);
  } catch (error) {
    // Somebody created it since we looked: 2.9 says now and then that it is the subjects that are taken.
    const isTaken = isRefusedWith(error, STREAM_NAME_IN_USE, SUBJECTS_OVERLAP);
    const created = isTaken ? await find() : null;
    if (created !== null) return created;
    throw error;
  }
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
