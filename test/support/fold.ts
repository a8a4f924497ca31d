/**
 * A log folded beside the runtime that wrote it.
 *
 * Owns: the comparison that every model test ends with: what a fold of the log gives is what the live actors are (ES-2).
 */
import assert from "node:assert/strict";
import type { StoredMessage } from "../../actors/journal/log.ts";
import { JournalReader } from "../../actors/journal/reader.ts";
import { DISPATCHER_SCOPE } from "../../actors/journal/subjects.ts";
import { BootFold } from "../../actors/runtime/fold.ts";
import { Kinship } from "../../actors/runtime/kinship.ts";
import { type Runtime, worldOf } from "../../actors/runtime/runtime.ts";
import { type Cell, CellStore } from "../../actors/turn/cell.ts";
import { PREFIX } from "./runtime.ts";

export interface Folded {
  readonly cells: CellStore;
  readonly kinship: Kinship;
  readonly fold: BootFold;
}

export function foldOf(messages: readonly StoredMessage[]): Folded {
  const cells = new CellStore(`${PREFIX}${DISPATCHER_SCOPE}`);
  const kinship = new Kinship();
  const fold = new BootFold(cells, kinship, PREFIX);
  const reader = new JournalReader(fold);
  for (const message of messages) reader.push(message);
  assert.equal(reader.halted, null, "the log can be read to its end");
  fold.finish();
  return { cells, kinship, fold };
}

/** Actors and indexes as data, so that two of them compare. Undefined members are left out, as a log leaves them out. */
export function pictureOf(
  { cells, kinship }: Pick<Folded, "cells" | "kinship">,
  options: { readonly dispatcher?: boolean } = {},
): unknown {
  const tasks = [...cells.tasks()];
  const jobs = new Set(tasks.map(({ job }) => job.id));
  const dependencies = new Set(
    tasks.flatMap(({ job }) => job.now.context.spec?.dependencies.map(({ id }) => id) ?? []),
  );
  return {
    ...(options.dispatcher === false ? {} : { dispatcher: cellPicture(cells.dispatcher) }),
    tasks: tasks.map(({ job, liveness }) => [cellPicture(job), cellPicture(liveness)]),
    families: [...jobs].sort().map((id) => [id, familyPicture(kinship, id)]),
    dependents: [...new Set([...jobs, ...dependencies])]
      .sort()
      .map((id) => [id, [...(kinship.dependents(id) ?? [])]]),
  };
}

function cellPicture(cell: Cell): unknown {
  assert.equal(cell.staged, null, "L1: nothing is staged between turns");
  const { name, subject, workflow, sequence, state } = cell;
  return { name, subject, workflow, sequence, value: state.value, context: plain(state.context) };
}

function familyPicture(kinship: Kinship, parent: string): unknown {
  const family = kinship.family(parent);
  if (family === undefined) return null;
  const { children, live, ordinalMax } = family;
  return { children: [...children], live: [...live], ordinalMax };
}

/** Freezing and prototypes are of no interest; a member that is undefined is, since a log cannot hold it. */
function plain(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(plain);
  assert.ok(
    [Object.prototype, null].includes(Object.getPrototypeOf(value)),
    "a context is plain data",
  );
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, item]) =>
      item === undefined ? [] : [[key, plain(item)]],
    ),
  );
}

/** Fails when the fold of what the runtime wrote is not what its live actors are. Everything must be acknowledged. */
export function assertLiveIsFold(runtime: Runtime, messages: readonly StoredMessage[]): void {
  const { cells, kinship, journal } = worldOf(runtime);
  assert.equal(journal.pendingCount, 0, "everything is acknowledged");
  const folded = foldOf(messages);
  assert.deepStrictEqual(pictureOf({ cells, kinship }), pictureOf(folded));
  const findings = folded.fold.findings.filter(({ kind }) => kind !== "void");
  assert.deepStrictEqual(findings, [], "the fold finds nothing to complain of");
}
