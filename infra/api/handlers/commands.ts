/**
 * `cmd.cancel`, `cmd.resolve`, `cmd.answer`: a person's or a program's word on a job that is there.
 *
 * Owns: what is answered. Does not own: the decisions (actors/jobs/commands.ts).
 *
 * C1. A command on a job that has ended is answered by how it ended, for which the journal is asked: "not found" means that
 *     there never was such a job.
 */

import { toJson } from "../../../actors/attempt/json-value.ts";
import { type HoldfastError, IllegalStateError, NotFoundError } from "../../../actors/errors.ts";
import type { Resolution } from "../../../actors/jobs/commands.ts";
import type { CancelAnswer } from "../../../actors/jobs/handle.ts";
import type { AnswerRequest, CancelRequest, ResolveRequest } from "../contract/requests.ts";
import type { AnswerBody, ApiRuntime } from "../endpoint.ts";
import { refusalOf } from "../refusal.ts";
import { outcomeOf } from "./submit.ts";

const REASONS: Readonly<Record<CancelAnswer["decision"], string>> = {
  cancelled: "it had not started",
  cancelling: "its code has been told, and ends when it looks",
  ended: "it ends as it is",
  not_found: "there is no such job",
};

export function cancelHandler(runtime: ApiRuntime) {
  return async ({ job, reason, by }: CancelRequest): Promise<AnswerBody> => {
    const { isCancelled, decision } = await runtime.cancel(job, reason, by);
    if (isCancelled) return { ok: true, decision, job, reason: REASONS[decision] };
    const ended = decision === "cancelling" ? null : await endOf(runtime, job);
    if (ended?.kind === "cancelled") {
      return { ok: true, decision: "ended", job, reason: "it had been cancelled before" };
    }
    if (ended !== null) {
      const error = illegalState(`The job ${job} has ended: ${ended.kind}.`, job);
      return { ...refusalOf(error, "ended"), job };
    }
    if (decision === "not_found") throw notFound(job);
    return { ...refusalOf(illegalState(`The job ${job} is ending: ${decision}.`, job)), job };
  };
}

export function resolveHandler(runtime: ApiRuntime) {
  return async ({
    job,
    resolution,
    by,
    reason,
    commandId,
  }: ResolveRequest): Promise<AnswerBody> => {
    try {
      await runtime.resolve(job, boundedResolution(resolution), by, reason, commandId);
    } catch (error) {
      throw await withEnd(runtime, job, error);
    }
    return { ok: true, decision: resolution.kind, job, reason: RESOLVED[resolution.kind] };
  };
}

const RESOLVED: Readonly<Record<Resolution["kind"], string>> = {
  completed: "it ends with the given result",
  failed: "it ends with the given failure",
  retry: "a new attempt stands in the line",
  known: "what waited for it goes on",
};

/** A result from outside keeps the bound that one from a job's code keeps. */
const boundedResolution = (resolution: ResolveRequest["resolution"]): Resolution =>
  resolution.kind === "completed"
    ? { kind: "completed", result: toJson(resolution.result, "the result") }
    : resolution;

export function answerHandler(runtime: ApiRuntime) {
  return async ({ job, name, value, by, commandId }: AnswerRequest): Promise<AnswerBody> => {
    try {
      await runtime.answer(job, name, toJson(value, "the answer"), by, commandId);
    } catch (error) {
      throw await withEnd(runtime, job, error);
    }
    return { ok: true, decision: "answered", job, name, reason: "the job has it" };
  };
}

/** C1. */
async function withEnd(runtime: ApiRuntime, job: string, error: unknown): Promise<unknown> {
  if (!(error instanceof NotFoundError)) return error;
  const ended = await endOf(runtime, job);
  return ended === null
    ? notFound(job)
    : illegalState(`The job ${job} has ended: ${ended.kind}.`, job);
}

async function endOf(runtime: ApiRuntime, job: string) {
  const settlement = (await runtime.find(job))?.settlement ?? null;
  return settlement === null ? null : outcomeOf(settlement);
}

const illegalState = (message: string, job: string): HoldfastError =>
  new IllegalStateError(message, { details: { job } });

export const notFound = (job: string): HoldfastError =>
  new NotFoundError(`There is no job ${job}.`, { details: { job } });
