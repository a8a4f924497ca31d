/**
 * Waiting for a job from a command line, across restarts of its daemon.
 *
 * Owns: asking in slices, and what an absent daemon means. Does not own: the job: it goes on whether anybody waits or not.
 *
 * W1. The same submission is asked again and again, under one id: the daemon joins it to the job it made (DOOR-7). A command
 *     whose answer was lost is thereby repeated and not doubled.
 * W2. A daemon that does not answer is waited for, up to AWAY_MS_MAX at a time: one that was killed comes back and goes on.
 */
import { type HoldfastError, isHoldfastError } from "../../../actors/errors.ts";
import { type ApiClient, connectClient } from "../../api/client.ts";
import type { Refusal, SubmitAnswer } from "../../api/contract/answers.ts";
import type { SubmitRequest } from "../../api/contract/requests.ts";
import { addressOf } from "../daemon-link.ts";
import type { Invocation } from "../line/verb.ts";

/** One slice of a wait: how soon the end of a daemon is noticed, ms. */
export const SLICE_MS = 1_000;
/** The longest absence of a daemon that is waited out, ms. */
export const AWAY_MS_MAX = 120_000;
const AWAY_PAUSE_MS = 500;

export interface WaitOptions {
  readonly invocation: Invocation;
  /** With an id or a command id (W1). */
  readonly request: SubmitRequest;
  /** After each slice that did not see the end. It may ask the client; what it throws is taken for an absence. */
  readonly onPending: (client: ApiClient, answer: SubmitAnswer) => Promise<void>;
}

/** Resolves with the answer that saw the end, or with a refusal. Rejects when the daemon stays away (W2). */
export async function submitAndWait(options: WaitOptions): Promise<SubmitAnswer | Refusal> {
  const { invocation } = options;
  let client: ApiClient | null = null;
  let awaySince: number | null = null;
  for (;;) {
    try {
      client ??= await connectClient(addressOf(invocation));
      const answer = await askOnce(client, options);
      if (answer !== null) {
        await client.close();
        return answer;
      }
      awaySince = null;
    } catch (error) {
      await client?.close();
      client = null;
      if (!isAbsence(error)) throw error;
      // A daemon that was never there is no absence: nobody would wait for it.
      if (awaySince === null) invocation.output.note(`holdfast: ${error.message} Waiting for it.`);
      awaySince ??= performance.now();
      if (performance.now() - awaySince > AWAY_MS_MAX) throw error;
      await new Promise((resolve) => setTimeout(resolve, AWAY_PAUSE_MS));
    }
  }
}

/** Null: it has not ended. */
async function askOnce(
  client: ApiClient,
  { request, onPending }: WaitOptions,
): Promise<SubmitAnswer | Refusal | null> {
  const answer = await client.submit({ ...request, wait: SLICE_MS });
  if (!answer.ok) {
    if (answer.retry === "backoff") throw new AbsentDaemonError(answer);
    return answer;
  }
  if (answer.decision === "ended") return answer;
  await onPending(client, answer);
  return null;
}
