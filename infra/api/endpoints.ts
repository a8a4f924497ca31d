/**
 * The table of endpoints: for each what it is for, what it takes, what it answers, and who handles it.
 *
 * Owns: the table. Does not own: anything in it.
 */
import {
  AnswerAnswer,
  CancelAnswer,
  HealthAnswer,
  JobsAnswer,
  RecordAnswer,
  ResolveAnswer,
  SubmitAnswer,
  TrajectoryAnswer,
  TreeAnswer,
} from "./contract/answers.ts";
import {
  AnswerRequest,
  CancelRequest,
  HealthRequest,
  JobsRequest,
  RecordRequest,
  ResolveRequest,
  SubmitRequest,
  WorkflowRequest,
} from "./contract/requests.ts";
import { type ApiRuntime, type Endpoint, endpoint, type Stopping } from "./endpoint.ts";
import { answerHandler, cancelHandler, resolveHandler } from "./handlers/commands.ts";
import { jobsHandler } from "./handlers/jobs.ts";
import {
  type HealthFacts,
  healthHandler,
  recordHandler,
  trajectoryHandler,
  treeHandler,
} from "./handlers/queries.ts";
import { submitHandler } from "./handlers/submit.ts";

export function endpointsOf(options: {
  readonly runtime: ApiRuntime;
  readonly stopping: Stopping;
  readonly facts: HealthFacts;
}): readonly Endpoint[] {
  const { runtime, stopping, facts } = options;
  return [...commandsOf(runtime, stopping), ...queriesOf(runtime, facts)];
}

const commandsOf = (runtime: ApiRuntime, stopping: Stopping): readonly Endpoint[] => [
  endpoint({
    verb: "submit",
    kind: "command",
    summary: "Submits a job; with `wait` it is answered when the job has ended.",
    request: SubmitRequest,
    answer: SubmitAnswer,
    handle: submitHandler(runtime, stopping),
  }),
  endpoint({
    verb: "cancel",
    kind: "command",
    summary: "Cancels a job: at once when it has not started, else its code is told.",
    request: CancelRequest,
    answer: CancelAnswer,
    handle: cancelHandler(runtime),
  }),
  endpoint({
    verb: "resolve",
    kind: "command",
    summary: "Says what became of a job whose last attempt nobody saw end.",
    request: ResolveRequest,
    answer: ResolveAnswer,
    handle: resolveHandler(runtime),
  }),
  endpoint({
    verb: "answer",
    kind: "command",
    summary: "Gives a job the word from outside that it waits for.",
    request: AnswerRequest,
    answer: AnswerAnswer,
    handle: answerHandler(runtime),
  }),
];

const queriesOf = (runtime: ApiRuntime, facts: HealthFacts): readonly Endpoint[] => [
  endpoint({
    verb: "record",
    kind: "query",
    summary: "A job's execution record.",
    request: RecordRequest,
    answer: RecordAnswer,
    handle: recordHandler(runtime),
  }),
  endpoint({
    verb: "jobs",
    kind: "query",
    summary: "Jobs by state, type, user and time of submission, the newest first, in pages.",
    request: JobsRequest,
    answer: JobsAnswer,
    handle: jobsHandler(runtime),
  }),
  endpoint({
    verb: "tree",
    kind: "query",
    summary: "A job and everything below it, depth first, in pages.",
    request: WorkflowRequest,
    answer: TreeAnswer,
    handle: treeHandler(runtime),
  }),
  endpoint({
    verb: "trajectory",
    kind: "query",
    summary: "What a job and everything below it did, in the order of their steps, in pages.",
    request: WorkflowRequest,
    answer: TrajectoryAnswer,
    handle: trajectoryHandler(runtime),
  }),
  endpoint({
    verb: "health",
    kind: "query",
    summary: "How the daemon, its journal and its server are.",
    request: HealthRequest,
    answer: HealthAnswer,
    handle: healthHandler(runtime, facts),
  }),
];
