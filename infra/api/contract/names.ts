/**
 * The subjects of the NATS API.
 *
 * Owns: which endpoints there are, and where each is asked. Does not own: what is asked and answered (requests.ts,
 * answers.ts), the subjects of the journal (infra/jetstream/names.ts).
 *
 * A1. Commands and queries stand below `cmd` and `get`, where no stream listens: a stream that captured a request would
 *     answer it first.
 */

export const COMMANDS = ["submit", "cancel", "resolve", "answer"] as const;
export type Command = (typeof COMMANDS)[number];

export const QUERIES = ["record", "jobs", "tree", "trajectory", "health"] as const;
export type Query = (typeof QUERIES)[number];

/** The name under which a daemon is found by `$SRV.PING|INFO|STATS`. */
export const SERVICE_NAME = "holdfast";

export const commandsPrefix = (namespace: string): string => `hf.${namespace}.cmd`;
export const queriesPrefix = (namespace: string): string => `hf.${namespace}.get`;

/** Where an endpoint is asked. The namespace was checked before: it is one plain token. */
export const subjectOf = (namespace: string, verb: Command | Query): string => {
  const isQuery = QUERIES.some((query) => query === verb);
  return `${isQuery ? queriesPrefix(namespace) : commandsPrefix(namespace)}.${verb}`;
};
