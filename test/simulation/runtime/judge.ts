/**
 * What must hold in the end, when all is calm again.
 *
 * Owns: the calm, and every invariant that only the end of a run can show. Does not own: what was looked at meanwhile (book.ts).
 *
 * J1. One owner is left, and everything it staged is acknowledged.
 * J2. Every job settles by itself or stands where its class says; a person's word on those settles them too.
 * J3. Then nothing is left: no live job, no call, no handle, no timer.
 * J4. The log is as the weather allows, and by every reader alike.
 */
import { parseFrame } from "../../../actors/journal/frame.ts";
import { JournalReader } from "../../../actors/journal/reader.ts";
import { worldOf } from "../../../actors/runtime/runtime.ts";
import type { World } from "../../../actors/runtime/world.ts";
import type { TaskCells } from "../../../actors/turn/cell.ts";
import { LogCheck, type Report } from "../../../infra/verify/log-check.ts";
import { ordinalOf } from "../../../machines/job/spec.ts";
import { describe, isOrderlyEnd } from "../journal/life.ts";
import type { Invariant } from "./book.ts";
import { fieldsOf } from "./facts.ts";
import type { Life } from "./life.ts";
import type { Simulation } from "./run.ts";

/** In calm weather everything comes to an end within this, ms. */
const CALM_MS_MAX = 120_000;
/** Longer than any plan of a job takes. */
const REST_MS = 30_000;
const ROUNDS_MAX = 40;

/** Ends the weather, lets everything come to its end, and judges. Returns how many messages are void. */
export async function judge(simulation: Simulation): Promise<number> {
  const survivor = await calm(simulation);
  if (survivor !== null) {
    await rest(simulation, survivor);
    await release(simulation, survivor);
  }
  checkEnds(simulation);
  checkRuns(simulation);
  checkGroups(simulation);
  checkTimers(simulation);
  checkOrdinals(simulation);
  return checkLog(simulation);
}

function checker({ book }: Simulation, invariant: Invariant) {
  return (holds: boolean, text: () => string): void => book.check(invariant, holds, text);
}

/** J1. */
async function calm(simulation: Simulation): Promise<Life | null> {
  const { store, time, lives } = simulation;
  const check = checker(simulation, "nothing-hangs");
  simulation.note("calm");
  store.fateOf = () => ({ kind: "deliver" });
  store.followLagMs = 0;
  // Frozen lives go on and servers come back by themselves within this.
  await time.advance(20_000);
  const settled = (): boolean =>
    lives.every(({ phase }) => phase !== "starting" && phase !== "stopping");
  const isDrained = ({ phase, world }: Life): boolean =>
    phase !== "open" || world?.journal.pendingCount === 0;
  try {
    await time.runUntil(settled, CALM_MS_MAX);
    if (!simulation.open.some(({ isComplete }) => isComplete)) {
      simulation.begin(true);
      await time.runUntil(settled, CALM_MS_MAX);
    }
    await time.runUntil(() => lives.every(isDrained), CALM_MS_MAX);
    // Whoever has nothing to append sees a rival's fence alone.
    await time.advance(1_000);
  } catch (error) {
    check(false, () => `in calm weather: ${error}; ${phasesOf(lives)}`);
    return null;
  }
  const { open } = simulation;
  const [survivor] = open;
  checker(simulation, "ends-orderly")(open.length === 1 && survivor?.hasLost === false, () => {
    return `left are ${open.map(({ name, hasLost }) => `${name} ${hasLost}`)}; ${phasesOf(lives)}`;
  });
  return open.length === 1 && survivor !== undefined ? survivor : null;
}

const phasesOf = (lives: readonly Life[]): string =>
  lives.map(({ name, phase, ends }) => `${name} ${phase} ${ends.map(describe)}`).join("; ");

/** J2. */
async function rest(simulation: Simulation, survivor: Life): Promise<void> {
  const { time, store } = simulation;
  const check = checker(simulation, "settles");
  let isResting = false;
  for (let round = 0; round < ROUNDS_MAX && !isResting; round += 1) {
    const { length } = store.messages;
    await time.advance(REST_MS);
    isResting = store.messages.length === length;
  }
  check(isResting, () => "in calm weather the jobs do not come to rest");
  checkStanding(simulation, survivor);
  survivor.checkFold();
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const live = [...(survivor.world?.cells.tasks() ?? [])].map(({ job }) => job);
    if (live.length === 0) return;
    for (const job of live) giveWord(simulation, survivor, job);
    await time.advance(REST_MS);
  }
  check(false, () => `after every word that can be given, there are ${standingOf(survivor)}`);
}

/** What a person can say of a job that rests. */
function giveWord(simulation: Simulation, survivor: Life, { id, now }: TaskCells["job"]): void {
  if (now.value === "interrupted") simulation.resolve(survivor, id);
  else if (now.context.awaited.length > 0) simulation.answer(survivor, id);
  else if (now.value === "waiting") simulation.tell(survivor, now.context.pending);
}

const standingOf = ({ world }: Life): string =>
  [...(world?.cells.tasks() ?? [])].map(({ job }) => `${job.id} ${job.now.value}`).join();

/** Where a job may rest: nobody saw its end and its class asks for a person, or it hangs on such a job, or on an answer. */
function checkStanding(simulation: Simulation, { world }: Life): void {
  const check = checker(simulation, "settles");
  if (world === null) return;
  for (const cells of world.cells.tasks()) {
    const { id, now } = cells.job;
    check(mayRest(simulation, world, cells), () => {
      return `${id} (${now.context.spec?.type}) rests as ${now.value}, ${cells.liveness.now.value}`;
    });
    check(!isForsaken(world, cells), () => `${id} rests as ${now.value}, and its parent has ended`);
  }
}

function mayRest(
  { book }: Simulation,
  { cells, kinship }: World,
  { job, liveness }: TaskCells,
): boolean {
  const { value, context } = job.now;
  const { spec, pending, waitingFor } = context;
  if (value === "interrupted")
    return spec?.retryClass !== "safe_to_retry" && liveness.now.value === "observer_unknown";
  if (value === "waiting") {
    // Who tolerates failures waits until it is known what a failed one did (GATE-1).
    const isGated = (id: string): boolean =>
      spec?.toleratesFailures === true && book.facts.job(id).end !== null;
    return pending.length > 0 && pending.every((id) => cells.task(id) !== undefined || isGated(id));
  }
  const awaits = (kinship.family(job.id)?.live.size ?? 0) + waitingFor.length;
  return (
    spec?.kind === "doer" && ["running", "cancelling", "expiring"].includes(value) && awaits > 0
  );
}

/** Its parent has ended, its policy is to end with it, and nobody has told it so. */
function isForsaken({ cells }: World, { job }: TaskCells): boolean {
  const { value, context } = job.now;
  const { spec, cancel } = context;
  if (spec === null || spec.parent === null || spec.whenParentEnds === "keep") return false;
  return cells.task(spec.parent) === undefined && cancel === null && value !== "expiring";
}

/** J3. */
async function release(simulation: Simulation, survivor: Life): Promise<void> {
  const { time, lives } = simulation;
  const check = checker(simulation, "nothing-hangs");
  survivor.checkFold();
  const { runtime } = survivor;
  if (runtime === null) return;
  for (const id of simulation.book.facts.jobs.keys()) survivor.look(id, false);
  await time.advance(1_000);
  const { timers, handles, journal } = worldOf(runtime);
  const { runningJobs } = runtime.health();
  check(timers.size === 0 && handles.size === 0 && runningJobs === 0, () => {
    return `all jobs have ended, and there are ${timers.size} timers, ${handles.size} handles, ${runningJobs} running`;
  });
  check(journal.pendingCount === 0, () => `${journal.pendingCount} messages are pending`);
  const stopping = survivor.stop("detach", 0, true);
  try {
    await time.advance(20_000);
    await stopping;
    await time.runUntilIdle();
  } catch (error) {
    check(false, () => `after the last stop: ${error}`);
  }
  for (const { name, phase, openCalls, clock } of lives) {
    // Who asked a process that is dead waits for nobody.
    const isLeft = !clock.isDead && openCalls.length > 0;
    check(!isLeft, () => `${name}, ${phase}, has not answered ${openCalls}`);
  }
}

function checkEnds(simulation: Simulation): void {
  const check = checker(simulation, "ends-orderly");
  for (const { name, ends, hasLost, world, tap } of simulation.lives) {
    check(ends.length <= 1, () => `${name} ended ${ends.length} times`);
    const fence = world?.journal.fencePosition ?? 0;
    for (const error of ends) {
      check(isOrderlyEnd(error, { hasLost, fence }), () => {
        return `${name}, fenced at ${fence}, told of ${tap.toldPosition()}, ended by ${describe(error)}`;
      });
    }
  }
}

/** Every start that an owner was told of while it lived has run. */
function checkRuns(simulation: Simulation): void {
  const { book, lives } = simulation;
  const check = checker(simulation, "at-least-once");
  const acknowledged = new Map<string, number>();
  for (const { world, tap } of lives) {
    const position = world?.journal.acknowledgedPosition ?? 0;
    for (const writer of tap.writers) acknowledged.set(writer, position);
  }
  for (const [id, facts] of book.facts.jobs) {
    const { spec } = facts;
    check(facts.all("job.submitted").length === 1, () => `${id} was not submitted once`);
    // What a job depends on is looked up before it runs, and its owner may die over it.
    if (spec === null || spec.dependencies.length > 0 || book.isForgiven(id)) continue;
    for (const start of facts.all("job.started")) {
      const { attempt } = fieldsOf(start);
      const hasRun = book.ran.has(`${id}#${attempt}`) || facts.has("job.graceEnded", { attempt });
      const { writer, last } = groupAt(simulation, start.position);
      const isTold = last <= (acknowledged.get(writer) ?? 0);
      check(hasRun || !isTold, () => `${id}#${attempt} never ran`);
    }
  }
}

/** Who wrote the message at this position, and where its group ends. */
function groupAt({ store, groups }: Simulation, position: number) {
  const message = store.messages[position - 1];
  const frame = message === undefined ? null : parseFrame(message.frame);
  const parts = groups.get(message?.id ?? "")?.parts ?? 1;
  return { writer: frame?.writer ?? "", last: position + parts - (frame?.part ?? 1) };
}

/** No timeout is early. */
function checkTimers(simulation: Simulation): void {
  const check = checker(simulation, "no-early-timer");
  for (const [id, facts] of simulation.book.facts.jobs) {
    for (const { event, t } of facts.all("job.timeoutReached")) {
      const { attempt } = event as unknown as { attempt: number }; // A timeout's event.
      const start = facts.all("job.started").find((move) => fieldsOf(move).attempt === attempt);
      const dueAt = start === undefined ? Number.NaN : Number(fieldsOf(start).timeoutAt);
      check(t >= dueAt, () => `${id}#${attempt} times out at ${t}, not before ${dueAt}`);
    }
  }
}

/** Children of two steps share no ordinal (TREE-3). */
function checkOrdinals(simulation: Simulation): void {
  const check = checker(simulation, "ordinals");
  const stepOf = new Map<string, string>();
  for (const { spec } of simulation.book.facts.jobs.values()) {
    // A key that was chosen names the doer, the step and the place in it.
    if (spec === null || spec.parent === null || spec.key?.startsWith("#") !== false) continue;
    const ordinal = `${spec.parent} ${ordinalOf(spec)}`;
    const step = spec.key.slice(0, spec.key.lastIndexOf("-"));
    const known = stepOf.get(ordinal) ?? step;
    check(known === step, () => `${step} and ${known} share the ordinal ${ordinal}`);
    stepOf.set(ordinal, step);
  }
}

/** What a process wrote as one group is valid together, or not at all. */
function checkGroups(simulation: Simulation): void {
  const { book, groups } = simulation;
  const check = checker(simulation, "groups-whole");
  const found = new Map<string, number>();
  for (const id of book.facts.valid) {
    const group = groups.get(id);
    if (group !== undefined) found.set(group.id, (found.get(group.id) ?? 0) + 1);
  }
  for (const [id, { id: first, parts }] of groups) {
    const count = found.get(first);
    if (id === first && count !== undefined)
      check(count === parts, () => `of the group ${first} ${count} of ${parts} are valid`);
  }
}

/** J4. */
function checkLog(simulation: Simulation): number {
  const { store } = simulation;
  const check = checker(simulation, "log-clean");
  const log = new LogCheck();
  for (const message of store.messages) log.push(message);
  const report = log.finish(store.messages.length);
  const isForeign = (position: number): boolean =>
    store.messages[position - 1]?.id.startsWith("foreign.") === true;
  for (const { position, kind, severity, text } of report.findings) {
    const isExpected = severity === "note" || isForeign(position);
    check(isExpected, () => `at ${position} ${kind}: ${text}`);
  }
  check(report.dropped === 0, () => `${report.dropped} findings were dropped`);
  check(report.jobs.setAside === 0, () => `${report.jobs.setAside} jobs are set aside`);
  checkReaders(simulation, report);
  return report.voided;
}

function checkReaders(simulation: Simulation, report: Report): void {
  const check = checker(simulation, "readers-agree");
  const read = { records: 0, fences: 0 };
  const reader = new JournalReader({
    fence: () => {
      read.fences += 1;
    },
    group: (records) => {
      read.records += records.length;
    },
    fault: () => undefined,
  });
  for (const message of simulation.store.messages) reader.push(message);
  check(reader.halted === null, () => `the reader halts: ${JSON.stringify(reader.halted)}`);
  check(read.records === report.records && read.fences === report.fences, () => {
    return `the reader finds ${JSON.stringify(read)}, the check ${report.fences} and ${report.records}`;
  });
  const { size } = simulation.book.facts.valid;
  check(size === report.records, () => `by the rule ${size} are valid, not ${report.records}`);
}
