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
 * G4. Of a dispatcher that is set aside nothing is stepped until `dispatcher.taken`, which begins every owner's life anew.
 */
import type { ChartEvent } from "../../machines/engine/chart.ts";
import { jobChart } from "../../machines/job/chart.ts";
import type { Transition } from "../journal/codec.ts";
import type { ClosedEpoch } from "../journal/epochs.ts";
import type { LastMoment } from "../journal/journal-time.ts";
import type { ReaderSink, ReadFault, ReadFence, ReadRecord } from "../journal/reader.ts";
import { DISPATCHER_SCOPE, parseTaskScope } from "../journal/subjects.ts";
import { type Cell, type CellStore, newTaskCells, type TaskCells } from "../turn/cell.ts";
import { actorName } from "../turn/charts.ts";
import type { Kinship } from "./kinship.ts";
import { bootIn, dependenciesIn, kindredEvent } from "./unparsed-event.ts";

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
  /** Of its first record. */
  readonly position: number;
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
  /** G4. */
  #isDispatcherAside = false;

  constructor(cells: CellStore, kinship: Kinship, prefix: string) {
    this.#cells = cells;
    this.#kinship = kinship;
    this.#prefix = prefix;
  }

  /** Jobs that cannot be driven, by id, with what was found. */
  get setAside(): ReadonlyMap<string, Finding> {
    return this.#setAside;
  }

  readonly #told: ClosedEpoch[] = [];
  /** Whether the dispatcher's moves are passed over (G4); the next owner's first word ends it. */
  get isDispatcherAside(): boolean {
    return this.#isDispatcherAside;
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

  /** Epochs that earlier owners told of. */
  get told(): readonly ClosedEpoch[] {
    return this.#told;
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
    const scope = subject.slice(this.#prefix.length);
    if (scope === DISPATCHER_SCOPE) this.#isDispatcherAside = true;
    const task = parseTaskScope(scope);
    if (task !== null) this.#putAside(task.job, { position, subject, kind, reason });
  }

  /** Steps what is live and puts it into the store. */
  finish(): void {
    for (const [job, buffered] of this.#jobs) this.#build(job, buffered);
    this.#jobs.clear();
  }

  /** The first owner's word may be damaged: journal time goes on all the same, by the wall clock (J1, J2 of journal-time.ts). */
  #touch({ at, t, transitions }: ReadRecord["body"]): void {
    const boot = bootIn(transitions);
    if (boot !== null) this.#last = { at, t, takenT: t, bootId: boot.id, uptimeMs: boot.uptimeMs };
    else this.#last = { ...(this.#last ?? { takenT: t, bootId: "", uptimeMs: 0 }), at, t };
  }

  #record({ position, subject, body }: ReadRecord): void {
    this.#touch(body);
    this.#transitionCount += body.transitions.length;
    const scope = subject.slice(this.#prefix.length);
    if (scope === DISPATCHER_SCOPE) {
      for (const transition of body.transitions) this.#dispatch(transition, position, subject);
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

  #dispatch(transition: Transition, position: number, subject: string): void {
    const { dispatcher } = this.#cells;
    if (transition.actor !== dispatcher.name) {
      this.#find({ position, subject, kind: "unknown", reason: misplaced(transition) });
      return;
    }
    if (this.#isDispatcherAside) {
      if (transition.event.type !== "dispatcher.taken") return;
      const { engine } = dispatcher.chart;
      const value = engine.has(transition.from) ? transition.from : engine.initial().value;
      dispatcher.state = { ...engine.initial(), value };
      dispatcher.sequence = transition.sequence - 1;
    }
    this.#isDispatcherAside = this.#step(dispatcher, transition, position, subject) !== null;
    if (!this.#isDispatcherAside) this.#told.push(...closedIn(transition.event));
  }

  #buffer(task: { workflow: string; job: string }, { position, subject, body }: ReadRecord): void {
    const buffered = this.#jobs.get(task.job) ?? {
      workflow: task.workflow,
      subject,
      position,
      transitions: [],
    };
    this.#jobs.set(task.job, buffered);
    if (buffered.workflow !== task.workflow) {
      const reason = `a record of job ${task.job}, which belongs to workflow ${buffered.workflow}`;
      return this.#putAside(task.job, this.#find({ position, subject, kind: "unknown", reason }));
    }
    const own = actorName("job", task.job);
    let hasEnded = false;
    for (const transition of body.transitions) {
      buffered.transitions.push({ position, transition });
      // Another actor's move is found when the job is built; it must not end the job before that.
      if (transition.actor !== own) continue;
      const event = kindredEvent(task.job, transition);
      if (event !== null) this.#kinship.moved(task.job, event);
      hasEnded ||= jobChart.finals.includes(transition.to);
    }
    if (hasEnded) this.#forget(task.job, buffered);
  }

  /** G2. */
  #forget(job: string, { transitions }: Buffered): void {
    this.#jobs.delete(job);
    this.#setAside.delete(job);
    this.#kinship.ended(job, dependenciesIn(job, transitions));
    this.#kinship.dissolve(job);
  }

  #build(job: string, buffered: Buffered): void {
    if (this.#setAside.has(job)) return;
    const cells = newTaskCells(job, buffered.workflow, buffered.subject);
    const finding = this.#fill(cells, buffered);
    if (finding === null) this.#cells.add(cells);
    else this.#putAside(job, finding);
  }

  #fill(cells: TaskCells, buffered: Buffered): Finding | null {
    const { workflow, subject, transitions } = buffered;
    for (const { position, transition } of transitions) {
      const cell = ownerOf(transition, cells);
      if (cell === null) {
        const reason = misplaced(transition);
        return this.#find({ position, subject, kind: "unknown", reason });
      }
      const finding = this.#step(cell, transition, position, subject);
      if (finding !== null) return finding;
    }
    const { spec } = cells.job.now.context;
    if (spec?.id === cells.job.id && spec.workflow === workflow) return null;
    const what = spec === null ? "nothing" : `${spec.id} of workflow ${spec.workflow}`;
    const reason = `it submits ${what}`;
    return this.#find({ position: buffered.position, subject, kind: "mismatch", reason });
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

function ownerOf({ actor }: Transition, { job, liveness }: TaskCells): Cell | null {
  if (actor === job.name) return job;
  return actor === liveness.name ? liveness : null;
}

const misplaced = ({ actor }: Transition): string =>
  `an actor ${actor} that does not belong in this scope`;

/** What an event of the dispatcher that its chart has just taken tells of ended epochs. */
function closedIn(event: ChartEvent): readonly ClosedEpoch[] {
  // The chart's schema parsed it: where there is a list, it is one of epochs.
  return "closed" in event ? (event.closed as readonly ClosedEpoch[]) : [];
}
