/**
 * Findings: what a check of a log has to say, each by position.
 *
 * Owns: the kinds of findings and how grave each is, keeping the first of them. Does not own: finding any.
 *
 * F1. An *error* is what no log holds that only correct owners wrote and only correct stores kept: a reader sets something
 *     aside for it, or halts, or would mislead somebody. A *note* is what a fence settled, or may yet settle.
 * F2. At most FINDINGS_MAX are kept and the rest is counted; no number of notes crowds out an error.
 */

/** Findings kept; later ones are counted only. */
export const FINDINGS_MAX = 1_000;

export type Severity = "error" | "note";

const SEVERITIES = {
  /** Positions that the store has given out and has no more. */
  hole: "error",
  /** No owner of this log wrote it: no frame of ours, or a writer that never fenced. Void. */
  foreign: "error",
  /** Its writer had been fenced. Void. */
  stale: "note",
  /** A group that was not whole when a fence came. Void. */
  torn: "note",
  /** A group that is not whole at the end of the log: it may become so, or void. */
  unfinished: "note",
  /** A good frame over a body that does not match it, or cannot be read. */
  damaged: "error",
  /** The four that halt a reader: an index or a part that does not follow, a fence that cannot be read, too many void. */
  gap: "error",
  broken_group: "error",
  broken_fence: "error",
  void_run: "error",
  /** A fence that readers honour though no owner would have written it so. */
  fence: "error",
  /** The message id is not the one of its frame: the chain and every resync rest on ids. */
  id: "error",
  /** A subject that this version does not know, or a record that does not belong under its subject. */
  scope: "error",
  /** The parts of one group are not of one turn. */
  turn: "error",
  /** Journal time goes back. */
  time: "error",
  /** An event that this version's chart does not know, or whose fields do not fit. */
  event: "error",
  /** An actor's moves are not numbered 1, 2, 3, … */
  sequence: "error",
  /** A move begins elsewhere than the one before it ended. */
  from: "error",
  /** The chart has no such move. */
  refused: "error",
  /** The chart leads elsewhere. */
  to: "error",
  /** The chart names other effects. */
  effects: "error",
  /** A move out of a final state. */
  after_final: "error",
  /** A job and the record of its being alive contradict each other. */
  states: "error",
  /** What an owner says of the epochs before it is not what the log shows. */
  epochs: "error",
} as const satisfies Record<string, Severity>;

export type FindingKind = keyof typeof SEVERITIES;

export interface Finding {
  /** Stream sequence. */
  readonly position: number;
  readonly subject: string;
  readonly kind: FindingKind;
  readonly severity: Severity;
  /** One sentence without its full stop; what comes from the log in it is cut, not escaped. */
  readonly text: string;
}

export interface FoundAt {
  readonly position: number;
  readonly subject: string;
}

/** F2. */
export class Findings {
  readonly #kept: Record<Severity, Finding[]> = { error: [], note: [] };
  readonly #counts: Record<Severity, number> = { error: 0, note: 0 };

  add(kind: FindingKind, { position, subject }: FoundAt, text: string): void {
    const severity = SEVERITIES[kind];
    this.#counts[severity] += 1;
    const kept = this.#kept[severity];
    if (kept.length < FINDINGS_MAX) kept.push({ position, subject, kind, severity, text });
  }

  get errors(): number {
    return this.#counts.error;
  }

  get notes(): number {
    return this.#counts.note;
  }

  /** In the order of their positions; of one position, as they were found. */
  list(): readonly Finding[] {
    const { error, note } = this.#kept;
    return [...error, ...note.slice(0, FINDINGS_MAX - error.length)].sort(
      (one, other) => one.position - other.position,
    );
  }
}
