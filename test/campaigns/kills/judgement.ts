/**
 * What must hold after a kill, judged from three independent witnesses: what the driver was told, what the jobs' code wrote
 * to a file, and what stands in the log.
 *
 * Owns: the verdict. Does no I/O, so that each rule can be shown to find a planted fault. Does not own: gathering (campaign.ts),
 * the log's own laws (test/support/log-laws.ts).
 *
 * K1. A submission that was acknowledged is in the log.
 * K2. A result that was told is the one in the log, and the one that is told ever after.
 * K3. Code ran once for each start in the log, and never without one: an effect leaves after its acknowledgement.
 * K4. What completed by its code has done its work: its attempt has an end in the file.
 * K5. A job whose end is known runs no more: its lines in the file stay what they were.
 * K6. A job whose class forbids it was run once at most.
 * K7. What the log held once it holds for ever, at the same positions.
 */
import type { Transition } from "../../../actors/journal/codec.ts";
import type { StoredMessage } from "../../../actors/journal/log.ts";
import { jobChart } from "../../../machines/job/chart.ts";

/** What the driver asked for, and what it was told. */
export interface Asked {
  readonly id: string;
  readonly type: "again" | "once" | "family";
  readonly input: { readonly ms: number; readonly width?: number };
  isAcknowledged: boolean;
  /** The outcome as JSON, once it was told. */
  outcome: string | null;
  /** The execution record as JSON, as it was first read after the end. */
  record: string | null;
}

export interface Effect {
  readonly what: string;
  readonly job: string;
  readonly attempt: number;
}

export type Histories = ReadonlyMap<string, readonly Transition[]>;

export const effectsIn = (text: string): readonly Effect[] =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const [what = "", job = "", attempt = ""] = line.split(" ");
      return { what, job, attempt: Number(attempt) };
    });

/** Lines of each job. */
export function countsOf(effects: readonly Effect[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { job } of effects) counts.set(job, (counts.get(job) ?? 0) + 1);
  return counts;
}

const lastOf = (histories: Histories, job: string): Transition | undefined =>
  histories.get(`job:${job}`)?.at(-1);

/** Jobs that have ended, by the log. */
export const endedIn = (histories: Histories): readonly string[] =>
  [...histories].flatMap(([actor, history]) =>
    actor.startsWith("job:") && jobChart.finals.includes(history.at(-1)?.to ?? "")
      ? [actor.slice("job:".length)]
      : [],
  );

/** What is told when a person had to say how a job ended. */
export const RESOLVED = "a person says so";

function isPossible({ id, type, input, outcome }: Asked): boolean {
  const results = type === "family" ? [input.width] : [`done by ${id}`, RESOLVED];
  if (type === "again") results.pop(); // It is run again, so nobody is asked.
  return results.some((result) => outcome === JSON.stringify({ kind: "completed", result }));
}

/** K1, K2. */
function answersOf(asked: Iterable<Asked>, histories: Histories): readonly string[] {
  const faults: string[] = [];
  for (const job of asked) {
    const { id, isAcknowledged, outcome } = job;
    const last = lastOf(histories, id);
    if (isAcknowledged && last === undefined)
      faults.push(`K1 ${id}: its submission was acknowledged and is not in the log`);
    if (outcome === null) continue;
    if (!isPossible(job))
      faults.push(`K2 ${id}: ${outcome} was told, which it cannot have come to`);
    const result = last !== undefined && "result" in last.event ? last.event.result : undefined;
    const logged = JSON.stringify({ kind: last?.to ?? "lost", result });
    if (logged !== outcome) faults.push(`K2 ${id}: ${outcome} was told, the log says ${logged}`);
  }
  return faults;
}

const attemptOf = (event: object | undefined): unknown =>
  event !== undefined && "attempt" in event ? event.attempt : undefined;

/** K3. */
function effectsOf(effects: readonly Effect[], histories: Histories): readonly string[] {
  const faults: string[] = [];
  const seen = new Set<string>();
  for (const { what, job, attempt } of effects) {
    const line = `${what} ${job} ${attempt}`;
    if (seen.has(line)) faults.push(`K3 ${job}: "${line}" happened twice`);
    seen.add(line);
    const isJournaled = (histories.get(`job:${job}`) ?? []).some(
      ({ event }) => event.type === "job.started" && attemptOf(event) === attempt,
    );
    if (!isJournaled) faults.push(`K3 ${job}: "${line}" happened, and the log has no such start`);
  }
  return faults;
}

/** K4, K6. */
function runsOf(effects: readonly Effect[], histories: Histories): readonly string[] {
  const faults: string[] = [];
  for (const [actor, history] of histories) {
    const spec = specOf(history);
    if (!actor.startsWith("job:") || spec?.kind !== "tool") continue;
    const job = actor.slice("job:".length);
    const lines = effects.filter((effect) => effect.job === job);
    const end = history.at(-1)?.event;
    const hasEnd = lines.some(({ what, attempt }) => what === "end" && attempt === attemptOf(end));
    if (end?.type === "job.completed" && !hasEnd)
      faults.push(`K4 ${job}: it completed, and its code wrote no end`);
    const starts = lines.filter(({ what }) => what === "start").length;
    if (spec.type === "once" && starts > 1) faults.push(`K6 ${job}: it was run ${starts} times`);
  }
  return faults;
}

function specOf(history: readonly Transition[]): { type: string; kind: string } | null {
  const event = history[0]?.event;
  // The event is a submission, whose spec has both.
  return event !== undefined && "spec" in event ? (event.spec as never) : null;
}

/** K5: `marks` are lines of jobs at the time when their end was known. */
function reruns(
  marks: ReadonlyMap<string, number>,
  counts: ReadonlyMap<string, number>,
): readonly string[] {
  return [...marks].flatMap(([job, lines]) =>
    (counts.get(job) ?? 0) === lines
      ? []
      : [`K5 ${job}: it had ended with ${lines} lines, and there are ${counts.get(job) ?? 0} now`],
  );
}

export interface Seen {
  readonly asked: Iterable<Asked>;
  readonly effects: readonly Effect[];
  readonly histories: Histories;
  readonly marks: ReadonlyMap<string, number>;
}

/** Everything that does not hold, one sentence each. */
export function faultsOf({ asked, effects, histories, marks }: Seen): readonly string[] {
  return [
    ...answersOf(asked, histories),
    ...effectsOf(effects, histories),
    ...runsOf(effects, histories),
    ...reruns(marks, countsOf(effects)),
  ];
}

/** K7. */
export function changesOf(
  before: readonly StoredMessage[],
  now: readonly StoredMessage[],
): readonly string[] {
  return before.flatMap(({ sequence, id, frame }, at) => {
    const kept = now[at];
    return kept?.sequence === sequence && kept.id === id && kept.frame === frame
      ? []
      : [`K7 position ${sequence}: ${id} was in the log, now ${kept?.id ?? "nothing"} is`];
  });
}
