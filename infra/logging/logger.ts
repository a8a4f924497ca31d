/**
 * The daemon's log: JSON lines on stderr.
 *
 * Owns: levels, the form of a line, taking registered secrets out of it. Does not own: what is told (notices.ts, and whoever
 * is given the logger).
 *
 * L1. A registered secret stands in no line, however it got there: the finished line is searched, in plain and as JSON.
 * L2. A line is written before the call returns: what a process said before it ended is there.
 */
import { type DestinationStream, type Logger, pino } from "pino";
import { REDACTED, SECRET_LENGTH_MIN } from "../../actors/journal/redaction.ts";

export type { Logger };

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface LoggerOptions {
  /** Default: "info". */
  readonly level?: LogLevel;
  /** Where lines go. Default: stderr. */
  readonly destination?: DestinationStream;
}

export interface DaemonLog {
  readonly logger: Logger;
  /** From now on this value stands in no line (L1). One that is too short to be told from ordinary text is passed over. */
  readonly register: (secret: string) => void;
}

const STDERR = 2;

export function openLog(options: LoggerOptions = {}): DaemonLog {
  const { level = "info", destination = pino.destination({ fd: STDERR, sync: true }) } = options;
  const secrets = new Set<string>();
  const hide = (line: string): string => {
    let hidden = line;
    for (const secret of secrets) hidden = hidden.replaceAll(secret, REDACTED);
    return hidden;
  };
  const logger = pino(
    {
      level,
      // Names and UTC times instead of numbers: the lines are read by people too.
      formatters: { level: (label) => ({ level: label }), bindings: ({ pid }) => ({ pid }) },
      timestamp: pino.stdTimeFunctions.isoTime,
    },
    { write: (line) => destination.write(hide(line)) },
  );
  const register = (secret: string): void => {
    if (secret.length < SECRET_LENGTH_MIN) return;
    // As it stands in a JSON text first: there it may have been escaped.
    secrets.add(JSON.stringify(secret).slice(1, -1));
    secrets.add(secret);
  };
  return { logger, register };
}
