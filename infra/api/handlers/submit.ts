/**
 * `cmd.submit`: a job from outside, and waiting for its end.
 *
 * Owns: which id a submission has, what is answered to a request that waits. Does not own: the decision (the door).
 *
 * S1. A command id is the job's id when no id is given: a repeated command finds the job it made (API-2).
 * S2. A wait ends with the job, with its time, or with the daemon, whichever is first. The job goes on either way.
 */
import { toErrorRecord } from "../../../actors/errors.ts";
import type { JobHandle, Settlement } from "../../../actors/jobs/handle.ts";
import type { JobOutcome } from "../contract/answers.ts";
import { WAIT_MS_DEFAULT } from "../contract/limits.ts";
import type { SubmitRequest } from "../contract/requests.ts";
import type { AnswerBody, ApiRuntime, Stopping } from "../endpoint.ts";
import { refusalOf } from "../refusal.ts";

export function submitHandler(runtime: ApiRuntime, stopping: Stopping) {
  return async (request: SubmitRequest): Promise<AnswerBody> => {
    const { type, input, id = request.commandId, wait = false } = request;
    const { decision, handle, refusal } = await runtime.submitByType(
      type,
      input,
      optionsOf(request, id),
    );
    if (refusal !== null)
      return { ...refusalOf(refusal), ...(id === undefined ? {} : { job: id }) };
    const known = { ok: true, job: handle.id, workflow: handle.workflow };
    if (wait === false) return { ...known, decision };
    const settlement = await settledWithin(
      handle,
      wait === true ? WAIT_MS_DEFAULT : wait,
      stopping,
    );
    return settlement === null
      ? { ...known, decision: "pending" }
      : { ...known, decision: "ended", outcome: outcomeOf(settlement) };
  };
}

/** Only what was asked for: an option that is there and undefined is another thing than none. */
function optionsOf(request: SubmitRequest, id: string | undefined) {
  const { user, after, toleratesFailures, timeoutMs, metadata } = request;
  return {
    ...(id === undefined ? {} : { id }),
    ...(user === undefined ? {} : { user }),
    ...(after === undefined ? {} : { after }),
    ...(toleratesFailures === undefined ? {} : { toleratesFailures }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(metadata === undefined ? {} : { metadata }),
  };
}

/** S2. Null: it has not ended. */
function settledWithin(
  handle: JobHandle<unknown>,
  waitMs: number,
  stopping: Stopping,
): Promise<Settlement | null> {
  if (handle.settlement !== null) return Promise.resolve(handle.settlement);
  return new Promise((resolve) => {
    const done = (): void => {
      takeBack();
      resolve(handle.settlement);
    };
    const takeBack = stopping.onStop(() => resolve(handle.settlement));
    // It rejects when the job failed and when the time is over: what is answered stands in the settlement.
    handle.result({ timeoutMs: waitMs }).then(done, done);
  });
}

/** How a settled handle's end is told as data. */
export function outcomeOf(settlement: Settlement): JobOutcome {
  if (settlement.kind === "completed") return { kind: "completed", result: settlement.result };
  const error = toErrorRecord(settlement.error.cause ?? settlement.error);
  return { kind: settlement.end, error };
}
