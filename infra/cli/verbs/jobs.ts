/**
 * `holdfast jobs`: which jobs there are.
 *
 * Owns: its filters, going on over pages, its columns. Does not own: the list itself (infra/api/handlers/jobs.ts).
 */
import type { JobsAnswer, ListedJob, Refusal } from "../../api/contract/answers.ts";
import { JobsRequest } from "../../api/contract/requests.ts";
import { checkRequest } from "../../api/request-body.ts";
import { linkToDaemon } from "../daemon-link.ts";
import { EXIT } from "../exit-codes.ts";
import { usage } from "../line/arguments.ts";
import { CLIENT_OPTIONS, type Invocation, type Verb } from "../line/verb.ts";
import { tellRefusal } from "../refused.ts";
import { markOf, paintState, type RenderOptions, ranMsOf, stateName } from "../render-tree.ts";
import { dateTime, duration, padEnd, padStart, printable, widthOf } from "../text.ts";

export const jobs: Verb = {
  name: "jobs",
  summary: "which jobs there are, the last submitted first",
  positionals: [],
  options: {
    state: { type: "string", isMultiple: true, value: "STATE", help: "only in this state" },
    type: { type: "string", value: "TYPE", help: "only of this type" },
    user: { type: "string", value: "USER", help: "only of this user" },
    since: { type: "string", value: "TIME", help: "only submitted then or later" },
    until: { type: "string", value: "TIME", help: "only submitted before" },
    limit: { type: "string", value: "N", help: "at most so many (default: 100)" },
    cursor: { type: "string", value: "TOKEN", help: "go on where an earlier list ended" },
    ...CLIENT_OPTIONS,
  },
  notes: [
    "TIME is a date (2026-12-07, 2026-12-07T09:30, with Z: UTC) or how long ago: 90s, 30m, 2h, 7d. STATE is one of scheduled, queued, running, idle, cancelling, completed, failed, cancelled, timed_out; several are joined.",
    "With --json, `next` is the TOKEN of the rest, or null.",
  ],
  examples: ["jobs --state running", "jobs --type import --state failed --since 2h --json"],
  run: async (invocation) => {
    const { output } = invocation;
    const request = checkRequest(asked(invocation), JobsRequest);
    // As it is sent: the parsed one holds the cursor as a number.
    const sent = { ...asked(invocation), limit: request.limit };
    await using client = await linkToDaemon(invocation);
    const answer = await collect((more) => client.jobs({ ...sent, ...more }), request.limit);
    if (!answer.ok) return tellRefusal(output, answer);
    output.document(answer);
    output.lines(
      renderJobs(answer.jobs, {
        columns: output.columns,
        paint: (style, text) => output.paint(style, text),
        now: Date.now(),
      }),
    );
    if (answer.next !== null) output.tell(`there are more: --cursor ${answer.next}`);
    return EXIT.done;
  },
};

type Sent = { cursor?: string; limit?: number };

/** Pages until there are as many as asked for: one that found nothing need not be the last. */
async function collect(
  ask: (more: Sent) => Promise<JobsAnswer | Refusal>,
  limit: number,
): Promise<JobsAnswer | Refusal> {
  const first = await ask({});
  if (!first.ok) return first;
  const all = [...first.jobs];
  let { next } = first;
  while (next !== null && all.length < limit) {
    const page = await ask({ cursor: next, limit: limit - all.length });
    if (!page.ok) return page;
    all.push(...page.jobs);
    next = page.next;
  }
  return { ok: true, jobs: all, next };
}

function asked(invocation: Invocation) {
  const state = invocation.texts("state").map((word) => word.toUpperCase());
  const limit = invocation.text("limit");
  const given = {
    type: invocation.text("type"),
    user: invocation.text("user"),
    cursor: invocation.text("cursor"),
    since: timeOf(invocation, "since"),
    until: timeOf(invocation, "until"),
    limit: limit === undefined ? undefined : Number(limit),
  };
  return {
    // The schema says which states there are.
    ...(state.length === 0 ? {} : { state: state as JobsRequest["state"] }),
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  };
}

const AGO = /^(\d{1,6})([smhd])$/;
const UNIT_MS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
const DATE = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})?)?$/;

/** A date without a time is its first moment here, not in UTC. */
function timeOf(invocation: Invocation, option: "since" | "until"): number | undefined {
  const word = invocation.text(option);
  if (word === undefined) return undefined;
  const [, amount, unit = ""] = AGO.exec(word) ?? [];
  const ago = UNIT_MS[unit];
  if (ago !== undefined) return Math.max(0, Date.now() - Number(amount) * ago);
  const time = DATE.test(word) ? Date.parse(word.includes("T") ? word : `${word}T00:00`) : NaN;
  if (!Number.isNaN(time) && time >= 0) return time;
  throw usage(
    jobs,
    `--${option} is a date (2026-12-07, 2026-12-07T09:30) or how long ago (90s, 30m, 2h, 7d), found ${printable(word)}`,
  );
}

const STATE_WIDTH = 12;
const DATE_WIDTH = 19;
const RAN_WIDTH = 11;
const TYPE_WIDTH_MAX = 16;
const GAP = "  ";

export function renderJobs(all: readonly ListedJob[], options: RenderOptions): string[] {
  const types = all.map(({ type }) => widthOf(printable(type ?? "")));
  const typeWidth = Math.min(TYPE_WIDTH_MAX, Math.max(4, ...types));
  const head =
    padEnd("STATE", STATE_WIDTH) +
    padEnd("SUBMITTED", DATE_WIDTH) +
    padStart("RAN", RAN_WIDTH) +
    GAP +
    padEnd("TYPE", typeWidth) +
    GAP +
    "JOB";
  return [options.paint("dim", head), ...all.flatMap((job) => row(job, typeWidth, options))];
}

function row(job: ListedJob, typeWidth: number, options: RenderOptions): string[] {
  const { columns, paint, now } = options;
  const { state, submittedAt, endedAt } = job;
  const ranMs = ranMsOf(job, now);
  const ran = ranMs === null ? "" : `${duration(ranMs)}${endedAt === null ? "…" : ""}`;
  const left =
    paintState(state, padEnd(`${markOf(state)} ${stateName(state)}`, STATE_WIDTH), paint) +
    padEnd(submittedAt === null ? "" : dateTime(submittedAt), DATE_WIDTH) +
    padStart(ran, RAN_WIDTH) +
    GAP;
  const type = printable(job.type ?? "");
  const id = printable(job.id);
  const width = STATE_WIDTH + DATE_WIDTH + RAN_WIDTH + typeWidth + 2 * GAP.length + widthOf(id);
  // Nothing is cut: what is too long stands below.
  return widthOf(type) <= typeWidth && width <= columns
    ? [left + padEnd(type, typeWidth) + GAP + id]
    : [left + type, GAP + id];
}
