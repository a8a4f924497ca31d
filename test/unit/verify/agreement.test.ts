/**
 * The check against the runtime's own reader and fold, on logs with random damage: two opinions that share no code.
 *
 * Where they differed once, the smallest log that shows it is a test of its own below.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  changedAt,
  fenceOf,
  flipped,
  forged,
  inserted,
  type Messages,
  PREFIX,
  positionOf,
  recordOf,
  reframed,
  renumbered,
  withTransition,
} from "../../compat/planting.ts";
import { readAsCheck, readAsRuntime } from "../../compat/readers.ts";
import { HURT } from "../../compat/scenarios/hurt.ts";
import { ORDINARY } from "../../compat/scenarios/ordinary.ts";
import { RELOADS } from "../../compat/scenarios/reloads.ts";
import { copyLog, TestRuntime } from "../../support/runtime.ts";
import { Workshop } from "../../support/workshop.ts";
import { randomLogs } from "../journal/rig/random-log.ts";
import { good, owned, startOf, takenAt } from "./rig/good-logs.ts";
import { blows, struck } from "./rig/random-damage.ts";

const logs: Messages[] = [];
for (const { make } of [...ORDINARY, ...RELOADS, ...HURT]) logs.push(await make());

function expectAgreement(log: Messages): void {
  const [check, runtime] = [readAsCheck(log), readAsRuntime(log, PREFIX)];
  expect(check.validity).toEqual(runtime.validity);
  expect(check.standing).toEqual(runtime.standing);
  const { report } = check;
  const { fences, records, damaged, voided, unfinished, unjudged } = report;
  expect(fences + records + damaged + voided + unfinished + unjudged).toBe(report.messages);
  expect(report.haltedAt).toBe(runtime.validity.haltedAt);
  // Whatever the runtime sets aside, the check finds an error at the same place.
  const places = report.findings.filter(({ severity }) => severity === "error");
  const aside = [...runtime.fold.setAside.values()].map(({ position }) => position);
  expect(places.map(({ position }) => position)).toEqual(expect.arrayContaining(aside));
}

describe("[ES-6, ES-9] the check and the runtime", () => {
  it("give one verdict on a log that was good and is damaged, by position and by task, and neither throws", () => {
    fc.assert(
      fc.property(fc.nat(logs.length - 1), blows, (which, all) => {
        expectAgreement(struck(logs[which] ?? [], all));
      }),
      { numRuns: 2_000 },
    );
  });

  it("give one verdict on which messages of a random log are valid", () => {
    fc.assert(
      fc.property(randomLogs({ withHalts: true }), (log) => {
        expect(readAsCheck(log).validity).toEqual(readAsRuntime(log, PREFIX).validity);
      }),
      { numRuns: 500 },
    );
  });
});

describe("[ES-9] where the two differed", () => {
  it("a damaged record of a group that a fence made void sets nothing aside", () => {
    const { length } = good;
    const open = changedAt(good, length, (one) => flipped(reframed(one, { part: 1, parts: 2 })));
    const log = renumbered([...open, fenceOf("next".padEnd(22, "_"), "take")]);
    expectAgreement(log);
    expect(readAsRuntime(log, PREFIX).standing.setAside).toEqual([]);
  });

  it("the end of another job under a job's subject does not make the job forgotten", () => {
    const end = positionOf(good, ({ actor, to }) => actor === "job:one" && to === "completed");
    const log = forged(good, {
      scope: "task.two.two",
      transitions: recordOf(good[end - 1] ?? fenceOf("", "take")).transitions,
    });
    expectAgreement(log);
    expect(readAsRuntime(log, PREFIX).standing.setAside).toEqual(["two"]);
  });

  it("a job's next move under another workflow's subject sets it aside", () => {
    const cancel = {
      actor: "job:two",
      sequence: 3,
      event: { type: "job.cancelRequested", reason: "forged", by: "nobody" },
      from: "running",
      to: "cancelling",
      effects: ["do.signalCancel"],
    };
    const log = forged(good, { scope: "task.elsewhere.two", transitions: [cancel] });
    expectAgreement(log);
    expect(readAsRuntime(log, PREFIX).standing.setAside).toEqual(["two"]);
  });

  it("a job that submits another one, or none, is no live job", () => {
    const { transitions } = recordOf(good[startOf("two") - 1] ?? fenceOf("", "take"));
    const ghost = { ...transitions[1], actor: "liveness:ghost" };
    const renamed = transitions.map((each) => ({
      ...each,
      actor: each.actor.replace(":two", ":ghost"),
    }));
    for (const some of [[ghost], renamed]) {
      const log = forged(good, { scope: "task.ghost.ghost", transitions: some });
      expectAgreement(log);
      expect(readAsRuntime(log, PREFIX).standing.setAside).toEqual(["ghost"]);
    }
  });

  it("another actor under the dispatcher's subject does not move the dispatcher", () => {
    const stopping = { type: "dispatcher.stopping", mode: "detach" };
    const log = forged(good, {
      scope: "dispatcher",
      correlation: "",
      transitions: [
        { actor: "dispatcher:x", sequence: 3, event: stopping, from: "ready", to: "stopping" },
      ],
    });
    expectAgreement(log);
    expect(readAsRuntime(log, PREFIX).standing.dispatcher).toBe("2 ready");
  });

  it("a dispatcher whose record is damaged is set aside until the next owner's word, and then goes on", () => {
    const log = changedAt(owned, takenAt(1), flipped);
    expectAgreement(log);
    const { dispatcher } = readAsRuntime(log, PREFIX).standing;
    expect(dispatcher).toBe(readAsRuntime(owned, PREFIX).standing.dispatcher);
    expect(readAsRuntime(log, PREFIX).fold.findings.map(({ kind }) => kind)).toEqual(["damaged"]);
  });
});

describe("[ES-6] an owner that starts", () => {
  const submitted = startOf("two");
  const withEvent = (event: object): Messages =>
    changedAt(good, submitted, (one) =>
      withTransition(one, 0, (each) => ({ ...each, event: event as typeof each.event })),
    );

  it.each([
    ["submits nothing", { type: "job.submitted" }],
    ["depends on what is no list", { type: "job.submitted", spec: { id: "two", dependencies: 7 } }],
    ["depends on nobody", { type: "job.submitted", spec: { id: "two", dependencies: [null] } }],
  ])(
    "does not fall over a record that %s, whether its job is live or has ended",
    async (_, event) => {
      const end = { type: "job.completed", attempt: 1, result: null };
      const live = withEvent(event);
      const ended = forged(live, {
        scope: "task.two.two",
        transitions: [
          { actor: "job:two", sequence: 3, event: end, from: "running", to: "completed" },
        ],
      });
      for (const [log, setAside] of [
        [live, ["two"]],
        [ended, []],
      ] as const) {
        const test = await TestRuntime.start({
          definitions: new Workshop().all,
          log: await copyLog(log),
        });
        expect(test.runtime.health().state).toBe("ready");
        expect(test.runtime.health().setAside.map(({ job }) => job)).toEqual(setAside);
      }
    },
  );

  it.each([{ boot: null }, { boot: { id: 1, uptimeMs: "x" } }, { boot: 5 }])(
    "[ES-2] keeps journal time going where the word of the owner before is of no use: %j",
    async (change) => {
      const log = changedAt(good, takenAt(0), (one) =>
        withTransition(one, 0, (each) => ({ ...each, event: { ...each.event, ...change } })),
      );
      const before = Math.max(...log.flatMap((one) => timesIn(one.body)));
      const test = await TestRuntime.start({
        definitions: new Workshop().all,
        log: await copyLog(log),
      });
      const after = test.log.messages.slice(log.length).flatMap((one) => timesIn(one.body));
      expect(Math.min(...after)).toBeGreaterThanOrEqual(before);
    },
  );
});

/** The journal time in a body; none in a fence. */
function timesIn(body: Uint8Array): readonly number[] {
  const { t } = JSON.parse(new TextDecoder().decode(body)) as { readonly t?: number };
  return t === undefined ? [] : [t];
}

describe("[ES-9] a stranger's messages", () => {
  it("wherever they stand in a log change nothing for anybody", () => {
    fc.assert(
      fc.property(fc.nat(owned.length), (place) => {
        const [stranger] = owned.map((one) => ({ ...one, frame: "not a frame" }));
        if (stranger === undefined) return;
        const log = inserted(owned, place + 1, stranger);
        expectAgreement(log);
        expect(readAsRuntime(log, PREFIX).standing).toEqual(readAsRuntime(owned, PREFIX).standing);
      }),
      { numRuns: 50 },
    );
  });
});
