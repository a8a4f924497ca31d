/**
 * One job's record, and the daemon's health, for people.
 *
 * Owns: which facts are shown, and their names. Pure but for the local time zone. Does not own: the facts.
 */

import type { BoundedValue } from "../../projections/bounded-value.ts";
import type { ExecutionRecord } from "../../projections/execution-record/schema.ts";
import type { Health } from "../api/contract/answers.ts";
import { markOf, paintState, type RenderOptions, ranMsOf, stateName } from "./render-tree.ts";
import {
  bytes,
  dateTime,
  duration,
  oneLine,
  padEnd,
  plural,
  printable,
  shellWord,
  timeOfDay,
  wrap,
} from "./text.ts";

const LABEL_WIDTH = 13;
const TIME_WIDTH = 10;
const INDENT = "  ";
const VALUE_LENGTH_MAX = 2_000;
const HISTORY_SHOWN_MAX = 8;
const LISTED_MAX = 8;

type Row = readonly [label: string, value: string];

export function renderRecord(record: ExecutionRecord, options: RenderOptions): string[] {
  const { identity, job } = record;
  const kind = identity.kind === null ? "" : ` (${printable(identity.kind)})`;
  const mark = paintState(job.state, `${markOf(job.state)} ${stateName(job.state)}`, options.paint);
  const id = options.paint("bold", printable(identity.taskId));
  return [
    `${id}  ${printable(identity.type ?? "of an unknown type")}${kind}  ${mark}`,
    ...table(
      [
        ...identityRows(record),
        ...standingRows(record),
        ...timeRows(record, options),
        ...outcomeRows(record),
      ],
      options,
    ),
    ...historyLines(record, options),
  ];
}

function identityRows({ identity, input }: ExecutionRecord): Row[] {
  const { taskId, workflow, parent, user, name, type, dependencies } = identity;
  const rows: Row[] = [];
  if (name !== null && name !== type) rows.push(["name", printable(name)]);
  if (workflow !== taskId) rows.push(["workflow", printable(workflow)]);
  if (parent !== null) rows.push(["parent", printable(parent)]);
  if (user !== null) rows.push(["user", printable(user)]);
  if (dependencies.list.length > 0) {
    const list = dependencies.list.map(
      (each) => `${printable(each.id)} (${each.outcome ?? "not settled"})`,
    );
    rows.push(["after", some(list, dependencies.dropped)]);
  }
  if (input !== null) rows.push(["input", valueText(input)]);
  return rows;
}

function standingRows(record: ExecutionRecord): Row[] {
  const { job, liveness, attempt, recovery, awaited, steps, outcome } = record;
  const rows: Row[] = [];
  // The end says it itself, and better.
  if (job.reason !== null && outcome === null) rows.push(["why", oneLine(job.reason)]);
  if (liveness.state !== stateName(job.state)) {
    const why = liveness.reason === null ? "" : `: ${oneLine(liveness.reason)}`;
    rows.push(["liveness", `${liveness.state}${why}`]);
  }
  const budget = `retried ${recovery.retryCount} of at most ${recovery.retryBudget} times`;
  if (attempt > 0) rows.push(["attempt", `${attempt} (${recovery.retryClass}, ${budget})`]);
  if (recovery.action !== "none") rows.push(["what to do", actionText(record)]);
  for (const { name, reason } of awaited.list) {
    rows.push(["waits for", `${printable(name)}: ${oneLine(reason)}`]);
  }
  if (steps.keys.length > 0) rows.push(["steps", some(steps.keys.map(printable), steps.dropped)]);
  return rows;
}

/** A person is asked only where nothing goes on by itself. */
function actionText({ recovery, job, identity }: ExecutionRecord): string {
  const command = `holdfast resolve ${shellWord(identity.taskId)}`;
  return job.value === "interrupted" ? `${recovery.action}: ${command}` : recovery.action;
}

function timeRows({ times, job }: ExecutionRecord, { now }: RenderOptions): Row[] {
  const { submittedAt, startedAt, endedAt } = times;
  const rows: Row[] = [];
  if (submittedAt !== null) rows.push(["submitted", dateTime(submittedAt)]);
  if (startedAt !== null) rows.push(["started", dateTime(startedAt)]);
  if (endedAt !== null) {
    const ranMs = startedAt === null ? null : Math.max(0, endedAt - startedAt);
    rows.push([
      "ended",
      `${dateTime(endedAt)}${ranMs === null ? "" : `, after ${duration(ranMs)}`}`,
    ]);
    return rows;
  }
  const ranMs = ranMsOf({ state: job.state, startedAt, endedAt }, now);
  if (ranMs !== null) rows.push(["runs for", duration(ranMs)]);
  return rows;
}

function outcomeRows({ outcome, cancel }: ExecutionRecord): Row[] {
  const rows: Row[] = [];
  if (cancel !== null)
    rows.push(["cancelled by", `${printable(cancel.by)}: ${oneLine(cancel.reason)}`]);
  if (outcome === null) return rows;
  const { result, failure, isLeaked } = outcome;
  if (result !== null) rows.push(["result", valueText(result)]);
  if (failure !== null) {
    rows.push(["failure", `${printable(failure.code)}: ${oneLine(failure.message)}`]);
    for (const { code, message } of failure.causes) {
      rows.push(["caused by", `${printable(code)}: ${oneLine(message)}`]);
    }
  }
  if (isLeaked) rows.push(["leaked", "its code had not returned when it was ended"]);
  return rows;
}

function historyLines(
  { history, unknownCount }: ExecutionRecord,
  options: RenderOptions,
): string[] {
  const { columns, paint } = options;
  const kept = [...history.first, ...history.last];
  const total = kept.length + history.dropped;
  const shown = kept.slice(-HISTORY_SHOWN_MAX);
  const title = total > shown.length ? `the last ${shown.length} of ${total} moves` : "all moves";
  const unknown = unknownCount === 0 ? "" : `, ${unknownCount} not understood by this version`;
  const lines = shown.flatMap(({ at, event, from, to, reason }) => {
    const move = from === to ? to : `${from} → ${to}`;
    const why = reason === null ? "" : `: ${oneLine(reason)}`;
    // Events say by their own names whether the job moved or what is known of its being alive.
    const text = `${printable(event)}  ${printable(move)}${why}`;
    return wrap(text, columns - TIME_WIDTH - 2 * INDENT.length).map(
      (line, index) =>
        `${INDENT}${INDENT}${padEnd(index === 0 ? timeOfDay(at) : "", TIME_WIDTH)}${line}`,
    );
  });
  return [`${INDENT}${paint("dim", `history: ${title}${unknown}`)}`, ...lines];
}

const valueText = (value: BoundedValue): string => {
  const text = value.kind === "whole" ? JSON.stringify(value.value) : value.preview;
  const cut = text.length > VALUE_LENGTH_MAX ? `${text.slice(0, VALUE_LENGTH_MAX)}…` : text;
  return value.kind === "whole" ? printable(cut) : `${printable(cut)} (${bytes(value.bytes)})`;
};

function some(all: readonly string[], dropped: number): string {
  const more = Math.max(0, all.length - LISTED_MAX) + dropped;
  const shown = all.slice(0, LISTED_MAX).join(", ");
  return more === 0 ? shown : `${shown} and ${more} more`;
}

/** Labels and values, the values wrapped beside their labels. */
export function table(rows: readonly Row[], { columns, paint }: RenderOptions): string[] {
  const width = Math.max(20, columns - LABEL_WIDTH - INDENT.length);
  return rows.flatMap(([label, value]) =>
    wrap(value, width).map(
      (line, index) => INDENT + paint("dim", padEnd(index === 0 ? label : "", LABEL_WIDTH)) + line,
    ),
  );
}

export function renderHealth(health: Health, options: RenderOptions): string[] {
  const { paint, now } = options;
  const { version, state, journal, namespace, owner, startedAt, server, durability } = health;
  const isWell = state === "ready" && journal === "open";
  const mark = isWell ? paint("green", state) : paint("yellow", `${state}, journal ${journal}`);
  const where = server.isEmbedded ? `embedded, pid ${server.pid ?? "unknown"}` : "external";
  const { liveJobs, runningJobs, leakedJobs, setAside, types, stream } = health;
  const rows: Row[] = [
    ["namespace", namespace],
    ["daemon", `${printable(owner)}, up for ${duration(Math.max(0, now - startedAt))}`],
    ["server", `nats-server ${printable(server.version)} (${where})`],
    ["durability", durability],
    [
      "jobs",
      `${liveJobs} live, ${runningJobs} running${leakedJobs > 0 ? `, ${leakedJobs} leaked` : ""}`,
    ],
    [
      "job types",
      types.list.length === 0 ? "none" : some(types.list.map(printable), types.dropped),
    ],
    ["journal", journalText(health, stream)],
    ["room", roomText(health.room, options)],
  ];
  const aside = setAside.list.length + setAside.dropped;
  if (aside > 0) {
    rows.push(["set aside", `${plural(aside, "job")} that cannot be driven:`]);
    for (const { job, reason } of setAside.list.slice(0, LISTED_MAX)) {
      rows.push(["", `${printable(job)}: ${oneLine(reason)}`]);
    }
  }
  return [`holdfast ${printable(version)}  ${mark}`, ...table(rows, options)];
}

function roomText(room: Health["room"], { paint }: RenderOptions): string {
  if (room === null) return "not known, or without limits";
  const left = `${bytes(Math.max(0, room.limitBytes - room.usedBytes))} left (${printable(room.what)})`;
  if (!room.isFull) return `${left} of ${bytes(room.limitBytes)}`;
  const kept = `${bytes(room.reserveBytes)} are kept for work that runs: new work is refused`;
  return paint("red", `FULL: ${left}, ${kept}`);
}

function journalText({ acknowledged, pendingMessages }: Health, stream: Health["stream"]): string {
  const pending = pendingMessages === 0 ? "" : `, ${pendingMessages} not acknowledged`;
  const limit = stream?.bytesMax == null ? "" : ` of at most ${bytes(stream.bytesMax)}`;
  const size = stream === null ? "" : `, ${bytes(stream.bytes)}${limit}`;
  return `at position ${acknowledged}${size}${pending}`;
}
