/**
 * Effects: what leaves a turn after its acknowledgement, and the fate of each on a reload (T5).
 *
 * Owns: the one table of `do.*`. Does not own: what runs them (`Executions`, `Timers`, handles), which come in by ports.
 *
 * fate `reissue`: released again after a reload under the same id, until what it caused is journaled.
 * fate `reconcile`: after a reload, recovery compares the record with what is there and decides anew.
 * fate `drop`: it was for somebody who is gone with the process (a reply, a signal to code that ran here).
 */
import { invariant } from "../../machines/invariant.ts";
import type { Cell } from "./cell.ts";
import type { ReleasedEffect } from "./turn.ts";

export type Fate = "reissue" | "reconcile" | "drop";

export interface EffectPorts {
  readonly start: (job: Cell<"job">) => void;
  readonly armTimer: (actor: string, timer: string, dueAt: number) => void;
  readonly signal: (job: Cell<"job">, reason: string, isTimeout: boolean) => void;
  readonly answer: (job: string, name: string, value: unknown) => void;
  readonly settle: (job: Cell<"job">) => void;
}

interface EffectEntry {
  readonly fate: Fate;
  readonly run: (ports: EffectPorts, job: Cell<"job">, params: ReleasedEffect["params"]) => void;
}

const EFFECTS: Readonly<Record<string, EffectEntry>> = {
  "do.start": { fate: "reconcile", run: (ports, job) => ports.start(job) },
  // Every timer of an in-process job is one of its attempt, and ends with the process that ran it.
  "do.armTimer": {
    fate: "drop",
    run: (ports, job, { timer, dueAt }) => {
      if (typeof dueAt === "number") ports.armTimer(job.id, String(timer), dueAt);
    },
  },
  "do.signalCancel": {
    fate: "reconcile",
    run: (ports, job, { reason }) => ports.signal(job, String(reason), false),
  },
  "do.signalTimeout": {
    fate: "reconcile",
    run: (ports, job) => ports.signal(job, "it ran past its timeout", true),
  },
  "do.answer": {
    fate: "drop",
    run: (ports, job, { name, value }) => ports.answer(job.id, String(name), value),
  },
  "do.settle": { fate: "drop", run: (ports, job) => ports.settle(job) },
};

export const EFFECT_NAMES: readonly string[] = Object.keys(EFFECTS);

export const fateOf = (type: string): Fate | undefined => EFFECTS[type]?.fate;

/** Runs one released effect. */
export function runEffect(ports: EffectPorts, effect: ReleasedEffect): void {
  const entry = EFFECTS[effect.type];
  invariant(entry !== undefined, "T5: every effect stands in the table", { type: effect.type });
  entry.run(ports, effect.cell as Cell<"job">, effect.params); // Only the job chart names effects so far.
}
