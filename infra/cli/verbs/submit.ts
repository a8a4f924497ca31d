/**
 * `holdfast submit`: one job.
 *
 * Owns: reading its input, telling what was decided, how it ended. Does not own: waiting (running/waiting.ts).
 */
import { text as readAll } from "node:stream/consumers";
import type { SubmitAnswer } from "../../api/contract/answers.ts";
import { REQUEST_BYTES_MAX } from "../../api/contract/limits.ts";
import { SubmitRequest } from "../../api/contract/requests.ts";
import { checkRequest } from "../../api/request-body.ts";
import { systemIds } from "../../system/ids.ts";
import { linkToDaemon } from "../daemon-link.ts";
import { EXIT } from "../exit-codes.ts";
import { UsageError } from "../line/usage-error.ts";
import { CLIENT_OPTIONS, type Invocation, type Verb } from "../line/verb.ts";
import type { Output } from "../output.ts";
import { tellRefusal } from "../refused.ts";
import { parseJsonText, readText } from "../running/run-file.ts";
import { submitAndWait } from "../running/waiting.ts";
import { oneLine, printable } from "../text.ts";

export const submit: Verb = {
  name: "submit",
  summary: "submit a job",
  positionals: [{ name: "TYPE" }, { name: "INPUT", isOptional: true }],
  options: {
    id: { type: "string", value: "ID", help: "its id: submitted again, it is the same job" },
    user: { type: "string", value: "USER", help: "whose job it is (default: local)" },
    after: {
      type: "string",
      value: "JOB",
      isMultiple: true,
      help: "a job that must have ended first; may be given several times",
    },
    "tolerate-failures": {
      type: "boolean",
      help: "with --after: run although one of them did not complete",
    },
    metadata: { type: "string", value: "JSON", help: "an object that is kept with the job" },
    wait: { type: "boolean", help: "wait until it has ended, and print its result" },
    ...CLIENT_OPTIONS,
  },
  notes: [
    "INPUT is JSON, @FILE for JSON in a file, or - for JSON from stdin. Left out, the job gets no input.",
    "With --wait the exit code tells the outcome: 0 completed, 10 failed, 11 cancelled, 12 timed out. A daemon that is started again meanwhile is waited for.",
  ],
  examples: [
    `submit greet '{"name": "world"}'`,
    "submit import @orders.json --id import-7 --wait",
    `submit report --after import-7 --after import-8 --metadata '{"ticket": "T-1"}'`,
  ],
  run: async (invocation) => {
    const request = await requestOf(invocation);
    const { output } = invocation;
    if (invocation.has("wait")) {
      const answer = await submitAndWait({
        invocation,
        request,
        onPending: () => Promise.resolve(),
      });
      return answer.ok ? tellOutcome(output, answer) : tellRefusal(output, answer);
    }
    await using client = await linkToDaemon(invocation);
    const answer = await client.submit(request);
    if (!answer.ok) return tellRefusal(output, answer);
    output.document(answer);
    const { decision, job } = answer;
    output.line(`${decision === "joined" ? "joined" : "submitted"} ${printable(job)}`);
    return EXIT.done;
  },
};

export async function requestOf(invocation: Invocation): Promise<SubmitRequest> {
  const [type = "", input] = invocation.words;
  const [id, user] = [invocation.text("id"), invocation.text("user")];
  const metadata = invocation.text("metadata");
  const after = invocation.texts("after");
  const value = {
    type,
    ...(input === undefined ? {} : { input: await readInput(input) }),
    ...(id === undefined ? { commandId: newCommandId(type) } : { id }),
    ...(user === undefined ? {} : { user }),
    ...(after.length === 0 ? {} : { after }),
    ...(invocation.has("tolerate-failures") ? { toleratesFailures: true } : {}),
    ...(metadata === undefined ? {} : { metadata: parseJsonText(metadata, "--metadata") }),
  };
  return checkRequest(value, SubmitRequest);
}

/** Minted here and not by the daemon, so that a command whose answer is lost can be repeated. */
export const newCommandId = (type: string): string => `${type}-${systemIds().ulid()}`;

async function readInput(word: string): Promise<unknown> {
  if (word === "-") return parseJsonText(await readAll(process.stdin), "What came from stdin");
  if (word.startsWith("@")) return parseJsonText(readText(word.slice(1)), word.slice(1));
  if (word.length > REQUEST_BYTES_MAX) throw new UsageError("INPUT is too large for one request.");
  return parseJsonText(word, "INPUT");
}

/** Writes how the job ended, and gives the exit code. */
export function tellOutcome(output: Output, answer: SubmitAnswer): number {
  output.document(answer);
  const { outcome, job } = answer;
  if (outcome === undefined) return EXIT.done;
  if (outcome.kind === "completed") {
    output.line(JSON.stringify(outcome.result, null, 2));
    return EXIT.done;
  }
  const { code, message } = outcome.error;
  const words = outcome.kind.replaceAll("_", " ");
  output.tell(`${printable(job)} ${words}: ${code}: ${oneLine(message)}`);
  return OUTCOME_CODES[outcome.kind];
}

export const OUTCOME_CODES = {
  failed: EXIT.jobFailed,
  cancelled: EXIT.jobCancelled,
  timed_out: EXIT.jobTimedOut,
} as const;
