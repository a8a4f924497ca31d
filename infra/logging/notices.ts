/**
 * What the runtime tells people, as lines of the log.
 *
 * Owns: the level, the words and the plain fields of each notice. Does not own: the notices (actors/runtime/world.ts).
 *
 * M1. A line about a job is bound to it, and to its workflow where that is known.
 * M2. An error is told by its code, its text and its causes; the stack only of a defect.
 */
import { isHoldfastError, toErrorRecord } from "../../actors/errors.ts";
import type { Finding } from "../../actors/runtime/fold.ts";
import type { Notice } from "../../actors/runtime/world.ts";
import { taskOf } from "../../projections/journaled-move.ts";
import type { Logger } from "./logger.ts";

/** Writes one notice. Never throws: nothing depends on anybody listening. */
export function logNotice(logger: Logger, notice: Notice): void {
  switch (notice.kind) {
    case "recovered": {
      const { liveJobs, interrupted, transitions } = notice;
      logger.info({ liveJobs, interrupted, transitions }, "recovered from the journal");
      return;
    }
    case "found":
      logFinding(logger, notice.finding);
      return;
    case "resyncing":
      logger.warn(
        { reason: notice.reason, pending: notice.pending },
        "the journal reads back what it stored",
      );
      return;
    case "waiting":
      logger.warn(
        { reason: notice.reason, delayMs: notice.delayMs },
        "the journal waits for its server",
      );
      return;
    case "resynced":
      logger.info(
        { fencePosition: notice.fencePosition, resent: notice.resent },
        "the journal goes on",
      );
      return;
    case "fault":
      boundTo(logger, notice.job).error(
        { where: notice.where, ...errorFields(notice.error) },
        "a fault was caught",
      );
      return;
    case "ended":
      logger.error(errorFields(notice.error), "the journal is over");
      return;
  }
}

/** Void records are what a take-over leaves behind; anything else sets a job aside and wants a person. */
function logFinding(logger: Logger, { kind, position, subject, reason }: Finding): void {
  const task = taskOf(subject);
  const bound = task === null ? logger : logger.child({ job: task.job, workflow: task.workflow });
  const fields = { finding: kind, position, reason };
  if (kind === "void") bound.info(fields, "a record of a former owner is void");
  else bound.error(fields, "a record could not be read as it was meant");
}

const boundTo = (logger: Logger, job: string | null): Logger =>
  job === null ? logger : logger.child({ job });

/** An error as plain fields (M2). */
export function errorFields(error: unknown): Readonly<Record<string, unknown>> {
  const { code, message, retry, details, cause } = toErrorRecord(error);
  const isDefect = !isHoldfastError(error) && error instanceof Error;
  return {
    code,
    error: message,
    retry,
    ...(details === undefined ? {} : { details }),
    ...(cause === undefined ? {} : { cause }),
    ...(isDefect ? { stack: error.stack } : {}),
  };
}
