/** A stream that somebody else creates at the same moment: what the server refuses is looked at again, and used. */
import { expect, it } from "vitest";
import type { ReadConnection } from "../../../infra/jetstream/connection.ts";
import { ensureBucket, leaseNames } from "../../../infra/jetstream/leases/bucket.ts";
import { partitionNames } from "../../../infra/jetstream/names.ts";
import { ensureRecordBucket, recordBucketNames } from "../../../infra/jetstream/records/bucket.ts";
import { ensureStream } from "../../../infra/jetstream/stream.ts";
import { makeMessage } from "./made-message.ts";

const ADDRESS = { namespace: "n", partition: 0, generation: 1 };
const NAME_IN_USE = 10058;
/** What 2.9 answers now and then where others answer 10058. */
const SUBJECTS_OVERLAP = 10065;
const NOT_FOUND = 10059;

interface Answer {
  readonly error?: {
    readonly code: number;
    readonly err_code: number;
    readonly description: string;
  };
  readonly config?: object;
  readonly state?: object;
}

const refusal = (code: number): Answer => ({
  error: { code: 400, err_code: code, description: "no" },
});

/** A server that has no stream at the first look, refuses to create it, and has it afterwards, or not. */
function serverThatRefuses(code: number, isThereAfterwards: boolean) {
  const asked: string[] = [];
  let created: object = {};
  const answerTo = (verb: string, payload: string): Answer => {
    if (verb === "INFO") return {};
    if (verb.startsWith("STREAM.CREATE")) {
      created = JSON.parse(payload);
      return refusal(code);
    }
    if (!asked.some((each) => each.startsWith("STREAM.CREATE"))) {
      return refusal(NOT_FOUND);
    }
    const state = { messages: 0, bytes: 0, first_seq: 0, last_seq: 0 };
    return isThereAfterwards ? { config: created, state } : refusal(NOT_FOUND);
  };
  const request = async (subject: string, payload: string) => {
    const verb = subject.replace("$JS.API.", "");
    const answer = answerTo(verb, payload);
    asked.push(verb);
    return makeMessage({ data: Buffer.from(JSON.stringify(answer)) });
  };
  // A test double: asking is all that creating does with a connection.
  return { request } as unknown as ReadConnection;
}

const OPENINGS = [
  ["the log", (on: ReadConnection) => ensureStream(on, partitionNames(ADDRESS), undefined)],
  ["the bucket of leases", (on: ReadConnection) => ensureBucket(on, leaseNames(ADDRESS), 9_000)],
  ["the bucket of records", (on: ReadConnection) => ensureRecordBucket(on, recordBucketNames("n"))],
] as const;

it.each(
  OPENINGS.flatMap(([what, open]) =>
    [NAME_IN_USE, SUBJECTS_OVERLAP].map((code) => [what, code, open] as const),
  ),
)("%s that is refused with %i is opened as somebody else made it", async (_, code, open) => {
  await expect(open(serverThatRefuses(code, true))).resolves.toBeDefined();
});

it.each(OPENINGS)("%s whose subjects really are another stream's is refused", async (_, open) => {
  await expect(open(serverThatRefuses(SUBJECTS_OVERLAP, false))).rejects.toMatchObject({
    code: "journal",
    details: { apiCode: SUBJECTS_OVERLAP },
  });
});
