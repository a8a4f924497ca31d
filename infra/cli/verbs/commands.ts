/**
 * `holdfast cancel`, `resolve`, `answer`: a person's word on one job.
 *
 * Owns: their options, and what is told. Does not own: the decisions.
 */
import { userInfo } from "node:os";
import type { ApiClient } from "../../api/client.ts";
import type { Refusal } from "../../api/contract/answers.ts";
import { AnswerRequest, CancelRequest, ResolveRequest } from "../../api/contract/requests.ts";
import { checkRequest } from "../../api/request-body.ts";
import { linkToDaemon } from "../daemon-link.ts";
import { EXIT } from "../exit-codes.ts";
import { usage } from "../line/arguments.ts";
import { CLIENT_OPTIONS, type Invocation, type Verb } from "../line/verb.ts";
import { tellRefusal } from "../refused.ts";
import { parseJsonText } from "../running/run-file.ts";
import { oneLine, printable } from "../text.ts";

interface Decided {
  readonly ok: true;
  readonly decision: string;
  readonly job: string;
  readonly reason: string;
}

async function command(
  invocation: Invocation,
  ask: (client: ApiClient) => Promise<Decided | Refusal>,
): Promise<number> {
  const { output } = invocation;
  await using client = await linkToDaemon(invocation);
  const answer = await ask(client);
  if (!answer.ok) return tellRefusal(output, answer);
  output.document(answer);
  output.line(`${answer.decision} ${printable(answer.job)}: ${oneLine(answer.reason)}`);
  return EXIT.done;
}

/** Who asks, for the journal. */
function asker(): { readonly by?: string } {
  try {
    return { by: userInfo().username };
  } catch {
    return {}; // A number without a name: the daemon's own word for it will do.
  }
}

export const cancel: Verb = {
  name: "cancel",
  summary: "cancel a job and what it started",
  positionals: [{ name: "JOB" }],
  options: {
    reason: { type: "string", value: "TEXT", help: "why, for the journal and for the job" },
    ...CLIENT_OPTIONS,
  },
  notes: [
    "A job that has not started ends at once. One that runs is told, and ends when its code looks.",
  ],
  examples: ["cancel import-7 --reason 'wrong file'"],
  run: async (invocation) => {
    const reason = invocation.text("reason");
    const request = checkRequest(
      {
        job: invocation.words[0],
        ...asker(),
        ...(reason === undefined ? {} : { reason }),
      },
      CancelRequest,
    );
    return command(invocation, (client) => client.cancel(request));
  },
};

export const resolve: Verb = {
  name: "resolve",
  summary: "say what became of a job whose last attempt nobody saw end",
  positionals: [{ name: "JOB" }],
  options: {
    completed: { type: "string", value: "JSON", help: "it was done; this is its result" },
    failed: { type: "string", value: "TEXT", help: "it failed; this is what went wrong" },
    retry: { type: "boolean", help: "run it again" },
    known: { type: "boolean", help: "it has ended, and what it did is known: let others go on" },
    reason: { type: "string", value: "TEXT", help: "how you know, for the journal (needed)" },
    ...CLIENT_OPTIONS,
  },
  notes: [
    "A job that may not be run twice without asking waits for this when the process that ran it was lost. Jobs that tolerate failures wait for --known when it has ended and nobody saw what it did. Exactly one of --completed, --failed, --retry and --known is given.",
  ],
  examples: [
    `resolve pay-7 --completed '{"paid": true}' --reason 'it is on the bank statement'`,
    "resolve pay-7 --retry --reason 'the bank has no trace of it'",
  ],
  run: async (invocation) => {
    const request = checkRequest(
      {
        job: invocation.words[0],
        resolution: resolutionOf(invocation),
        reason: invocation.text("reason") ?? missingReason(),
        ...asker(),
      },
      ResolveRequest,
    );
    return command(invocation, (client) => client.resolve(request));
  },
};

function missingReason(): never {
  throw usage(resolve, "--reason is missing: the journal keeps how you know");
}

function resolutionOf(invocation: Invocation): object {
  const completed = invocation.text("completed");
  const failed = invocation.text("failed");
  const isRetry = invocation.has("retry");
  const given = [completed !== undefined, failed !== undefined, isRetry, invocation.has("known")];
  if (given.filter(Boolean).length !== 1) {
    throw usage(resolve, "exactly one of --completed, --failed, --retry and --known is needed");
  }
  if (completed !== undefined) {
    return { kind: "completed", result: parseJsonText(completed, "--completed") };
  }
  if (failed !== undefined) return { kind: "failed", message: failed };
  return isRetry ? { kind: "retry" } : { kind: "known" };
}

export const answer: Verb = {
  name: "answer",
  summary: "give a job the word from outside that it waits for",
  positionals: [{ name: "JOB" }, { name: "NAME" }, { name: "JSON" }],
  options: CLIENT_OPTIONS,
  notes: ["holdfast status JOB says what a job waits for."],
  examples: [`answer release-3 approval '{"approved": true}'`],
  run: async (invocation) => {
    const [job, name, value = ""] = invocation.words;
    const request = checkRequest(
      { job, name, value: parseJsonText(value, "JSON"), ...asker() },
      AnswerRequest,
    );
    return command(invocation, (client) => client.answer(request));
  },
};
