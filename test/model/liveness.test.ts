/**
 * The liveness chart: its thirteen states, what is published of it, and what silence may lead to.
 */
import { describe, expect, it } from "vitest";

import type { ActorState } from "../../machines/engine/chart.ts";
import {
  LIVENESS_STATES,
  type LivenessContext,
  livenessChart,
} from "../../machines/liveness/chart.ts";
import { livenessEvents, livenessKey, SILENCE } from "../support/chart-events.ts";
import { edgeCover } from "../support/model/edge-cover.ts";
import { stateTable, transitionTable } from "../support/transition-table.ts";

/** One actor state of each state value there is. */
const everywhere: readonly ActorState<LivenessContext>[] = edgeCover(livenessChart, {
  events: livenessEvents,
  serializeState: livenessKey,
}).flatMap((path) => path.flatMap(({ before, after }) => [before, after]));

/** Every state value that some of the events lead to, from this state on. */
function reachable(from: ActorState<LivenessContext>, events: typeof livenessEvents): Set<string> {
  const seen = new Map([[`${from.value} ${livenessKey(from)}`, from]]);
  // A Map is walked in the order of insertion, and takes new entries while it is walked.
  for (const state of seen.values()) {
    for (const event of events) {
      const next = livenessChart.engine.step(state, event)?.state;
      if (next !== undefined) seen.set(`${next.value} ${livenessKey(next)}`, next);
    }
  }
  return new Set([...seen.values()].map(({ value }) => value));
}

describe("the liveness chart", () => {
  it("[STA-0] has exactly the thirteen states", () => {
    const states = [
      "queued",
      "running",
      "quiet",
      "stale_suspected",
      "diagnosing",
      "external_wait",
      "blocked",
      "cancelling",
      "retrying",
      "completed",
      "failed",
      "cancelled",
      "observer_unknown",
    ];
    expect([...livenessChart.stateValues].sort()).toEqual([...states].sort());
    expect([...LIVENESS_STATES].sort()).toEqual([...states].sort());
    expect(new Set(everywhere.map(({ value }) => value)).size).toBe(13);
  });

  it("[STA-0] is published as it is (`npx vitest run --project model -u` writes it anew)", async () => {
    const text = `# The states of a task being alive

Generated from \`machines/liveness/chart.ts\`; a test holds this page to it, and \`npx vitest run --project model -u\` writes it
anew. An event that stands in no row of a state is refused there, and nothing changes.

${stateTable(livenessChart)}

## Transitions

Of several rows with the same state and event the first whose condition holds is taken.

${transitionTable(livenessChart)}
`;
    await expect(text).toMatchFileSnapshot("../../docs/liveness-transitions.md");
  });

  it("[STA-1, STA-4, RTY-6] leads by silence alone to no end and to no retry, from nowhere", () => {
    for (const from of everywhere) {
      if (livenessChart.engine.isFinal(from.value) || from.value === "retrying") continue;
      const reached = reachable(from, SILENCE);
      for (const value of ["completed", "failed", "cancelled", "retrying"])
        expect([from.value, reached.has(value) && value]).toEqual([from.value, false]);
    }
  });

  it("[STA-2] leaves stale_suspected by a diagnosis, the task's own word, a cancel or a lost owner alone", () => {
    const ways = livenessEvents.filter((event) =>
      everywhere.some(
        (state) => state.value === "stale_suspected" && livenessChart.engine.can(state, event),
      ),
    );
    expect([...new Set(ways.map(({ type }) => type))].sort()).toEqual([
      "liveness.cancelRequested",
      "liveness.diagnosisStarted",
      "liveness.ended",
      "liveness.ownerLost",
      "liveness.waitDeclared",
    ]);
  });

  it("[STA-3, STA-5] takes an observed end in every state that is none itself", () => {
    for (const state of everywhere) {
      const isFinal = livenessChart.engine.isFinal(state.value);
      for (const event of livenessEvents)
        if (event.type === "liveness.ended")
          expect([state.value, livenessChart.engine.can(state, event)]).toEqual([
            state.value,
            !isFinal,
          ]);
    }
  });

  it("[STA-6] reaches an automatic retry through `retrying` alone, and never from a final state", () => {
    for (const state of everywhere) {
      const event = { type: "liveness.started", attempt: 2 } as const;
      const isTaken = livenessChart.engine.can(state, event);
      expect([state.value, isTaken]).toEqual([
        state.value,
        state.value === "queued" || state.value === "retrying",
      ]);
    }
  });

  it("[STA-2] counts diagnoses of an episode, and begins anew when it was found alive", () => {
    const { engine } = livenessChart;
    let state = engine.initial();
    const take = (...types: readonly (typeof livenessEvents)[number][]) => {
      for (const event of types) {
        const step = engine.step(state, event);
        expect([state.value, event.type, step === null]).toEqual([state.value, event.type, false]);
        if (step !== null) state = step.state;
      }
    };
    take({ type: "liveness.started", attempt: 1 }, { type: "liveness.staleSuspected" });
    take(
      { type: "liveness.diagnosisStarted" },
      { type: "liveness.foundInconclusive", sideEffect: "unknown" },
      { type: "liveness.diagnosisStarted" },
    );
    expect(state.context.diagnoses).toBe(2);
    take({ type: "liveness.foundAlive", isQuiet: false });
    expect([state.value, state.context.diagnoses]).toEqual(["running", 0]);
  });
});
