/**
 * Which messages of a log are valid, decided a second time.
 *
 * Owns: the written rule (architecture, "Reader rule"), as simple code that shares nothing with the runtime's reader but the
 * parsing of frames and bodies. Does not own: what a valid record says (log-check.ts).
 *
 * V1. A message is a fence (index 0), a record of the latest fence's writer, or void.
 * V2. That writer's records are numbered 1, 2, 3, … and fall into groups 1/n … n/n. Anything else of it halts.
 * V3. A fence voids a group that is not whole. Whether a part of it is damaged does not matter then.
 * V4. A fence that cannot be read halts, and so do more void messages in a row than fenced writers can leave behind.
 */
import {
  type Decoded,
  decodeBody,
  type FenceBody,
  type RecordBody,
} from "../../actors/journal/codec.ts";
import { checksumOf, type Frame, messageId, parseFrame } from "../../actors/journal/frame.ts";
import type { StoredMessage } from "../../actors/journal/log.ts";
import type { Findings, FoundAt } from "./finding.ts";
import { Recent } from "./recent.ts";

/** Void messages in a row that a reader bears: a window of 256 and a batch of 1,000 that were under way, and again as many. */
export const VOID_RUN_MAX = 2_048;
/** Writers that were fenced, kept so that what they leave behind is told from what strangers write. */
const FORMER_WRITERS_MAX = 16_384;

export interface ValidRecord extends FoundAt {
  readonly body: RecordBody;
}

export interface WholeGroup {
  /** In order; without the damaged ones. */
  readonly records: readonly ValidRecord[];
  readonly damaged: readonly FoundAt[];
}

export interface ValidFence extends FoundAt {
  readonly body: FenceBody;
  /** The epoch that it ends; null for the first fence. */
  readonly closes: { readonly fence: number; readonly validThrough: number } | null;
}

export interface ValiditySink {
  fence(fence: ValidFence): void;
  group(group: WholeGroup): void;
}

/** Every message is counted in exactly one of these but the first. */
export interface MessageCounts {
  readonly messages: number;
  readonly fences: number;
  /** Valid and readable. */
  readonly records: number;
  /** In a whole group, but not to be read. */
  readonly damaged: number;
  readonly voided: number;
  /** Parts of the group that is not whole at the end, or where a reader halts. */
  readonly unfinished: number;
  /** At and behind the point at which a reader halts. */
  readonly unjudged: number;
}

interface Owner {
  readonly writer: string;
  readonly fence: number;
  nextIndex: number;
  validThrough: number;
}

interface Part extends FoundAt {
  readonly content: Decoded;
}

export class ValidityWalk {
  readonly #findings: Findings;
  readonly #sink: ValiditySink;
  /** Position of the fence of each. */
  readonly #former = new Recent<string, number>(FORMER_WRITERS_MAX);
  readonly #counts = {
    messages: 0,
    fences: 0,
    records: 0,
    damaged: 0,
    voided: 0,
    unfinished: 0,
    unjudged: 0,
  };
  #owner: Owner | null = null;
  #parts: Part[] = [];
  #partsWanted = 0;
  #voidRun = 0;
  #lastPosition = 0;
  #haltedAt: number | null = null;

  constructor(findings: Findings, sink: ValiditySink) {
    this.#findings = findings;
    this.#sink = sink;
  }

  get counts(): MessageCounts {
    return { ...this.#counts };
  }

  /** Position at which a reader halts; null: none so far. */
  get haltedAt(): number | null {
    return this.#haltedAt;
  }

  push(message: StoredMessage): void {
    this.#counts.messages += 1;
    if (this.#haltedAt !== null) {
      this.#counts.unjudged += 1;
      return;
    }
    this.#lookForHole(message.sequence, message.subject);
    const at = { position: message.sequence, subject: message.subject };
    const frame = parseFrame(message.frame);
    if (frame === null) return this.#passOver("foreign", at, "it has no frame of ours");
    if (message.id !== messageId(frame.writer, frame.index))
      this.#findings.add("id", at, "its message id is not the one of its frame");
    if (frame.index === 0) return this.#takeFence(at, frame, message.body);
    if (frame.writer === this.#owner?.writer)
      return this.#takeRecord(this.#owner, at, frame, message.body);
    if (this.#former.get(frame.writer) !== undefined)
      return this.#passOver("stale", at, `its writer ${frame.writer} was fenced before it`);
    this.#passOver("foreign", at, `its writer ${frame.writer} never fenced this log`);
  }

  /** The end of the log; `lastPosition` is the newest that the store ever gave out. */
  finish(lastPosition = this.#lastPosition): void {
    const [first] = this.#parts;
    this.#counts.unfinished += this.#parts.length;
    if (this.#haltedAt !== null) return;
    this.#lookForHole(lastPosition + 1, "");
    if (first === undefined) return;
    this.#findings.add("unfinished", first, `the log ends within a group: ${this.#partsText()}`);
  }

  #lookForHole(position: number, subject: string): void {
    const before = this.#lastPosition;
    this.#lastPosition = position;
    if (position <= before + 1) return;
    const which =
      position === before + 2
        ? `position ${before + 1} is`
        : `positions ${before + 1} … ${position - 1} are`;
    this.#findings.add("hole", { position: before + 1, subject }, `${which} not there any more`);
  }

  #passOver(kind: "foreign" | "stale", at: FoundAt, why: string): void {
    this.#counts.voided += 1;
    this.#voidRun += 1;
    this.#findings.add(kind, at, why);
    if (this.#voidRun <= VOID_RUN_MAX) return;
    this.#haltedAt = at.position;
    const text = `more than ${VOID_RUN_MAX} void messages in a row: no fenced writer leaves so many`;
    this.#findings.add("void_run", at, text);
  }

  #halt(kind: "gap" | "broken_group" | "broken_fence", at: FoundAt, why: string): void {
    this.#haltedAt = at.position;
    this.#counts.unjudged += 1;
    this.#findings.add(kind, at, `a reader halts here: ${why}`);
  }

  #takeFence(at: FoundAt, frame: Frame, bytes: Uint8Array): void {
    const content = contentOf(frame, bytes);
    if (content.kind !== "fence") {
      const why = content.kind === "unreadable" ? content.reason : "a record's body";
      return this.#halt("broken_fence", at, `a fence that cannot be read (${why})`);
    }
    this.#voidTorn(at.position);
    const before = this.#owner;
    if (this.#former.get(frame.writer) !== undefined || before?.writer === frame.writer)
      this.#findings.add(
        "fence",
        at,
        `writer ${frame.writer} is minted for one fence, and has two`,
      );
    if (before !== null) this.#former.set(before.writer, before.fence);
    const { position } = at;
    this.#owner = { writer: frame.writer, fence: position, nextIndex: 1, validThrough: position };
    this.#voidRun = 0;
    this.#counts.fences += 1;
    const closes =
      before === null ? null : { fence: before.fence, validThrough: before.validThrough };
    this.#sink.fence({ ...at, body: content.body, closes });
  }

  /** V3. */
  #voidTorn(fence: number): void {
    const [first] = this.#parts;
    if (first === undefined) return;
    this.#counts.voided += this.#parts.length;
    const text = `the fence at ${fence} came into a group: ${this.#partsText()}`;
    this.#findings.add("torn", first, text);
    this.#parts = [];
  }

  #partsText(): string {
    const count = this.#parts.length;
    return `${count} of its ${this.#partsWanted} records ${count === 1 ? "stands" : "stand"} here`;
  }

  /** V2. */
  #takeRecord(owner: Owner, at: FoundAt, frame: Frame, bytes: Uint8Array): void {
    if (frame.index !== owner.nextIndex)
      return this.#halt("gap", at, `record ${frame.index} where ${owner.nextIndex} follows`);
    const place = this.#parts.length + 1;
    const wanted = place === 1 ? frame.parts : this.#partsWanted;
    if (frame.part !== place || frame.parts !== wanted) {
      const found = `part ${frame.part} of ${frame.parts}`;
      const follows = place === 1 ? "a group begins" : `part ${place} of ${wanted} follows`;
      return this.#halt("broken_group", at, `${found} where ${follows}`);
    }
    owner.nextIndex += 1;
    this.#voidRun = 0;
    this.#partsWanted = wanted;
    this.#parts.push({ ...at, content: contentOf(frame, bytes) });
    if (place < wanted) return;
    owner.validThrough = at.position;
    this.#closeGroup();
  }

  #closeGroup(): void {
    const records: ValidRecord[] = [];
    const damaged: FoundAt[] = [];
    for (const { position, subject, content } of this.#parts) {
      if (content.kind === "record") {
        records.push({ position, subject, body: content.body });
        continue;
      }
      damaged.push({ position, subject });
      const why = content.kind === "unreadable" ? content.reason : "a fence's body";
      this.#findings.add("damaged", { position, subject }, why);
    }
    this.#counts.records += records.length;
    this.#counts.damaged += damaged.length;
    this.#parts = [];
    this.#sink.group({ records, damaged });
  }
}

const contentOf = (frame: Frame, bytes: Uint8Array): Decoded =>
  checksumOf(bytes) === frame.checksum
    ? decodeBody(bytes)
    : { kind: "unreadable", reason: "its body does not match its checksum" };
