/**
 * One log, read by everybody who reads logs: the runtime's reader and fold, readers of single subjects, the check.
 *
 * Owns: bringing their opinions into a form in which they compare by position. Does not own: any of them.
 */

import { Epochs } from "../../actors/journal/epochs.ts";
import type { StoredMessage } from "../../actors/journal/log.ts";
import { JournalReader, type ReadRecord } from "../../actors/journal/reader.ts";
import { readScopes } from "../../actors/journal/scoped-reader.ts";
import { DISPATCHER_SCOPE } from "../../actors/journal/subjects.ts";
import { BootFold } from "../../actors/runtime/fold.ts";
import { Kinship } from "../../actors/runtime/kinship.ts";
import { CellStore } from "../../actors/turn/cell.ts";
import { Findings } from "../../infra/verify/finding.ts";
import { LogCheck, type Report } from "../../infra/verify/log-check.ts";
import { ValidityWalk } from "../../infra/verify/validity.ts";
import type { Messages } from "./planting.ts";

/** Which message is what. */
export interface Validity {
  readonly records: readonly number[];
  readonly damaged: readonly number[];
  /** What a fence did not settle: foreign and stale messages. */
  readonly void: readonly number[];
  readonly fences: readonly {
    readonly position: number;
    /** Up to where the epoch before it is valid; null for the first. */
    readonly validThrough: number | null;
  }[];
  readonly haltedAt: number | null;
}

/** Tasks that have not ended: where they stand, and those that are set aside. */
export interface Standing {
  /** Null: set aside. */
  readonly dispatcher: string | null;
  readonly live: Readonly<Record<string, string>>;
  readonly setAside: readonly string[];
}

export interface RuntimeReading {
  readonly validity: Validity;
  readonly standing: Standing;
  readonly records: readonly ReadRecord[];
  readonly epochs: Epochs;
  readonly fold: BootFold;
}

export function readAsRuntime(messages: Messages, prefix: string): RuntimeReading {
  const cells = new CellStore(`${prefix}${DISPATCHER_SCOPE}`);
  const fold = new BootFold(cells, new Kinship(), prefix);
  const epochs = new Epochs();
  const records: ReadRecord[] = [];
  const damaged: number[] = [];
  const voided: number[] = [];
  const fences: { position: number; validThrough: number | null }[] = [];
  const reader = new JournalReader({
    fence: (fence) => {
      const { position, writer, validThrough } = fence;
      fences.push({ position, validThrough: fences.length === 0 ? null : validThrough });
      epochs.begin(writer, position, validThrough);
      fold.fence(fence);
    },
    group: (group) => {
      records.push(...group);
      fold.group(group);
    },
    fault: (fault) => {
      (fault.kind === "damaged" ? damaged : voided).push(fault.position);
      fold.fault(fault);
    },
  });
  for (const message of messages) reader.push(message);
  fold.finish();
  const haltedAt = reader.halted?.position ?? null;
  const positions = records.map(({ position }) => position);
  const live = [...cells.tasks()].map(({ job }) => [job.id, `${job.sequence} ${job.state.value}`]);
  return {
    validity: { records: positions, damaged, void: voided, fences, haltedAt },
    standing: {
      dispatcher: fold.isDispatcherAside
        ? null
        : `${cells.dispatcher.sequence} ${cells.dispatcher.state.value}`,
      live: Object.fromEntries(live.sort()),
      setAside: [...fold.setAside.keys()].sort(),
    },
    records,
    epochs,
    fold,
  };
}

export function readAsCheck(messages: Messages): {
  readonly validity: Validity;
  readonly standing: Standing;
  readonly report: Report;
} {
  const check = new LogCheck();
  for (const message of messages) check.push(message);
  const report = check.finish();
  const { dispatcher } = check;
  const tasks = [...check.live()];
  const live = tasks.flatMap(({ job, standing }) =>
    standing === null ? [] : [[job, `${standing.sequence} ${standing.value}`]],
  );
  const setAside = tasks.flatMap(({ job, standing }) => (standing === null ? [job] : []));
  return {
    validity: validityOf(messages),
    standing: {
      dispatcher: dispatcher === null ? null : `${dispatcher.sequence} ${dispatcher.value}`,
      live: Object.fromEntries(live.sort()),
      setAside: setAside.sort(),
    },
    report,
  };
}

function validityOf(messages: Messages): Validity {
  const findings = new Findings();
  const records: number[] = [];
  const damaged: number[] = [];
  const fences: { position: number; validThrough: number | null }[] = [];
  const walk = new ValidityWalk(findings, {
    fence: ({ position, closes }) =>
      fences.push({ position, validThrough: closes?.validThrough ?? null }),
    group: (group) => {
      records.push(...group.records.map(({ position }) => position));
      damaged.push(...group.damaged.map(({ position }) => position));
    },
  });
  for (const message of messages) walk.push(message);
  const voided = findings
    .list()
    .filter(({ kind }) => kind === "foreign" || kind === "stale")
    .map(({ position }) => position);
  return { records, damaged, void: voided, fences, haltedAt: walk.haltedAt };
}

/** Positions that readers of single subjects take for valid; all subjects of the log, one after the other. */
export async function readBySubject(
  messages: readonly StoredMessage[],
  epochs: Epochs,
  log: Parameters<typeof readScopes>[0]["log"],
  through: number,
): Promise<readonly number[]> {
  const positions: number[] = [];
  const subjects = new Set(messages.map(({ subject }) => subject));
  for (const subject of subjects) {
    await readScopes({ log, epochs, subjects: [subject], through }, ({ position }) =>
      positions.push(position),
    );
  }
  return positions.sort((one, other) => one - other);
}
