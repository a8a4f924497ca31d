/**
 * What must hold of every log, whoever wrote it and however often they died.
 */
import assert from "node:assert/strict";

import type { Transition } from "../../actors/journal/codec.ts";
import type { StoredMessage } from "../../actors/journal/log.ts";
import { JournalReader } from "../../actors/journal/reader.ts";
import { jobChart } from "../../machines/job/chart.ts";
import type { JobSpec } from "../../machines/job/spec.ts";

const RECORD_OF: Readonly<Record<string, string>> = {
  completed: "completed",
  failed: "failed",
  cancelled: "cancelled",
  timed_out: "failed",
};

/** Valid transitions by actor, by the reader rule: what was cut off in the middle of a group is none. */
export function historiesOf(messages: readonly StoredMessage[]): Map<string, Transition[]> {
  const histories = new Map<string, Transition[]>();
  const reader = new JournalReader({
    fence: () => undefined,
    fault: () => undefined,
    group: (records) => {
      for (const transition of records.flatMap(({ body }) => body.transitions)) {
        const known = histories.get(transition.actor) ?? [];
        histories.set(transition.actor, [...known, transition]);
      }
    },
  });
  for (const message of messages) reader.push(message);
  assert.equal(reader.halted, null);
  return histories;
}

export const specIn = (history: readonly Transition[]): JobSpec => {
  const event = history[0]?.event;
  assert.ok(event?.type === "job.submitted" && "spec" in event, "a job begins with its submission");
  return event.spec as JobSpec;
};

/** Throws at the first law that a log breaks. */
export function assertLaws(messages: readonly StoredMessage[]): void {
  const histories = historiesOf(messages);
  for (const [actor, history] of histories) {
    if (actor.startsWith("dispatcher")) continue;
    history.forEach(({ sequence, from }, at) => {
      assert.equal(sequence, at + 1, `${actor}: no number is left out, and none given twice`);
      if (at > 0)
        assert.equal(from, history[at - 1]?.to, `${actor}: each move begins where the last ended`);
    });
    const end = history.findIndex(({ to }) => jobChart.finals.includes(to));
    assert.ok(end < 0 || end === history.length - 1, `${actor}: nothing leaves an end`);
    if (actor.startsWith("job:")) assertJob(actor.slice("job:".length), history, histories);
  }
}

function assertJob(
  id: string,
  history: readonly Transition[],
  histories: ReadonlyMap<string, readonly Transition[]>,
): void {
  const count = (type: string) => history.filter(({ event }) => event.type === type).length;
  const { retryClass, retryBudget } = specIn(history);
  assert.equal(count("job.submitted"), 1, `${id} was submitted once`);
  const ordered = history.filter(
    ({ event, reason }) => event.type === "job.rerunScheduled" && reason?.includes("ordered"),
  ).length;
  const automatic = count("job.rerunScheduled") - ordered;
  if (retryClass === "safe_to_retry") assert.ok(automatic <= retryBudget, `${id} keeps its budget`);
  else assert.equal(automatic, 0, `${id} is never run again by itself`);
  assert.ok(count("job.started") <= 1 + automatic + ordered, `${id} starts once an attempt`);
  const last = history.at(-1)?.to ?? "";
  const record = histories.get(`liveness:${id}`)?.at(-1)?.to;
  if (jobChart.finals.includes(last))
    assert.equal(record, RECORD_OF[last], `${id} and its record agree`);
  else
    assert.ok(
      !["completed", "failed", "cancelled"].includes(record ?? ""),
      `${id} and its record agree`,
    );
}
