/**
 * What a verb of `holdfast` is.
 *
 * Owns: the shape of verbs and of what they are given, the options that many share. Does not own: any verb (verbs/), parsing
 * (arguments.ts).
 */
import type { Output } from "../output.ts";

export interface OptionSpec {
  readonly type: "string" | "boolean";
  /** May be given several times. Default: false. */
  readonly isMultiple?: boolean;
  /** Stands for the value in the help: `FILE`. */
  readonly value?: string;
  /** A phrase for the help, without its full stop. */
  readonly help: string;
}

export interface Positional {
  /** As the help shows it: `TYPE`. */
  readonly name: string;
  readonly isOptional?: boolean;
  /** The last one may stand for several words. Default: false. */
  readonly isRepeated?: boolean;
}

export interface Verb {
  readonly name: string;
  /** A phrase for the list of verbs. */
  readonly summary: string;
  readonly positionals: readonly Positional[];
  readonly options: Readonly<Record<string, OptionSpec>>;
  /** Paragraphs for the verb's own help. */
  readonly notes: readonly string[];
  /** Whole command lines, without `holdfast`. */
  readonly examples: readonly string[];
  /** Resolves with the exit code. Rejects with coded errors, UsageError among them. */
  readonly run: (invocation: Invocation) => Promise<number>;
}

/** A verb's command line, parsed, and where it runs. */
export interface Invocation {
  readonly output: Output;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Positional words, as many as the verb allows. */
  readonly words: readonly string[];
  readonly text: (option: string) => string | undefined;
  readonly texts: (option: string) => readonly string[];
  readonly has: (option: string) => boolean;
}

export const COMMON_OPTIONS = {
  json: { type: "boolean", help: "print one JSON document and nothing else" },
  help: { type: "boolean", help: "show this" },
} as const satisfies Record<string, OptionSpec>;

/** Of every verb that may be told of a server. */
export const INBOX_OPTION = {
  "inbox-prefix": {
    type: "string",
    value: "PREFIX",
    help: "with --nats: where its user may receive answers (default: $HOLDFAST_INBOX_PREFIX, else _INBOX)",
  },
} as const satisfies Record<string, OptionSpec>;

/** Of every verb that asks a daemon. */
export const CLIENT_OPTIONS = {
  data: {
    type: "string",
    value: "DIR",
    help: "the daemon's data folder (default: $HOLDFAST_DATA, else .holdfast)",
  },
  nats: {
    type: "string",
    value: "URL",
    help: "ask the daemon at this server instead (default: $HOLDFAST_NATS)",
  },
  namespace: { type: "string", value: "NS", help: "with --nats: the daemon's namespace" },
  ...INBOX_OPTION,
} as const satisfies Record<string, OptionSpec>;
