/**
 * One endpoint of the API, and what its handler is given.
 *
 * Owns: tying a request's schema to the handler that takes it, the JSON Schemas that are published. Does not own: answering
 * (service.ts).
 */
import { z } from "zod";
import type { Runtime } from "../../actors/runtime/runtime.ts";
import type { Command, Query } from "./contract/names.ts";
import { parseRequest } from "./request-body.ts";

/** The part of the runtime that is asked from outside. */
export type ApiRuntime = Pick<
  Runtime,
  | "submitByType"
  | "find"
  | "cancel"
  | "resolve"
  | "answer"
  | "recordsOf"
  | "recordsOfJob"
  | "workflowOf"
  | "readTasks"
  | "health"
  | "lookAtRoom"
>;

/** Tells those who wait for a job that the daemon stops: they answer what they know. */
export interface Stopping {
  /** Calls `told` once at the stop, at once after it. Returns how to take that back. */
  onStop(told: () => void): () => void;
}

/** What an answer is as JSON. */
export type AnswerBody = { readonly ok: boolean } & Readonly<Record<string, unknown>>;

export interface Endpoint {
  readonly verb: Command | Query;
  /** Commands are counted and waited for at a stop; queries take their turn. */
  readonly kind: "command" | "query";
  readonly metadata: Readonly<Record<string, string>>;
  /** Throws what `parseRequest` throws, at once; rejects with what refuses it. */
  readonly take: (body: Uint8Array) => Promise<AnswerBody>;
}

export interface EndpointOptions<Request extends z.ZodType> {
  readonly verb: Command | Query;
  readonly kind: "command" | "query";
  readonly summary: string;
  readonly request: Request;
  readonly answer: z.ZodType;
  readonly handle: (request: z.output<Request>) => Promise<AnswerBody>;
}

export const endpoint = <Request extends z.ZodType>(
  options: EndpointOptions<Request>,
): Endpoint => ({
  verb: options.verb,
  kind: options.kind,
  metadata: {
    summary: options.summary,
    schema: schemaText(options.request, "input"),
    answer_schema: schemaText(options.answer, "output"),
  },
  take: (body) => options.handle(parseRequest(body, options.request)),
});

const schemaText = (schema: z.ZodType, io: "input" | "output"): string =>
  JSON.stringify(z.toJSONSchema(schema, { io }));
