/**
 * A world of turns without a runtime: jobs and their liveness records move through the real turn, charts and routes, and what
 * would be appended is kept as journal records. A job that is queued stays so until the test starts it.
 */

import { decodeBody, type RecordBody } from "../../../actors/journal/codec.ts";
import type { Journal } from "../../../actors/journal/journal.ts";
import type { ReadRecord } from "../../../actors/journal/reader.ts";
import { Redactor } from "../../../actors/journal/redaction.ts";
import { taskScope } from "../../../actors/journal/subjects.ts";
import type { ScopedBody } from "../../../actors/journal/writer.ts";
import { Kinship } from "../../../actors/runtime/kinship.ts";
import { CellStore, newTaskCells, type TaskCells } from "../../../actors/turn/cell.ts";
import { type RoutePorts, tell } from "../../../actors/turn/routes.ts";
import { type Move, runTurn, type Turn, type TurnPorts } from "../../../actors/turn/turn.ts";
import { invariant } from "../../../machines/invariant.ts";
import type { JobEvent } from "../../../machines/job/events.ts";
import type { JobSpec } from "../../../machines/job/spec.ts";
import type { LivenessEvent } from "../../../machines/liveness/events.ts";

export const WORKFLOW = "wf-1";
const PREFIX = "hf.test.evt.0.1.";

export const specOf = (given: Partial<JobSpec> & Pick<JobSpec, "id">): JobSpec => ({
  type: "copy-file",
  kind: "tool",
  name: `copy-file-${given.id}`,
  workflow: WORKFLOW,
  user: "ada",
  parent: null,
  key: null,
  digest: null,
  input: { path: "a.txt" },
  dependencies: [],
  toleratesFailures: false,
  timeoutMs: null,
  retryClass: "unknown_no_automatic_retry",
  retryBudget: 0,
  whenParentEnds: "cancel",
  metadata: {},
  ...given,
});

export const subjectOf = (job: string, workflow = WORKFLOW): string =>
  `${PREFIX}${taskScope(workflow, job)}`;

const rethrow = (error: unknown): never => {
  throw error;
};

export class TurnWorld {
  readonly records: ReadRecord[] = [];
  readonly cells = new CellStore(`${PREFIX}dispatcher`);
  /** Wall clock of the turns to come, ms. */
  at = 1_000;
  #position = 0;
  readonly #ports: TurnPorts;

  constructor() {
    const kinship = new Kinship();
    const routes: RoutePorts = {
      cells: this.cells,
      kinship,
      startQueued: () => undefined,
      runTurn: (cause, decide) => runTurn(this.#ports, cause, decide),
    };
    this.#ports = {
      journal: this.#journal(),
      clock: { wallMs: () => this.at } as unknown as TurnPorts["clock"],
      redactor: new Redactor(),
      cells: this.cells,
      tell: (turn, cell, effect) => tell(routes, turn, cell, effect),
      commit: (moves) => {
        for (const { cell, event } of moves) if (cell.kind === "job") kinship.moved(cell.id, event);
      },
      release: () => undefined,
      fault: rethrow,
    };
  }

  /** The turn's end of a journal that acknowledges at once. */
  #journal(): Journal {
    const append = (messages: readonly ScopedBody[], onAcknowledged: () => void) => {
      for (const { subject, body } of messages) this.#keep(subject, body);
      onAcknowledged();
    };
    const barrier = (onAcknowledged: () => void) => onAcknowledged();
    return { now: () => this.at, append, barrier } as unknown as Journal;
  }

  #keep(subject: string, bytes: Uint8Array): void {
    const decoded = decodeBody(bytes);
    invariant(decoded.kind === "record", "a turn appends records");
    this.#position += 1;
    this.records.push({ position: this.#position, subject, body: decoded.body });
  }

  /** Appends what no turn makes: a record of another version, or a strange one. */
  append(subject: string, transitions: readonly unknown[]): void {
    const body = {
      v: 1,
      at: this.at,
      t: this.at,
      cause: "test",
      correlation: WORKFLOW,
      transitions,
    };
    this.#position += 1;
    // Past the codec, which tells most of these as damaged: a fold is not to rest on that.
    this.records.push({ position: this.#position, subject, body: body as unknown as RecordBody });
  }

  submit(given: Partial<JobSpec> & Pick<JobSpec, "id">): void {
    const spec = specOf(given);
    this.#turn((turn) => {
      const cells = newTaskCells(spec.id, spec.workflow, subjectOf(spec.id, spec.workflow));
      turn.create(cells);
      const isTaken = turn.apply(cells.job, { type: "job.submitted", spec });
      invariant(isTaken, "a new job takes its submission");
    });
  }

  /** One turn with one event of a job; false: its chart refuses it. */
  job(id: string, event: JobEvent, move: Move = {}): boolean {
    return this.#turn((turn) => turn.apply(this.task(id).job, event, move));
  }

  /** One turn with something that an observer saw. */
  observe(id: string, event: LivenessEvent, move: Move = {}): boolean {
    return this.#turn((turn) => turn.apply(this.task(id).liveness, event, move));
  }

  start(id: string, attempt = 1): void {
    const isTaken = this.job(id, { type: "job.started", attempt, timeoutAt: null });
    invariant(isTaken, "a queued job starts", { id, attempt });
  }

  task(id: string): TaskCells {
    const cells = this.cells.task(id);
    invariant(cells !== undefined, "the test submitted it", { id });
    return cells;
  }

  #turn<Answer>(decide: (turn: Turn) => Answer): Answer {
    return runTurn(this.#ports, "test", decide);
  }
}
