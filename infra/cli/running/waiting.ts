/**
 * Waiting for a job from a command line, across restarts of its daemon.
 *
 * Owns: asking in slices, and what an absent daemon means. Does not own: the job: it goes on whether anybody waits or not.
 *
 * W1. The same submission is asked again and again, under one id: the daemon joins it to the job it made (DOOR-7). A command
 *     whose answer was lost is thereby repeated and not doubled.
 * W2. A daemon that does not answer is waited for, up to AWAY_MS_MAX at a time: one that was killed comes back and goes on.
 */
import { fromErrorRecord, type HoldfastError, isHoldfastError } from "../../../actors/errors.ts";
import type { ApiClient } from "../../api/client.ts";
import type { Refusal, SubmitAnswer } from "../../api/contract/answers.ts";
import type { SubmitRequest } from "../../api/contract/requests.ts";
import { linkToDaemon } from "../daemon-link.ts";
import type { Invocation } from "../line/verb.ts";
import { oneLine } from "../text.ts";

/** One slice of a wait, ms. */
const SLICE_MS = 1_000;
/** How late its answer may come: after that the daemon is taken for gone, ms. */
const ANSWER_WAIT_MS = 3_000;
/** The longest absence of a daemon that is waited out, ms. */
const AWAY_MS_MAX = 120_000;
const AWAY_PAUSE_MS = 500;

export interface WaitOptions {
  readonly invocation: Invocation;
  /** With an id or a command id (W1). */
  readonly request: SubmitRequest;
  /** After each slice that did not see the end. It may ask the client; what it throws is taken for an absence. */
  readonly onPending: (client: ApiClient, answer: SubmitAnswer) => Promise<void>;
}

/**
 * Resolves with the answer that saw the end, or with a refusal. Rejects when there is no daemon to begin with, and when it stays
 * away (W2).
 */
export async function submitAndWait(options: WaitOptions): Promise<SubmitAnswer | Refusal> {
  const link = new Link(options);
  try {
    for (;;) {
      const answer = await link.ask();
      if (answer !== null) return answer;
    }
  } finally {
    await link.close();
  }
}

/** One connection after the other. */
class Link {
  readonly #options: WaitOptions;
  #client: ApiClient | null = null;
  #hasAnswered = false;
  #awaySince: number | null = null;

  constructor(options: WaitOptions) {
    this.#options = options;
  }

  /** Null: not ended, or not there for the moment. */
  async ask(): Promise<SubmitAnswer | Refusal | null> {
    try {
      this.#client ??= await linkToDaemon(this.#options.invocation, {
        answerWaitMs: ANSWER_WAIT_MS,
      });
      const answer = await askOnce(this.#client, this.#options);
      this.#hasAnswered = true;
      this.#awaySince = null;
      return answer;
    } catch (error) {
      if (!isAbsence(error) || !this.#hasAnswered) throw error;
      await this.#waitOut(error);
      return null;
    }
  }

  async #waitOut(error: HoldfastError): Promise<void> {
    const { output } = this.#options.invocation;
    if (this.#awaySince === null) {
      output.tell(`${oneLine(error.message)} Waiting for it to come back.`);
    }
    this.#awaySince ??= performance.now();
    if (performance.now() - this.#awaySince > AWAY_MS_MAX) throw error;
    // Looked up anew: its next server may listen elsewhere.
    await this.close();
    await new Promise((resolve) => setTimeout(resolve, AWAY_PAUSE_MS));
  }

  async close(): Promise<void> {
    await this.#client?.close();
    this.#client = null;
  }
}

const isAbsence = (error: unknown): error is HoldfastError =>
  isHoldfastError(error) && error.retry === "backoff";

/** Null: it has not ended. A refusal that another try may mend is thrown, like any other absence. */
async function askOnce(
  client: ApiClient,
  { request, onPending }: WaitOptions,
): Promise<SubmitAnswer | Refusal | null> {
  const answer = await client.submit({ ...request, wait: SLICE_MS });
  if (!answer.ok) {
    if (answer.retry !== "backoff") return answer;
    throw fromErrorRecord({ code: answer.code, message: answer.reason, retry: answer.retry });
  }
  if (answer.decision === "ended") return answer;
  await onPending(client, answer);
  return null;
}
