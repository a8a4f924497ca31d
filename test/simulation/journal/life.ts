/**
 * One life: an owner of the partition from its take to its end, and what it was told.
 *
 * Owns: staging marked groups and barriers in journal time, and finding out at each callback whether it may run. Does not own:
 * what befalls it (weather.ts), what the log says in the end (run.ts).
 */
import type { LastMoment } from "../../../actors/journal/journal-time.ts";
import type { ReadRecord } from "../../../actors/journal/reader.ts";
import type { Owner } from "../../unit/journal/rig/owner.ts";
import type { Boot } from "../../unit/journal/rig/records.ts";
import { judge } from "../../unit/journal/rig/verdict.ts";
import type { StoredGroups } from "./stored-groups.ts";

/** `ended`: fenced, failed at its take, or told that the log lost something. */
export type Phase = "taking" | "open" | "ended" | "killed" | "closed";

const SCOPES = ["task.v.a", "task.v.b", "task.w.a", "account.x", "account.y", "schedule.s"];

export class Life {
  readonly owner: Owner;
  readonly violations: string[] = [];
  /** Groups staged, in order. */
  readonly staged: string[] = [];
  /** What callbacks must say: names of groups and barriers, in order of staging. */
  readonly #expected: string[] = [];
  readonly #stored: StoredGroups;
  #phase: Phase = "taking";
  /** A power cut took what it had been told is in the log: it must end. */
  hasLost = false;
  /** What its take failed with. */
  takeError: unknown = null;

  constructor(owner: Owner, stored: StoredGroups) {
    this.owner = owner;
    this.#stored = stored;
    owner.onAcknowledged = (name) => this.#acknowledged(name);
    owner.take().then(
      () => this.#taken(),
      (error: unknown) => this.#failed(error),
    );
  }

  get name(): string {
    return this.owner.name;
  }

  get phase(): Phase {
    if (this.#phase === "open" && this.owner.ended.length > 0) return "ended";
    return this.#phase;
  }

  /** Whether it may still do something. */
  get isAlive(): boolean {
    return this.phase === "taking" || this.phase === "open";
  }

  get acknowledgedGroups(): string[] {
    return this.owner.acknowledged.filter((name) => !name.startsWith("barrier"));
  }

  /** `parts` records in one group. Bodies carry journal time, which must never go back in the log. */
  stage(parts: number, boot?: Boot): void {
    const { owner, staged } = this;
    const name = `${owner.name}.${staged.length + 1}`;
    const scopes = Array.from({ length: parts }, (_, at) => {
      return SCOPES[(staged.length + at) % SCOPES.length] ?? "";
    });
    staged.push(name);
    this.#expected.push(name);
    const times = { t: owner.journal.now(), at: owner.clock.wallMs() };
    owner.stage(name, scopes, { ...times, ...(boot === undefined ? {} : { boot }) });
  }

  barrier(): void {
    const name = `barrier ${this.owner.name}.${this.#expected.length}`;
    this.#expected.push(name);
    this.owner.barrier(name);
  }

  kill(): void {
    this.#phase = "killed";
    this.owner.kill();
  }

  close(): void {
    this.#phase = "closed";
    void this.owner.journal.close();
  }

  #taken(): void {
    if (this.#phase !== "taking") return;
    this.#checkTake();
    this.owner.lastMoment = lastMomentOf(this.owner.groups);
    try {
      this.owner.open();
    } catch (error) {
      return this.#failed(error);
    }
    this.#phase = "open";
    const { clock } = this.owner;
    this.stage(1, { id: clock.bootId, uptimeMs: clock.uptimeMs() });
  }

  #failed(error: unknown): void {
    if (this.#phase !== "taking") return;
    this.#phase = "ended";
    this.takeError = error;
  }

  /** What the take read must be what the naive reader reads, as long as the log still holds that fence. */
  #checkTake(): void {
    const { fencePosition } = this.owner.journal;
    const { messages } = this.#stored.store;
    const writer = this.owner.fences.at(-1)?.writer ?? "";
    if (messages[fencePosition - 1]?.id !== `${writer}.0`) return;
    const { epochs } = judge(messages.slice(0, fencePosition));
    const expected = epochs.flatMap(({ groups }) =>
      groups.map(({ messages: group }) => group[0]?.sequence),
    );
    const read = this.owner.groups.map(([first]) => first?.position);
    if (read.join() !== expected.join())
      this.violations.push(`${this.name}: its take read groups at ${read}, there are ${expected}`);
  }

  #acknowledged(name: string): void {
    const expected = this.#expected[this.owner.acknowledged.length - 1];
    if (name !== expected)
      this.violations.push(`${this.name}: called back for ${name}, where ${expected} follows`);
    if (!this.isAlive)
      this.violations.push(`${this.name}: called back for ${name} when ${this.phase}`);
    if (!name.startsWith("barrier") && !this.#stored.hasWhole(name))
      this.violations.push(`${this.name}: called back for ${name}, which is not whole in the log`);
  }
}

/** What a life knew when it ended. */
interface Standing {
  /** Whether a power cut took what it had been told. */
  readonly hasLost: boolean;
  /** Position of its fence, 0 when it has none. */
  readonly fence: number;
}

/** Whether a life may end so without a fault of the journal: fenced by a later fence, the store away, or lossy. No halt. */
export function isOrderlyEnd(error: unknown, { hasLost, fence }: Standing): boolean {
  const { code, details = {} } = error as { code?: string; details?: Record<string, unknown> };
  if (code === "fenced") return Number(details["position"]) > fence;
  if (code !== "journal" || "position" in details) return false;
  return "acknowledged" in details ? hasLost : true;
}

export const describe = (error: unknown): string => {
  const { code, message } = error as { code?: string; message?: string };
  return `${code}: ${message}`;
};

/** What a fold would say of the log's last moment. */
function lastMomentOf(groups: readonly (readonly ReadRecord[])[]): LastMoment | null {
  const bodies = groups.flat().map(({ body }) => body);
  const takes = bodies.flatMap(({ t, transitions: [first] }) => {
    const event = first?.event as { readonly boot?: Boot } | undefined;
    const boot = event?.boot;
    return boot === undefined ? [] : [{ takenT: t, bootId: boot.id, uptimeMs: boot.uptimeMs }];
  });
  const [taken, last] = [takes.at(-1), bodies.at(-1)];
  return taken === undefined || last === undefined ? null : { ...taken, t: last.t, at: last.at };
}
