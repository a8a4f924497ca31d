/**
 * One job of a workflow while its tree is being folded: what the tree shows of it, and nothing that may be large.
 *
 * Owns: the fold of one scope's moves. Does not own: who stands below whom (job-tree.ts), the whole record
 * (execution-record/).
 *
 * N1. The state follows what a move says (`to`), whether its event is known or not; an unknown state leaves the last known.
 * N2. The first start decides the place among siblings: a re-run moves nobody (TREE-6).
 */
import { type JobState, jobStateOf } from "../machines/job/state.ts";
import { LIVENESS_STATES, type LivenessState } from "../machines/liveness/chart.ts";
import { cutTextOrNull } from "./bounded-value.ts";
import {
  type Fields,
  type JournaledMove,
  numberIn,
  objectIn,
  objectsIn,
  ordinalIn,
  textIn,
} from "./journaled-move.ts";
import { type OutcomeKind, outcomeKindOf } from "./public-states.ts";

/** Names and types, bytes of JSON. */
export const NODE_NAME_BYTES_MAX = 256;
/** The message of a failure, bytes of JSON; the execution record has more of it. */
export const NODE_MESSAGE_BYTES_MAX = 256;
/** Dependencies listed by name. */
export const WAITING_ON_MAX = 32;

export interface OutcomeSummary {
  readonly kind: OutcomeKind;
  /** Code and message of the failure; null without one. */
  readonly code: string | null;
  readonly message: string | null;
}

export class JobNode {
  readonly id: string;
  readonly workflow: string;
  /** Position of its first record. */
  readonly position: number;
  lastPosition: number;
  type: string | null = null;
  kind: string | null = null;
  name: string | null = null;
  user: string | null = null;
  parent: string | null = null;
  key: string | null = null;
  ordinal: number | null = null;
  #value = "new";
  state: JobState = "SCHEDULED";
  liveness: LivenessState = "queued";
  attempt = 0;
  submittedAt: number | null = null;
  /** Of the first attempt. */
  startedAt: number | null = null;
  /** Position of that start; of the first record while it has not started. */
  startPosition: number;
  endedAt: number | null = null;
  outcome: OutcomeSummary | null = null;
  /** Unsettled dependencies by name, at most WAITING_ON_MAX. */
  waitingOn: readonly string[] = NOBODY;
  /** Unsettled ones beyond those. */
  waitingOnDropped = 0;

  constructor(options: {
    readonly id: string;
    readonly workflow: string;
    readonly position: number;
  }) {
    this.id = options.id;
    this.workflow = options.workflow;
    this.position = options.position;
    this.startPosition = options.position;
    this.lastPosition = 0;
  }

  apply(move: JournaledMove): void {
    if (move.actorId !== this.id) return;
    if (move.kind === "liveness") this.#followLiveness(move.to);
    if (move.kind !== "job") return;
    if (move.event !== null) this.#take(move, move.event);
    if (move.isToKnown && move.to !== this.#value) this.#follow(move);
  }

  #followLiveness(to: string): void {
    this.liveness = LIVENESS_STATES.find((state) => state === to) ?? this.liveness;
  }

  #take(move: JournaledMove, event: Fields): void {
    switch (textIn(event, "type")) {
      case "job.submitted":
        this.#open(move, objectIn(event, "spec") ?? {});
        break;
      case "job.dependencySettled":
        this.#settle(textIn(event, "dependency"));
        break;
      case "job.started":
        this.#start(move, numberIn(event, "attempt"));
        break;
      default:
        break;
    }
  }

  #open(move: JournaledMove, spec: Fields): void {
    const name = (field: string) => cutTextOrNull(textIn(spec, field), NODE_NAME_BYTES_MAX);
    this.type = name("type");
    this.kind = name("kind");
    this.name = name("name");
    this.user = textIn(spec, "user");
    this.parent = textIn(spec, "parent");
    this.key = chosenKey(cutTextOrNull(textIn(spec, "key"), NODE_NAME_BYTES_MAX));
    this.ordinal = ordinalIn(spec);
    this.submittedAt = move.at;
    const ids = objectsIn(spec, "dependencies").map((dependency) => textIn(dependency, "id") ?? "");
    if (ids.length === 0) return;
    const unique = [...new Set(ids)];
    this.waitingOn = unique.slice(0, WAITING_ON_MAX);
    this.waitingOnDropped = unique.length - this.waitingOn.length;
  }

  #settle(dependency: string | null): void {
    const rest = this.waitingOn.filter((id) => id !== dependency);
    const isListed = rest.length < this.waitingOn.length;
    if (!isListed) this.waitingOnDropped = Math.max(0, this.waitingOnDropped - 1);
    this.waitingOn = rest;
  }

  #start(move: JournaledMove, attempt: number | null): void {
    this.attempt = attempt ?? this.attempt + 1;
    if (this.startedAt !== null) return;
    this.startedAt = move.at;
    this.startPosition = move.position;
  }

  #follow(move: JournaledMove): void {
    this.#value = move.to;
    this.state = jobStateOf(move.to, this.attempt);
    // Whatever made it leave, it waits for nobody any more.
    if (move.to !== "waiting") {
      this.waitingOn = NOBODY;
      this.waitingOnDropped = 0;
    }
    const kind = outcomeKindOf(this.state);
    if (kind === null || this.outcome !== null) return;
    this.endedAt = move.at;
    this.outcome = { kind, ...failureIn(move.event) };
  }
}

const NOBODY: readonly string[] = Object.freeze([]);

function failureIn(event: Fields | null): Pick<OutcomeSummary, "code" | "message"> {
  const failure = event === null ? null : objectIn(event, "failure");
  if (failure === null) return { code: null, message: null };
  return {
    code: cutTextOrNull(textIn(failure, "code"), NODE_NAME_BYTES_MAX),
    message: cutTextOrNull(textIn(failure, "message"), NODE_MESSAGE_BYTES_MAX),
  };
}

/** A key that was derived from type and input tells people nothing. */
const chosenKey = (key: string | null): string | null =>
  key?.startsWith("#") === true ? null : key;
