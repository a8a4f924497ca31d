/**
 * The fold: live actors from a log.
 *
 * Owns: buffering a job's transitions until it is known to be live, stepping them, what is set aside and why. Does not own:
 * the reader rule (actors/journal), what happens after it (recovery.ts).
 *
 * G1. State = fold(events). No effect is run, no clock or configuration is read (T3, ES-2, ES-12).
 * G2. A job's events are dropped unstepped at its end: only live actors are stepped.
 * G3. A damaged record, an event that no chart here knows, or a refold that ends elsewhere than recorded sets its own job
 *     aside, is told by position, and changes nothing for anybody else (ES-6, ES-9).
 */
import { JOB_FINALS } from "../../machines/job/chart.ts";
import type { Transition } from "../journal/codec.ts";
import type { LastMoment } from "../journal/journal-time.ts";
import type { ReaderSink, ReadFault, ReadFence, ReadRecord } from "../journal/reader.ts";
import { DISPATCHER_SCOPE, parseTaskScope } from "../journal/subjects.ts";
import { type Cell, type CellStore, newTaskCells } from "../turn/cell.ts";
import { parseActorName } from "../turn/charts.ts";
import type { Kinship } from "./kinship.ts";

export interface Finding {
  readonly position: number;
  readonly subject: string;
  readonly kind: "void" | "damaged" | "unknown" | "mismatch";
  readonly reason: string;
}

/** Findings kept; later ones are counted only. */
const FINDINGS_MAX = 1_000;

interface Buffered {
  readonly workflow: string;
  readonly subject: string;
  readonly transitions: { readonly position: number; readonly transition: Transition }[];
}

export class BootFold implements ReaderSink {
  readonly #cells: CellStore;
  readonly #kinship: Kinship;
  readonly #prefix: string;
  readonly #jobs = new Map<string, Buffered>();
  readonly #setAside = new Map<string, Finding>();
  readonly #findings: Finding[] = [];
  #findingCount = 0;
  #transitionCount = 0;
  #last: LastMoment | null = null;

  constructor(cells: CellStore, kinship: Kinship, prefix: string) {
    this.#cells = cells;
    this.#kinship = kinship;
    this.#prefix = prefix;
  }

  /** Jobs that cannot be driven, by id, with what was found. */
  get setAside(): ReadonlyMap<string, Finding> {
    return this.#setAside;
  }

  get findings(): readonly Finding[] {
    return this.#findings;
  }

  get findingCount(): number {
    return this.#findingCount;
  }

  get transitionCount(): number {
    return this.#transitionCount;
  }

  /** The newest valid moment of the log; null when nobody has taken it before. */
  get lastMoment(): LastMoment | null {
    return this.#last;
  }

  fence(_fence: ReadFence): void {
    // Who owned what is the journal's business; the fold reads `dispatcher.taken`.
  }

  group(records: readonly ReadRecord[]): void {
    for (const record of records) this.#record(record);
  }

  fault({ kind, position, subject, reason }: ReadFault): void {
    this.#find({ position, subject, kind, reason });
    if (kind !== "damaged") return;
    const task = parseTaskScope(subject.slice(this.#prefix.length));
    if (task !== null) this.#putAside(task.job, { position, subject, kind, reason });
  }

  /** Steps what is live and puts it into the store. */
  finish(): void {
    for (const [job, buffered] of this.#jobs) this.#build(job, buffered);
    this.#jobs.clear();
  }

  #touch({ at, t, transitions }: ReadRecord["body"]): void {
    const taken = transitions.find(({ event }) => event.type === "dispatcher.taken")?.event;
    const boot = (taken as { boot?: { id: string; uptimeMs: number } } | undefined)?.boot; // Parsed by nobody: read with care.
    if (boot !== undefined)
      this.#last = { at, t, takenT: t, bootId: boot.id, uptimeMs: boot.uptimeMs };
    else if (this.#last !== null) this.#last = { ...this.#last, at, t };
  }

  #record({ position, subject, body }: ReadRecord): void {
    this.#touch(body);
    this.#transitionCount += body.transitions.length;
    const scope = subject.slice(this.#prefix.length);
    if (scope === DISPATCHER_SCOPE) {
      for (const transition of body.transitions)
        this.#step(this.#cells.dispatcher, transition, position, subject);
      return;
    }
    const task = parseTaskScope(scope);
    if (task === null) {
      this.#find({
        position,
        subject,
        kind: "unknown",
        reason: "a scope that this version does not know",
      });
      return;
    }
    this.#buffer(task, { position, subject, body });
  }

  #buffer(task: { workflow: string; job: string }, { position, subject, body }: ReadRecord): void {
    const buffered = this.#jobs.get(task.job) ?? {
      workflow: task.workflow,
      subject,
      transitions: [],
    };
    this.#jobs.set(task.job, buffered);
    let hasEnded = false;
    for (const transition of body.transitions) {
      buffered.transitions.push({ position, transition });
      if (parseActorName(transition.actor)?.kind !== "job") continue;
      this.#kinship.moved(task.job, transition.event);
      hasEnded ||= JOB_FINALS.includes(transition.to);
    }
    if (hasEnded) this.#forget(task.job, buffered);
  }

  /** G2. */
  #forget(job: string, { transitions }: Buffered): void {
    this.#jobs.delete(job);
    this.#setAside.delete(job);
    const submitted = transitions.find(
      ({ transition }) => transition.event.type === "job.submitted",
    );
    const event = submitted?.transition.event as
      | { spec?: { dependencies?: { id: string }[] } }
      | undefined; // Parsed by nobody: read with care.
    this.#kinship.ended(job, event?.spec?.dependencies ?? []);
    this.#kinship.dissolve(job);
  }

  #build(job: string, { workflow, subject, transitions }: Buffered): void {
    if (this.#setAside.has(job)) return;
    const cells = newTaskCells(job, workflow, subject);
    for (const { position, transition } of transitions) {
      const actor = parseActorName(transition.actor);
      const cell =
        actor?.id !== job
          ? null
          : actor.kind === "job"
            ? cells.job
            : actor.kind === "liveness"
              ? cells.liveness
              : null;
      if (cell === null) {
        const reason = `an actor ${transition.actor} that does not belong in this scope`;
        return this.#putAside(job, this.#find({ position, subject, kind: "unknown", reason }));
      }
      const finding = this.#step(cell, transition, position, subject);
      if (finding !== null) return this.#putAside(job, finding);
    }
    this.#cells.add(cells);
  }

  /** Steps one recorded transition; what does not fit is found, and leaves the actor as it was. */
  #step(cell: Cell, transition: Transition, position: number, subject: string): Finding | null {
    const { event, from, to, sequence, v } = transition;
    if (sequence !== cell.sequence + 1 || from !== cell.state.value) {
      const reason = `${cell.name} moves from ${from} as number ${sequence}, where ${cell.state.value} and ${cell.sequence + 1} follow`;
      return this.#find({ position, subject, kind: "mismatch", reason });
    }
    let parsed: ReturnType<typeof cell.chart.parseEvent>;
    try {
      parsed = cell.chart.parseEvent(cell.chart.upcast(event, v ?? 1));
    } catch (error) {
      const reason = `${cell.name} cannot read its event ${event.type}: ${String(error)}`;
      return this.#find({ position, subject, kind: "unknown", reason });
    }
    const step = cell.chart.engine.step(cell.state, parsed);
    if (step === null || step.state.value !== to) {
      const reason = `${cell.name} goes from ${from} by ${event.type} to ${step?.state.value ?? "nowhere"}, recorded is ${to}`;
      return this.#find({ position, subject, kind: "mismatch", reason });
    }
    cell.state = step.state;
    cell.sequence = sequence;
    return null;
  }

  #putAside(job: string, finding: Finding): void {
    this.#setAside.set(job, finding);
  }

  #find(finding: Finding): Finding {
    this.#findingCount += 1;
    if (this.#findings.length < FINDINGS_MAX) this.#findings.push(finding);
    return finding;
  }
}
