/**
 * A job and the record of its being alive, together: whatever the job does, its record can follow (T7), and the two never
 * disagree (STA-8).
 *
 * Both charts are walked side by side through the real routes, by every event that fits, to every pair of states there is.
 */
import { describe, expect, it } from "vitest";
import { Redactor } from "../../actors/journal/redaction.ts";
import { Kinship } from "../../actors/runtime/kinship.ts";
import { worldOf } from "../../actors/runtime/runtime.ts";
import { CellStore, newTaskCells } from "../../actors/turn/cell.ts";
import { type RoutePorts, tell } from "../../actors/turn/routes.ts";
import { Turn, type TurnPorts } from "../../actors/turn/turn.ts";
import type { ActorState } from "../../machines/engine/chart.ts";
import { InvariantError } from "../../machines/invariant.ts";
import { type JobContext, jobChart } from "../../machines/job/chart.ts";
import type { JobEvent } from "../../machines/job/events.ts";
import { jobStateOf } from "../../machines/job/state.ts";
import {
  LIVENESS_STATES,
  type LivenessContext,
  livenessChart,
} from "../../machines/liveness/chart.ts";
import type { LivenessEvent } from "../../machines/liveness/events.ts";
import { jobEvents, jobKey, livenessEvents, specOf } from "../support/chart-events.ts";
import { TestRuntime } from "../support/runtime.ts";
import { say } from "../support/say.ts";

interface States {
  readonly state: ActorState<JobContext>;
  readonly record: ActorState<LivenessContext>;
}

/**
 * What an observer may say of its own; the rest the record is told by its job. Of an interrupted job it says nothing: whoever
 * finds out what became of it tells the job.
 */
const OBSERVATIONS: readonly LivenessEvent[] = livenessEvents.filter(({ type }) =>
  [
    "liveness.quietNoticed",
    "liveness.progressSeen",
    "liveness.staleSuspected",
    "liveness.diagnosisStarted",
    "liveness.foundAlive",
    "liveness.foundInconclusive",
  ].includes(type),
);

const rethrow = (error: unknown): never => {
  throw error;
};

/** Steps a pair by one event of the job or of its observer; null when the chart refuses it. Throws as a turn would. */
async function pairStepper() {
  const test = await TestRuntime.start({ definitions: [] });
  const { journal, clock } = worldOf(test.runtime);
  const cells = new CellStore("other");
  const routes: RoutePorts = {
    cells,
    kinship: new Kinship(),
    startQueued: () => undefined,
    runTurn: () => undefined,
  };
  const ports: TurnPorts = {
    journal,
    clock,
    cells,
    redactor: new Redactor(),
    tell: (turn, cell, effect) => tell(routes, turn, cell, effect),
    commit: () => undefined,
    release: () => undefined,
    fault: rethrow,
  };
  return (from: States, event: JobEvent | LivenessEvent): States | null => {
    const task = newTaskCells("j", "j", "subject");
    task.job.state = from.state;
    task.liveness.state = from.record;
    cells.add(task);
    const turn = new Turn(ports, "model");
    const isTaken = event.type.startsWith("job.")
      ? turn.apply(task.job, event as JobEvent)
      : turn.apply(task.liveness, event as LivenessEvent);
    return isTaken ? { state: task.job.now, record: task.liveness.now } : null;
  };
}

const keyOf = ({ state, record }: States) =>
  `${state.value} ${jobKey(state)} ${record.value} ${record.context.attempt > 0}`;

/** Every pair that is reached, and every step in which the record could not follow. */
async function explore(observations: readonly LivenessEvent[]) {
  const after = await pairStepper();
  const start: States = {
    state: jobChart.engine.initial(),
    record: livenessChart.engine.initial(),
  };
  const pairs = new Map([[keyOf(start), start]]);
  const faults = new Set<string>();
  const visit = (from: States, event: JobEvent | LivenessEvent): void => {
    try {
      const next = after(from, event);
      if (next !== null && !pairs.has(keyOf(next))) pairs.set(keyOf(next), next);
    } catch (error) {
      if (!(error instanceof InvariantError)) throw error;
      faults.add(`${from.state.value} / ${from.record.value}: ${event.type} (${error.message})`);
    }
  };
  // A Map is walked in the order of insertion, and takes new entries while it is walked.
  for (const from of pairs.values()) {
    for (const event of jobEvents(specOf("j"))(from.state)) visit(from, event);
    if (from.state.value !== "interrupted") for (const event of observations) visit(from, event);
  }
  return { pairs: [...pairs.values()], faults: [...faults] };
}

/** STA-8: what a record may be while its job is in this state. */
const LIVE = LIVENESS_STATES.filter((state) => !livenessChart.engine.isFinal(state));
const AGREES: Readonly<Record<string, readonly string[]>> = {
  SCHEDULED: ["queued"],
  QUEUED: ["queued"],
  RUNNING: LIVE,
  IDLE: LIVE,
  CANCELLING: ["cancelling", "observer_unknown"],
  COMPLETED: ["completed"],
  FAILED: ["failed"],
  CANCELLED: ["cancelled"],
  TIMED_OUT: ["failed"],
};

describe("a job and its record", () => {
  it("[STA-7] move together: the record follows every move of its job, from every pair of states", async () => {
    const { pairs, faults } = await explore([]);
    const seen = new Set(pairs.map(({ state, record }) => `${state.value}/${record.value}`));
    say(`job and record: ${pairs.length} pairs with their contexts, ${seen.size} of states alone`);
    expect(faults).toEqual([]);
    expect(new Set(pairs.map(({ state }) => state.value))).toEqual(new Set(jobChart.stateValues));
  });

  it("[STA-7] move together whatever an observer says in between", async () => {
    const { pairs, faults } = await explore(OBSERVATIONS);
    expect(faults).toEqual([]);
    expect(new Set(pairs.map(({ record }) => record.value))).toEqual(new Set(LIVENESS_STATES));
  });

  it("[STA-8] never disagree, whatever an observer says", async () => {
    const { pairs } = await explore(OBSERVATIONS);
    for (const { state, record } of pairs) {
      const jobState = jobStateOf(state.value, state.context.attempt);
      expect([jobState, record.value, AGREES[jobState]?.includes(record.value)]).toEqual([
        jobState,
        record.value,
        true,
      ]);
    }
  });

  it("[STA-8, REC-5] end together: with a known side effect where somebody saw the end, and an unknown one where nobody did", async () => {
    const { pairs } = await explore([]);
    const ended = pairs.filter(({ state }) => jobChart.engine.isFinal(state.value));
    expect(ended.length).toBeGreaterThan(4);
    for (const { state, record } of ended) {
      const { outcome } = state.context;
      const effect = record.context.sideEffect;
      if (outcome?.kind === "completed") expect(effect).toBe("completed");
      if (outcome?.kind === "timed_out" && outcome.isLeaked) expect(effect).toBe("unknown");
      expect(livenessChart.engine.isFinal(record.value)).toBe(true);
    }
  });
});
