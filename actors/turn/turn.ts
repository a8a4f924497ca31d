/**
 * The turn: decide → stage → append → act.
 *
 * Owns: the overlay of one turn, delivery between charts, the group of records it becomes. Does not own: who is told what
 * (routes.ts), what an effect does (effects.ts), how a group becomes durable (actors/journal).
 *
 * T1. A turn is synchronous.
 * T2. An effect is released only when the group that names it is acknowledged, in log order; so is an answer that names none.
 * T4. All records of a turn are one group.
 * T6. A throw inside a turn discards the overlay and fails that input alone. Sizes are checked before anything is staged;
 *     what is staged is memory, and is not undone by whatever is thrown after it.
 * T7. `tell.*` is delivered in the same turn, first in first out, at most TELLS_MAX of them.
 *
 * Memory may run ahead of the log; the world never does.
 */
import type { ChartEvent, Effect } from "../../machines/engine/chart.ts";
import { invariant } from "../../machines/invariant.ts";
import { InvalidArgumentError } from "../errors.ts";
import {
  BODY_BYTES_MAX,
  BODY_VERSION,
  encodeBody,
  type RecordBody,
  type Transition,
} from "../journal/codec.ts";
import type { Journal } from "../journal/journal.ts";
import type { Redactor } from "../journal/redaction.ts";
import type { ScopedBody } from "../journal/writer.ts";
import type { Clock } from "../ports/clock.ts";
import type { Cell, CellStore, TaskCells } from "./cell.ts";
import type { ActorKind, EventOf } from "./charts.ts";

/** Deliveries between charts in one turn. A turn that needs more is a cycle of tells, or work that belongs in several. */
export const TELLS_MAX = 10_000;

/** An effect as it leaves a turn. Its id, `<actor>:<sequence>:<index>`, is the same on every release of it (T5). */
export interface ReleasedEffect extends Effect {
  readonly cell: Cell;
  readonly sequence: number;
  readonly index: number;
}

export const effectId = (effect: ReleasedEffect): string =>
  `${effect.cell.name}:${effect.sequence}:${effect.index}`;

export interface Move {
  readonly reason?: string;
  readonly evidence?: Readonly<Record<string, unknown>>;
}

/** What a committed turn did, for the indexes that are derived from transitions. */
export interface Committed {
  readonly cell: Cell;
  readonly event: ChartEvent;
}

export interface TurnPorts {
  readonly journal: Journal;
  readonly clock: Clock;
  readonly redactor: Redactor;
  /** Delivers one `tell.*` by the routes table. */
  readonly tell: (turn: Turn, cell: Cell, effect: Effect) => void;
  readonly cells: CellStore;
  /** Updates derived indexes when a turn is staged; must not throw. What it returns is handed to `release`. */
  readonly commit: (moves: readonly Committed[]) => unknown;
  /** A turn that was put off threw: for people, for the input that put it off has had its answer. */
  readonly fault: (error: unknown) => void;
  /** Runs a turn's effects after its acknowledgement; `mark` is what `commit` returned for it. */
  readonly release: (effects: readonly ReleasedEffect[], mark: unknown) => void;
}

/** Up to this many scopes of a turn are looked through; more are mapped. */
const FEW_SCOPES = 4;

interface Scope {
  readonly subject: string;
  readonly workflow: string;
  readonly transitions: Transition[];
}

export class Turn {
  readonly at: number;
  /** Journal time, ms. */
  readonly t: number;
  readonly #ports: TurnPorts;
  readonly #cause: string;
  readonly #scopes: Scope[] = [];
  /** Null while there are few scopes: most turns have one. */
  #scopeOf: Map<string, Scope> | null = null;
  readonly #touched: Cell[] = [];
  readonly #created: TaskCells[] = [];
  readonly #moves: Committed[] = [];
  readonly #effects: ReleasedEffect[] = [];
  readonly #deferred: (() => void)[] = [];
  #claimed = 0;
  readonly #tells: { cell: Cell; effect: Effect }[] = [];
  #tellCount = 0;
  #isTelling = false;

  constructor(ports: TurnPorts, cause: string) {
    this.#ports = ports;
    this.#cause = ports.redactor.redact(cause);
    this.at = ports.clock.wallMs();
    this.t = ports.journal.now();
  }

  /** Adds a task to the store; a discarded turn takes it out again. */
  create(cells: TaskCells): void {
    this.#created.push(cells);
    this.#ports.cells.add(cells);
  }

  /**
   * Room in this turn: of `wanted` pieces of work that may go on to more of their kind, how many it still takes when it
   * takes `max` in all. The rest belongs in deferred turns.
   */
  claim(wanted: number, max: number): number {
    const granted = Math.max(0, Math.min(wanted, max - this.#claimed));
    this.#claimed += granted;
    return granted;
  }

  /** Runs `work` when this turn is staged, as a turn of its own or several: what is too much for one. */
  defer(work: () => void): void {
    this.#deferred.push(work);
  }

  /** Steps one actor. False: its chart refuses the event as things stand, and nothing changed. */
  apply<Kind extends ActorKind>(cell: Cell<Kind>, given: EventOf[Kind], move: Move = {}): boolean {
    const event: ChartEvent = this.#ports.redactor.redact(given);
    const from = cell.staged ?? cell.state;
    const step = cell.chart.engine.step(from, event);
    if (step === null) return false;
    if (cell.staged === null) {
      this.#touched.push(cell);
      cell.stagedSequence = cell.sequence;
    }
    cell.staged = step.state;
    cell.stagedSequence += 1;
    this.#moves.push({ cell, event });
    this.#record(cell, event, from.value, step.state.value, step.effects, move);
    for (let index = 0; index < step.effects.length; index += 1)
      this.#name(cell, step.effects[index], index);
    if (!this.#isTelling) this.#deliver();
    return true;
  }

  #record(
    cell: Cell,
    event: ChartEvent,
    from: string,
    to: string,
    effects: readonly Effect[],
    move: Move,
  ): void {
    const scope = this.#scopeOfCell(cell);
    const { version } = cell.chart;
    // Members that are undefined are not written: an absent one and an undefined one are the same record.
    scope.transitions.push({
      actor: cell.name,
      sequence: cell.stagedSequence,
      event,
      v: version === 1 ? undefined : version,
      from,
      to,
      reason: move.reason === undefined ? undefined : this.#ports.redactor.redact(move.reason),
      evidence:
        move.evidence === undefined ? undefined : this.#ports.redactor.redact(move.evidence),
      effects: leavingTypes(effects),
    });
  }

  #scopeOfCell({ subject, workflow }: Cell): Scope {
    const known =
      this.#scopeOf === null
        ? this.#scopes.find((scope) => scope.subject === subject)
        : this.#scopeOf.get(subject);
    if (known !== undefined) return known;
    const scope: Scope = { subject, workflow, transitions: [] };
    this.#scopes.push(scope);
    if (this.#scopeOf === null && this.#scopes.length > FEW_SCOPES) {
      this.#scopeOf = new Map(this.#scopes.map((each) => [each.subject, each]));
    } else this.#scopeOf?.set(subject, scope);
    return scope;
  }

  #name(cell: Cell, effect: Effect | undefined, index: number): void {
    if (effect === undefined) return;
    if (effect.type.startsWith("tell.")) this.#tells.push({ cell, effect });
    else
      this.#effects.push({
        type: effect.type,
        params: effect.params,
        cell,
        sequence: cell.stagedSequence,
        index,
      });
  }

  #deliver(): void {
    this.#isTelling = true;
    for (let next = this.#tells.shift(); next !== undefined; next = this.#tells.shift()) {
      this.#tellCount += 1;
      invariant(this.#tellCount <= TELLS_MAX, "T7: deliveries in a turn are bounded", {
        max: TELLS_MAX,
      });
      this.#ports.tell(this, next.cell, next.effect);
    }
    this.#isTelling = false;
  }

  /** The records of what was decided, as one group. Errors: InvalidArgumentError when one is too large. */
  encode(): readonly ScopedBody[] {
    return this.#scopes.map((scope) => this.#encode(scope));
  }

  /** Makes the overlay memory and its records one group. */
  stage(messages: readonly ScopedBody[], onAcknowledged: () => void): void {
    if (messages.length === 0) {
      this.#ports.journal.barrier(onAcknowledged);
      return;
    }
    for (const cell of this.#touched) {
      cell.state = cell.staged ?? cell.state;
      cell.sequence = cell.stagedSequence;
      cell.staged = null;
    }
    const mark = this.#ports.commit(this.#moves);
    // Until the acknowledgement the effects alone are kept, not the turn with all it recorded.
    const effects = this.#effects;
    const { release } = this.#ports;
    this.#ports.journal.append(messages, () => {
      release(effects, mark);
      onAcknowledged();
    });
  }

  /** What was put off (`defer`). A throw here is the fault of a later turn alone: this one is staged, and so are the others. */
  goOn(): void {
    for (const work of this.#deferred) {
      try {
        work();
      } catch (error) {
        this.#ports.fault(error);
      }
    }
  }

  #encode({ subject, workflow, transitions }: Scope): ScopedBody {
    const record: RecordBody = {
      v: BODY_VERSION,
      at: this.at,
      t: this.t,
      cause: this.#cause,
      correlation: workflow,
      transitions,
    };
    const body = encodeBody(record);
    if (body.length > BODY_BYTES_MAX) {
      throw new InvalidArgumentError(
        `What this turn records for one task takes ${body.length} bytes; at most ${BODY_BYTES_MAX} are allowed.`,
        { details: { subject, bytes: body.length, bytesMax: BODY_BYTES_MAX } },
      );
    }
    return { subject, body };
  }

  /** Forgets everything that was decided (T6). */
  discard(): void {
    for (const cell of this.#touched) cell.staged = null;
    for (const { job } of this.#created) this.#ports.cells.remove(job.id);
  }
}

/** What leaves the process; a `tell.*` is seen by the transition it leads to. */
function leavingTypes(effects: readonly Effect[]): readonly string[] | undefined {
  const types: string[] = [];
  for (const { type } of effects) if (type.startsWith("do.")) types.push(type);
  return types.length === 0 ? undefined : types;
}

/**
 * Runs one turn: `decide` moves actors and returns the answer; `answered` gets it when everything staged up to here is
 * acknowledged (T2). Throws what `decide` threw, with nothing changed.
 */
export function runTurn<Answer>(
  ports: TurnPorts,
  cause: string,
  decide: (turn: Turn) => Answer,
  answered?: (answer: Answer) => void,
): Answer {
  const turn = new Turn(ports, cause);
  let answer: Answer;
  let messages: readonly ScopedBody[];
  try {
    answer = decide(turn);
    messages = turn.encode();
  } catch (error) {
    turn.discard();
    throw error;
  }
  turn.stage(messages, () => answered?.(answer));
  turn.goOn();
  return answer;
}
