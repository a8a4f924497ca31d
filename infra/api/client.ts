/**
 * The client of the NATS API: what another process calls instead of a runtime.
 *
 * Owns: a typed call for each endpoint, putting pages together. Does not own: the connection (client-connection.ts), the
 * shapes (contract/).
 *
 * L1. What the daemon decided is a value, refusals too; an error means that no answer came.
 * L2. All pages of a tree are of one moment, the one of the first page.
 */
import type { z } from "zod";
import { ExternalServiceError, SystemError } from "../../actors/errors.ts";
import { ClientConnection, type ClientOptions } from "./client-connection.ts";
import {
  AnswerAnswer,
  CancelAnswer,
  type Entry,
  type FlatNode,
  HealthAnswer,
  JobsAnswer,
  RecordAnswer,
  Refusal,
  ResolveAnswer,
  SubmitAnswer,
  TrajectoryAnswer,
  TreeAnswer,
} from "./contract/answers.ts";
import { WAIT_MS_DEFAULT } from "./contract/limits.ts";
import { type Command, type Query, subjectOf } from "./contract/names.ts";
import type {
  AnswerRequest,
  CancelRequest,
  JobsRequest,
  ResolveRequest,
  SubmitRequest,
  WorkflowRequest,
} from "./contract/requests.ts";

export type { ClientOptions };

const ANSWER_WAIT_MS_DEFAULT = 10_000;
/** Pages of one reading: more than a tree's bound could fill. */
const PAGES_MAX = 10_000;

type Asked<Request, Defaulted extends keyof Request> = Omit<Request, Defaulted> &
  Partial<Pick<Request, Defaulted>>;

/** What both views of a workflow say of the reading itself. */
export type Reading = Pick<
  TreeAnswer,
  "workflow" | "position" | "total" | "unknown" | "recordsDropped"
>;

export interface WorkflowTree extends Reading {
  readonly ok: true;
  readonly nodes: readonly FlatNode[];
}

export interface WorkflowTrajectory extends Reading {
  readonly ok: true;
  readonly entries: readonly Entry[];
}

/**
 * Connects to the daemon of a namespace. That it is up is found at the first call.
 * Errors: ExternalServiceError (no server there), ForbiddenError (the login is refused).
 */
export async function connectClient(options: ClientOptions): Promise<ApiClient> {
  return new ApiClient(await ClientConnection.open(options), options);
}

export class ApiClient implements AsyncDisposable {
  readonly #connection: ClientConnection;
  readonly #namespace: string;
  readonly #answerWaitMs: number;

  /** Use `connectClient`. */
  constructor(connection: ClientConnection, options: ClientOptions) {
    this.#connection = connection;
    this.#namespace = options.namespace ?? "default";
    this.#answerWaitMs = options.answerWaitMs ?? ANSWER_WAIT_MS_DEFAULT;
  }

  /** With `wait` it takes that long; every call's errors are those of `ClientConnection.ask`. */
  submit(request: SubmitRequest): Promise<SubmitAnswer | Refusal> {
    const { wait = false } = request;
    const waitMs = typeof wait === "number" ? wait : wait ? WAIT_MS_DEFAULT : 0;
    return this.#ask("submit", request, SubmitAnswer, waitMs);
  }

  cancel(request: Asked<CancelRequest, "reason" | "by">): Promise<CancelAnswer | Refusal> {
    return this.#ask("cancel", request, CancelAnswer);
  }

  resolve(request: Asked<ResolveRequest, "by">): Promise<ResolveAnswer | Refusal> {
    return this.#ask("resolve", request, ResolveAnswer);
  }

  answer(request: Asked<AnswerRequest, "by">): Promise<AnswerAnswer | Refusal> {
    return this.#ask("answer", request, AnswerAnswer);
  }

  record(job: string): Promise<RecordAnswer | Refusal> {
    return this.#ask("record", { job }, RecordAnswer);
  }

  /** One page: `next` says where the next one begins. */
  jobs(request: z.input<typeof JobsRequest> = {}): Promise<JobsAnswer | Refusal> {
    return this.#ask("jobs", request, JobsAnswer);
  }

  health(): Promise<HealthAnswer | Refusal> {
    return this.#ask("health", {}, HealthAnswer);
  }

  /** A job and everything below it, depth first, of one moment (L2). */
  async tree(job: string): Promise<WorkflowTree | Refusal> {
    const pages = await this.#pages("tree", job, TreeAnswer);
    if (!pages.ok) return pages;
    return { ok: true, ...readingOf(pages.first), nodes: pages.all.flatMap(({ nodes }) => nodes) };
  }

  /** What they did, in the order of their steps, of one moment (L2). */
  async trajectory(job: string): Promise<WorkflowTrajectory | Refusal> {
    const pages = await this.#pages("trajectory", job, TrajectoryAnswer);
    if (!pages.ok) return pages;
    const entries = pages.all.flatMap((page) => page.entries);
    return { ok: true, ...readingOf(pages.first), entries };
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #pages<Page extends { readonly ok: true; readonly next: string | null }>(
    verb: "tree" | "trajectory",
    job: string,
    schema: z.ZodType<Page>,
  ): Promise<{ readonly ok: true; readonly first: Page; readonly all: readonly Page[] } | Refusal> {
    const first = await this.#ask(verb, { job }, schema);
    if (!first.ok) return first;
    const all = [first];
    for (let { next } = first; next !== null; ) {
      if (all.length >= PAGES_MAX) throw pagesWithoutEnd(job);
      const page = await this.#ask(verb, { job, cursor: next }, schema);
      if (!page.ok) return page;
      all.push(page);
      next = page.next;
    }
    return { ok: true, first, all };
  }

  async #ask<Answer extends { readonly ok: true }>(
    verb: Command | Query,
    body: SentRequest,
    schema: z.ZodType<Answer>,
    askedWaitMs = 0,
  ): Promise<Answer | Refusal> {
    const subject = subjectOf(this.#namespace, verb);
    const waitMs = askedWaitMs + this.#answerWaitMs;
    const answer = await this.#connection.ask({ subject, body, waitMs });
    const parsed = Refusal.safeParse(answer);
    if (parsed.success) return parsed.data;
    const good = schema.safeParse(answer);
    if (good.success) return good.data;
    throw new SystemError(`What answers on ${subject} is no daemon of a version known here.`, {
      details: { component: "api", subject },
      cause: good.error,
    });
  }
}

/** What goes over the wire: a request as a caller writes it. */
type SentRequest =
  | SubmitRequest
  | Asked<CancelRequest, "reason" | "by">
  | Asked<ResolveRequest, "by">
  | Asked<AnswerRequest, "by">
  | z.input<typeof JobsRequest>
  | { readonly job?: string; readonly cursor?: string; readonly limit?: WorkflowRequest["limit"] };

function readingOf(page: TreeAnswer | TrajectoryAnswer): Reading {
  const { workflow, position, total, unknown, recordsDropped } = page;
  return { workflow, position, total, unknown, recordsDropped };
}

const pagesWithoutEnd = (job: string) =>
  new ExternalServiceError(`The tree of ${job} does not end after ${PAGES_MAX} pages.`, {
    details: { service: "holdfast", job, pagesMax: PAGES_MAX },
  });
