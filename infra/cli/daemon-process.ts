/**
 * The process of a daemon: signals, stray errors, the exit code.
 *
 * Owns: what the operating system and Node tell a process that runs a daemon. Does not own: the daemon (infra/daemon).
 *
 * G1. The first SIGTERM, SIGINT or SIGHUP stops in order, also while the daemon comes up; a second one ends the process at once.
 *     That is a kill: nothing acknowledged is lost, and an embedded server goes on for the next daemon.
 * G2. A rejection that nobody handled is told and the daemon goes on: as a rule it is a forgotten `await` in a job's code, and
 *     every other job would pay for it. An exception that nobody caught, and a broken invariant, end the process: what it has
 *     left in memory cannot be known, and what is in the journal can.
 */
import type { Logger } from "pino";
import { isHoldfastError } from "../../actors/errors.ts";
import { InvariantError } from "../../machines/invariant.ts";
import { type Daemon, type DaemonOptions, startDaemon } from "../daemon/daemon.ts";
import { errorFields } from "../logging/notices.ts";
import { EXIT, exitCodeOf } from "./exit-codes.ts";
import type { Output } from "./output.ts";

const SIGNALS = {
  SIGTERM: EXIT.terminated,
  SIGINT: EXIT.interrupted,
  SIGHUP: EXIT.hangup,
} as const;
type StopSignal = keyof typeof SIGNALS;

export interface SupervisedDaemon {
  readonly options: DaemonOptions;
  readonly output: Output;
  readonly logger: Logger;
  readonly onUp: (daemon: Daemon) => void;
}

/** Runs a daemon to its end; the exit code. Rejects with what kept it from coming up. */
export async function superviseDaemon(supervised: SupervisedDaemon): Promise<number> {
  const { options, output, logger, onUp } = supervised;
  catchStrayErrors(logger);
  let daemon: Daemon | null = null;
  let isAsked = false;
  const stop = (): void => {
    // What keeps it from going down is told by the daemon itself; `ended` settles in every case.
    if (daemon !== null && isAsked) void daemon.stop();
  };
  onStopSignal((signal, isFirst) => {
    logger.info({ signal }, isFirst ? "asked to stop" : "asked again: stops at once");
    if (!isFirst) process.exit(SIGNALS[signal]);
    output.tell("stopping (once more to stop at once)");
    isAsked = true;
    stop();
  });
  daemon = await startDaemon(options);
  if (!isAsked) onUp(daemon);
  stop();
  const end = await daemon.ended;
  if (end.kind === "stopped") return EXIT.done;
  output.tell(`${end.error.message}`);
  return exitCodeOf(end.error);
}

function onStopSignal(told: (signal: StopSignal, isFirst: boolean) => void): void {
  let count = 0;
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.on(signal, () => {
      count += 1;
      told(signal, count === 1);
    });
  }
}

/** G2. */
function catchStrayErrors(logger: Logger): void {
  process.on("unhandledRejection", (error) => {
    if (error instanceof InvariantError) end(logger, error);
    else logger.error(errorFields(error), "a rejection that nobody handled");
  });
  process.on("uncaughtException", (error) => end(logger, error));
}

function end(logger: Logger, error: Error): never {
  const fields = {
    ...errorFields(error),
    ...(isHoldfastError(error) ? { stack: error.stack } : {}),
  };
  logger.fatal(fields, "an exception that nobody caught: the process ends");
  process.exit(EXIT.defect);
}
