/**
 * What the log says of every job, looked at as it grows: the truth that answers and running code are held against.
 *
 * Owns: the written reader rule once more, the moves of each actor by it. Does not own: whether they follow from each other
 * (infra/verify), whether live actors agree with them (test/support/fold.ts).
 */
import { decodeBody, type Transition } from "../../../actors/journal/codec.ts";
import { type Frame, parseFrame } from "../../../actors/journal/frame.ts";
import type { StoredMessage } from "../../../actors/journal/log.ts";
import type { SimulatedStore } from "../../../infra/simulated/store.ts";
import { jobChart } from "../../../machines/job/chart.ts";
import type { JobSpec } from "../../../machines/job/spec.ts";

export interface Move extends Transition {
  readonly position: number;
  /** Journal time, ms. */
  readonly t: number;
}

/** The members that are looked at, of whatever event; each is there where the event's type says so. */
type EventFields = Readonly<
  Record<"spec" | "attempt" | "key" | "name" | "value" | "result" | "timeoutAt", unknown>
>;

export const fieldsOf = (move: Transition): EventFields => move.event as unknown as EventFields; // Looked at by type.

export class JobFacts {
  readonly id: string;
  readonly moves: Move[] = [];

  constructor(id: string) {
    this.id = id;
  }

  get spec(): JobSpec | null {
    const first = this.moves[0];
    return first?.event.type === "job.submitted" ? (fieldsOf(first).spec as JobSpec) : null; // Its type was looked at.
  }

  /** The move that ended it; null while it has not ended. */
  get end(): Move | null {
    return this.moves.find(({ to }) => jobChart.finals.includes(to)) ?? null;
  }

  get state(): string {
    return this.moves.at(-1)?.to ?? "new";
  }

  all(type: string): readonly Move[] {
    return this.moves.filter(({ event }) => event.type === type);
  }

  has(type: string, fields: Partial<EventFields> = {}): boolean {
    return this.all(type).some((move) =>
      Object.entries(fields).every(([name, value]) => sameJson(fieldOf(move, name), value)),
    );
  }

  /** Whether it ever stood there. */
  wasIn(state: string): boolean {
    return this.moves.some(({ from, to }) => from === state || to === state);
  }
}

const fieldOf = (move: Transition, name: string): unknown =>
  (move.event as unknown as Record<string, unknown>)[name]; // Any member, by name.

export const sameJson = (one: unknown, other: unknown): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other);

interface Part {
  readonly message: StoredMessage;
  readonly frame: Frame;
}

export class Facts {
  readonly #store: SimulatedStore;
  #jobs = new Map<string, JobFacts>();
  #valid = new Set<string>();
  /** Position at which each record's group ends. */
  #groupEnds = new Map<number, number>();
  #parts: Part[] = [];
  #writer = "";
  #fence = 0;
  #nextIndex = 0;
  #lookedAt = 0;

  constructor(store: SimulatedStore) {
    this.#store = store;
  }

  /** Position of the latest fence. */
  get fence(): number {
    this.#look();
    return this.#fence;
  }

  /** Ids of the messages that are valid. */
  get valid(): ReadonlySet<string> {
    this.#look();
    return this.#valid;
  }

  get jobs(): ReadonlyMap<string, JobFacts> {
    this.#look();
    return this.#jobs;
  }

  job(id: string): JobFacts {
    return this.jobs.get(id) ?? new JobFacts(id);
  }

  /** Where the group of the valid record at this position ends: it counts when that is acknowledged. */
  groupEndOf(position: number): number {
    return this.#groupEnds.get(position) ?? position;
  }

  /** Positions of the records of a workflow, or of one job in it, in order. */
  positionsOf(workflow: string, job: string | null): readonly number[] {
    const positions = new Set<number>();
    for (const { id, spec, moves } of this.jobs.values()) {
      if (spec?.workflow !== workflow || (job !== null && id !== job)) continue;
      for (const { position } of moves) positions.add(position);
    }
    return [...positions].sort((one, other) => one - other);
  }

  /** The log has lost its end: everything is looked at anew. Returns the jobs of which something is gone. */
  forget(): readonly string[] {
    const before = this.#jobs;
    this.#jobs = new Map();
    this.#valid = new Set();
    this.#groupEnds = new Map();
    this.#parts = [];
    this.#writer = "";
    this.#fence = 0;
    this.#lookedAt = 0;
    return [...before.values()].flatMap(({ id, moves }) =>
      this.job(id).moves.length < moves.length ? [id] : [],
    );
  }

  #look(): void {
    const { messages } = this.#store;
    for (; this.#lookedAt < messages.length; this.#lookedAt += 1) {
      const message = messages[this.#lookedAt];
      const frame = message === undefined ? null : parseFrame(message.frame);
      if (message !== undefined && frame !== null) this.#take({ message, frame });
    }
  }

  #take({ message, frame }: Part): void {
    if (frame.index === 0) {
      this.#writer = frame.writer;
      this.#fence = message.sequence;
      this.#nextIndex = 1;
      this.#parts = [];
      return;
    }
    if (frame.writer !== this.#writer || frame.index !== this.#nextIndex) return;
    this.#nextIndex += 1;
    this.#parts.push({ message, frame });
    if (frame.part !== frame.parts) return;
    for (const part of this.#parts.splice(0)) {
      this.#groupEnds.set(part.message.sequence, message.sequence);
      this.#record(part);
    }
  }

  #record({ message: { id, sequence: position, body } }: Part): void {
    this.#valid.add(id);
    const decoded = decodeBody(body);
    if (decoded.kind !== "record") return;
    for (const transition of decoded.body.transitions) {
      if (!transition.actor.startsWith("job:")) continue;
      const job = transition.actor.slice("job:".length);
      const facts = this.#jobs.get(job) ?? new JobFacts(job);
      this.#jobs.set(job, facts);
      facts.moves.push({ ...transition, position, t: decoded.body.t });
    }
  }
}
