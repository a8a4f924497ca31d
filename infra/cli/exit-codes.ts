/**
 * Exit codes of `holdfast`, all of them.
 *
 * Owns: the numbers and which error becomes which. Does not own: the errors. 64 and above follow `sysexits.h` and the shell.
 */
import { isHoldfastError } from "../../actors/errors.ts";
import { UsageError } from "./line/usage-error.ts";

export const EXIT = {
  done: 0,
  /** The daemon refused, or a check of `doctor` failed; the answer's code says why. */
  refused: 1,
  /** Job modules, options, server: something has to be put right before a daemon can come up. */
  config: 2,
  /** Another daemon took the partition; this one stopped by itself. To start it again would be to fight the new owner. */
  fenced: 3,
  /** The journal ended: the log lost what it had acknowledged, or must not be read on. */
  journal: 4,
  /** A living daemon has the data folder or the partition. */
  ownership: 5,
  /** No daemon or no server answers. */
  unavailable: 6,
  /** How the job of `run` or `submit --wait` ended. */
  jobFailed: 10,
  jobCancelled: 11,
  jobTimedOut: 12,
  usage: 64,
  /** A defect of Holdfast, or of a job's code outside any job. */
  defect: 70,
  /** Stopped at once by a second signal, or while it waited: 128 + the signal's number. */
  hangup: 129,
  interrupted: 130,
  terminated: 143,
} as const;

const BY_CODE: Readonly<Record<string, number>> = {
  config: EXIT.config,
  fenced: EXIT.fenced,
  journal: EXIT.journal,
  ownership: EXIT.ownership,
  external_service: EXIT.unavailable,
  system: EXIT.defect,
};

export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return EXIT.usage;
  return isHoldfastError(error) ? (BY_CODE[error.code] ?? EXIT.refused) : EXIT.defect;
}
