/**
 * The check of a log: an independent opinion on everything in it.
 *
 * Owns: putting the parts together, what the records of one group owe each other, the report. Does not own: which messages
 * are valid (validity.ts), what a task did (tasks.ts), who owned the log (owners.ts), where the log comes from.
 *
 * C1. Nothing of the runtime's reader, writer or fold is used: what they do wrong is not done here again.
 * C2. Nothing in a log makes it throw. What it has to say stands in the report, by position.
 * C3. Memory is bounded by the live tasks and one group, and by constants; a log of any size is read once.
 */
import { z } from "zod";
import type { Log, StoredMessage } from "../../actors/journal/log.ts";
import { DISPATCHER_SCOPE, parseTaskScope } from "../../actors/journal/subjects.ts";
import { dispatcherChart } from "../../machines/dispatcher/chart.ts";
import { Actor, named } from "./actor.ts";
import { type Finding, Findings, type FoundAt } from "./finding.ts";
import { Owners } from "./owners.ts";
import { type LiveTask, Tasks } from "./tasks.ts";
import {
  type MessageCounts,
  type ValidFence,
  ValidityWalk,
  type ValidRecord,
  type WholeGroup,
} from "./validity.ts";

export interface Report extends MessageCounts {
  /** No finding is an error. */
  readonly ok: boolean;
  /** In valid records. */
  readonly transitions: number;
  /** `setAside`: of the live ones, those that cannot be driven any more. */
  readonly jobs: { readonly live: number; readonly ended: number; readonly setAside: number };
  /** Position at which every reader halts; null: none does. */
  readonly haltedAt: number | null;
  readonly errors: number;
  readonly notes: number;
  /** At most FINDINGS_MAX, in the order of their positions. */
  readonly findings: readonly Finding[];
  /** Findings that were counted and not kept. */
  readonly dropped: number;
}

const fenceSchema = z.object({
  owner: z.string(),
  durability: z.enum(["fsync", "process"]),
  kind: z.enum(["take", "resync"]),
});

export class LogCheck {
  readonly #findings = new Findings();
  readonly #tasks = new Tasks(this.#findings);
  readonly #owners = new Owners();
  readonly #walk = new ValidityWalk(this.#findings, {
    fence: (fence) => this.#fence(fence),
    group: (group) => this.#group(group),
  });
  readonly #dispatcher = new Actor("dispatcher", "");
  #isDispatcherAside = false;
  #prefix: string | null;
  #transitions = 0;
  /** Journal time of the last valid record. */
  #last: { readonly t: number; readonly position: number } | null = null;

  /** `prefix`: the partition's subject prefix, with its last dot. Default: what the first fence's subject shows. */
  constructor(options: { readonly prefix?: string } = {}) {
    this.#prefix = options.prefix ?? null;
  }

  /** Messages come in the order of their positions. */
  push(message: StoredMessage): void {
    this.#walk.push(message);
  }

  /** `lastPosition`: the newest that the store ever gave out. Default: that of the last message. Called once. */
  finish(lastPosition?: number): Report {
    this.#walk.finish(lastPosition);
    const { errors, notes } = this.#findings;
    const findings = this.#findings.list();
    return {
      ok: errors === 0,
      ...this.#walk.counts,
      transitions: this.#transitions,
      jobs: this.#tasks.counts,
      haltedAt: this.#walk.haltedAt,
      errors,
      notes,
      findings,
      dropped: errors + notes - findings.length,
    };
  }

  /** Tasks that have not ended, as far as the log was read. */
  live(): Iterable<LiveTask> {
    return this.#tasks.live();
  }

  /** Where the dispatcher stands and after how many moves; null: it is set aside. */
  get dispatcher(): LiveTask["standing"] {
    const { sequence, state } = this.#dispatcher;
    return this.#isDispatcherAside ? null : { value: state.value, sequence };
  }

  #scopeOf(subject: string): string | null {
    return this.#prefix !== null && subject.startsWith(this.#prefix)
      ? subject.slice(this.#prefix.length)
      : null;
  }

  #fence(fence: ValidFence): void {
    const { subject, body } = fence;
    this.#prefix ??= prefixOf(subject);
    if (this.#scopeOf(subject) !== DISPATCHER_SCOPE) {
      const text = "it stands where readers of single subjects do not look for fences";
      this.#findings.add("fence", fence, text);
    }
    if (!fenceSchema.safeParse(body.fence).success)
      this.#findings.add(
        "fence",
        fence,
        "it does not say whose it is, how durable, or of which kind",
      );
    this.#owners.fence(fence);
  }

  #group(group: WholeGroup): void {
    this.#checkTurn(group.records);
    this.#checkWord(group);
    for (const { subject } of group.damaged) this.#setAside(subject);
    for (const record of group.records) this.#record(record);
    this.#tasks.endGroup();
  }

  /** What becomes one group was one turn, and says so in each of its parts; a scope has one part in it. */
  #checkTurn(records: readonly ValidRecord[]): void {
    const [first] = records;
    if (records.length < 2) return;
    const subjects = new Set<string>();
    for (const record of records) {
      const { cause, at, t } = record.body;
      const isAlike = cause === first?.body.cause && at === first.body.at && t === first.body.t;
      if (!isAlike) {
        const text = `it shares a group with ${first?.position}, and neither is of the other's turn`;
        this.#findings.add("turn", record, text);
      } else if (subjects.has(record.subject)) {
        this.#findings.add("turn", record, "a group has two records under this subject");
      }
      subjects.add(record.subject);
    }
  }

  /** Who takes a log says so before anything else. */
  #checkWord({ records, damaged }: WholeGroup): void {
    if (!this.#owners.isSilent) return;
    this.#owners.hasSpoken();
    const [first] = records;
    const isTaking = first?.body.transitions[0]?.event.type === "dispatcher.taken";
    // Where a part is damaged, it may have stood there.
    if (isTaking || damaged.length > 0 || first === undefined) return;
    this.#findings.add("epochs", first, "its owner writes before it has said that it took the log");
  }

  #setAside(subject: string): void {
    const scope = this.#scopeOf(subject);
    if (scope === DISPATCHER_SCOPE) this.#isDispatcherAside = true;
    const task = scope === null ? null : parseTaskScope(scope);
    if (task !== null) this.#tasks.setAside(task);
  }

  #record(record: ValidRecord): void {
    const { position, body } = record;
    this.#transitions += body.transitions.length;
    if (this.#last !== null && body.t < this.#last.t) {
      const text = `journal time goes back to ${body.t} from ${this.#last.t} at ${this.#last.position}`;
      this.#findings.add("time", record, text);
    }
    this.#last = { t: body.t, position };
    const scope = this.#scopeOf(record.subject);
    const task = scope === null ? null : parseTaskScope(scope);
    if (task !== null) this.#tasks.record(record, task);
    else if (scope === DISPATCHER_SCOPE) this.#dispatch(record);
    else this.#findings.add("scope", record, "a scope that this version does not know");
  }

  #dispatch({ position, subject, body }: ValidRecord): void {
    const at = { position, subject };
    if (body.correlation !== "")
      this.#findings.add("scope", at, `its correlation is ${named(body.correlation)}, not empty`);
    for (const transition of body.transitions) {
      if (transition.actor !== this.#dispatcher.name) {
        const text = `the actor ${named(transition.actor)} does not belong under this subject`;
        this.#findings.add("scope", at, text);
        continue;
      }
      const { event, v } = transition;
      const isTaking = event.type === "dispatcher.taken";
      if (!this.#isDispatcherAside || isTaking) {
        const fault = this.#isDispatcherAside
          ? this.#dispatcher.resume(transition)
          : this.#dispatcher.move(transition);
        this.#isDispatcherAside = fault !== null && fault.kind !== "effects";
        if (fault !== null) this.#findings.add(fault.kind, at, fault.text);
      }
      this.#checkEpochs(event, v ?? 1, at);
    }
  }

  #checkEpochs(recorded: unknown, version: number, at: FoundAt): void {
    const read = dispatcherChart.readEvent(recorded, version);
    if (read.kind !== "event") return;
    const { event } = read;
    if (event.type !== "dispatcher.taken" && event.type !== "dispatcher.resynced") return;
    for (const fault of this.#owners.faultsOf(event)) this.#findings.add("epochs", at, fault);
  }
}

const PREFIX = /^hf\.[^.]+\.evt\.\d+\.\d+\./;

function prefixOf(subject: string): string | null {
  const usual = PREFIX.exec(subject)?.[0];
  if (usual !== undefined) return usual;
  return subject.endsWith(`.${DISPATCHER_SCOPE}`)
    ? subject.slice(0, -DISPATCHER_SCOPE.length)
    : null;
}

/** Reads a log from its oldest message to what is its newest one now. Errors: those of the log. */
export async function checkLog(
  log: Pick<Log, "info" | "read">,
  options: { readonly prefix?: string } = {},
): Promise<Report> {
  const check = new LogCheck(options);
  const { lastSequence } = await log.info();
  await log.read({ from: 1, through: lastSequence }, (message) => check.push(message));
  return check.finish(lastSequence);
}
