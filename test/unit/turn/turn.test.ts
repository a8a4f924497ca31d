/**
 * The turn: decide, stage, append, act. Held against a real journal, with ports that only look.
 */
import { beforeEach, describe, expect, it } from "vitest";
import { BODY_BYTES_MAX } from "../../../actors/journal/codec.ts";
import { parseFrame } from "../../../actors/journal/frame.ts";
import { Redactor } from "../../../actors/journal/redaction.ts";
import { taskScope } from "../../../actors/journal/subjects.ts";
import { worldOf } from "../../../actors/runtime/runtime.ts";
import { CellStore, newTaskCells, type TaskCells } from "../../../actors/turn/cell.ts";
import {
  type Committed,
  effectId,
  type ReleasedEffect,
  runTurn,
  TELLS_MAX,
  type Turn,
  type TurnPorts,
} from "../../../actors/turn/turn.ts";
import type { JobSpec } from "../../../machines/job/spec.ts";
import { specOf } from "../../support/chart-events.ts";
import { flush, PREFIX, TestRuntime, textOf, transitionsIn } from "../../support/runtime.ts";

const started = { type: "job.started", attempt: 1, timeoutAt: null } as const;
const completed = { type: "job.completed", attempt: 1, result: null } as const;
const step = (key: string, value: string) => ({ type: "job.stepRecorded", key, value }) as const;

let test: TestRuntime;
let cells: CellStore;
let ports: TurnPorts;
let told: string[];
let committed: Committed[][];
let released: ReleasedEffect[];
let faults: unknown[];
/** What a tell does; by default only looks. */
let onTell: (turn: Turn, tell: string) => void;

beforeEach(async () => {
  test = await TestRuntime.start({ definitions: [] });
  const { journal, clock } = worldOf(test.runtime);
  cells = new CellStore(`${PREFIX}other`);
  told = [];
  committed = [];
  released = [];
  faults = [];
  onTell = () => undefined;
  ports = {
    journal,
    clock,
    cells,
    redactor: new Redactor(),
    tell: (turn, cell, effect) => {
      told.push(`${cell.id}:${effect.type}`);
      onTell(turn, effect.type);
    },
    commit: (moves) => committed.push([...moves]),
    release: (effects) => released.push(...effects),
    fault: (error) => faults.push(error),
  };
});

const open = (turn: Turn, id: string, more: Partial<JobSpec> = {}): TaskCells => {
  const task = newTaskCells(id, id, `${PREFIX}${taskScope(id, id)}`);
  turn.create(task);
  expect(turn.apply(task.job, { type: "job.submitted", spec: specOf(id, more) })).toBe(true);
  return task;
};

/** A job that runs, in a turn of its own that is acknowledged. */
async function running(id: string): Promise<TaskCells> {
  const task = runTurn(ports, "begin", (turn) => {
    const opened = open(turn, id);
    turn.apply(opened.job, started);
    return opened;
  });
  await flush();
  told.length = 0;
  committed.length = 0;
  released.length = 0;
  return task;
}

describe("a turn that throws", () => {
  it("[T6] changes nothing: no state, no sequence, no record, no index, no task", async () => {
    const task = await running("a");
    const before = { state: task.job.state, sequence: task.job.sequence };
    const { length } = test.log.messages;
    expect(() =>
      runTurn(ports, "x", (turn) => {
        turn.apply(task.job, completed);
        open(turn, "b");
        expect(task.job.now.value).toBe("completed");
        throw new RangeError("mine");
      }),
    ).toThrow(RangeError);
    await flush();
    expect({ state: task.job.state, sequence: task.job.sequence }).toEqual(before);
    expect([task.job.staged, cells.task("b")]).toEqual([null, undefined]);
    expect(test.log.messages).toHaveLength(length);
    expect([committed, released]).toEqual([[], []]);
  });

  it("[T6] fails its own input alone: the next one decides on what was there before it", async () => {
    const task = await running("a");
    onTell = () => {
      throw new Error("in a tell");
    };
    expect(() => runTurn(ports, "x", (turn) => turn.apply(task.job, completed))).toThrow(
      "in a tell",
    );
    onTell = () => undefined;
    expect(runTurn(ports, "y", (turn) => turn.apply(task.job, completed))).toBe(true);
    await flush();
    const moves = transitionsIn(test.log.messages).filter(({ actor }) => actor === "job:a");
    expect(moves.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
  });

  it("[T6, ES-8] for a record too large throws before anything changed, in whichever scope it is", async () => {
    const small = await running("a");
    const large = await running("b");
    const value = "x".repeat(BODY_BYTES_MAX);
    let refusal: unknown = null;
    try {
      runTurn(ports, "x", (turn) => {
        turn.apply(small.job, completed);
        turn.apply(large.job, step("s", value));
      });
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toMatchObject({
      code: "invalid_argument",
      details: { subject: large.job.subject, bytesMax: BODY_BYTES_MAX },
    });
    expect([small.job.state.value, large.job.state.value]).toEqual(["running", "running"]);
    expect(committed).toEqual([]);
  });

  it("[T6] after it was staged, in what it put off, is not undone by that, and keeps nothing else from running", async () => {
    const task = await running("a");
    const ran: string[] = [];
    const answer = runTurn(ports, "x", (turn) => {
      turn.apply(task.job, completed);
      open(turn, "b");
      turn.defer(() => {
        throw new Error("later");
      });
      turn.defer(() => ran.push("after it"));
      return "decided";
    });
    expect([answer, ran]).toEqual(["decided", ["after it"]]);
    expect(faults).toMatchObject([{ message: "later" }]);
    await flush();
    expect([task.job.state.value, cells.task("b")?.job.state.value]).toEqual([
      "completed",
      "queued",
    ]);
    expect(released.map(({ type }) => type)).toEqual(["do.settle"]);
  });

  it("[T6] while it is staged leaves memory as it is staged: that is never undone", async () => {
    const broken: TurnPorts = {
      ...ports,
      commit: () => {
        throw new Error("in an index");
      },
    };
    expect(() => runTurn(broken, "x", (turn) => open(turn, "b"))).toThrow("in an index");
    expect(cells.task("b")?.job.state.value).toBe("queued");
  });
});

describe("a turn's records", () => {
  it("[T4, ES-8] are one group: one message a scope, in the order in which the scopes moved", async () => {
    const a = await running("a");
    const { length } = test.log.messages;
    runTurn(ports, "the cause", (turn) => {
      open(turn, "b");
      turn.apply(a.job, step("s", "1"));
      const c = open(turn, "c");
      turn.apply(a.job, completed);
      turn.apply(c.job, started);
    });
    await flush();
    const messages = test.log.messages.slice(length);
    expect(messages.map(({ subject }) => subject.slice(PREFIX.length))).toEqual([
      "task.b.b",
      "task.a.a",
      "task.c.c",
    ]);
    const frames = messages.map(({ frame }) => parseFrame(frame));
    expect(frames.map((frame) => [frame?.part, frame?.parts])).toEqual([
      [1, 3],
      [2, 3],
      [3, 3],
    ]);
    expect(transitionsIn(messages).map(({ actor, event }) => `${actor} ${event.type}`)).toEqual([
      "job:b job.submitted",
      "job:a job.stepRecorded",
      "job:a job.completed",
      "job:c job.submitted",
      "job:c job.started",
    ]);
  });

  it("[ES-5] say what caused them, of which workflow, when, and count each actor's moves", async () => {
    await running("a");
    const bodies = test.log.messages.map(({ body }) => JSON.parse(new TextDecoder().decode(body)));
    expect(bodies.at(-1)).toMatchObject({ v: 1, cause: "begin", correlation: "a" });
    expect(typeof bodies.at(-1).at).toBe("number");
    const sequences = bodies.at(-1).transitions.map((each: { sequence: number }) => each.sequence);
    expect(sequences).toEqual([1, 2]);
  });

  it("[ES-12] carry journal time that never decreases, whatever the wall clock does", async () => {
    const task = await running("a");
    for (const stepMs of [0, -3_600_000, 7_200_000, -1]) {
      test.machine.stepWall(stepMs);
      runTurn(ports, "x", (turn) => turn.apply(task.job, step(String(stepMs), "v")));
      await test.advance(5);
    }
    const times = test.log.messages
      .map(({ body }) => JSON.parse(new TextDecoder().decode(body)).t as number | undefined)
      .filter((t) => t !== undefined);
    expect(times).toEqual([...times].sort((a, b) => a - b));
    expect(times.length).toBeGreaterThan(5);
  });

  it("[ES-10] when it moved nothing are none, and its answer waits for what was staged before it", async () => {
    const task = await running("a");
    test.answers.hold();
    const answers: string[] = [];
    runTurn(ports, "x", (turn) => turn.apply(task.job, step("s", "v")));
    runTurn(
      ports,
      "y",
      (turn) => turn.apply(task.job, { type: "job.completed", attempt: 9, result: null }),
      (isTaken) => answers.push(`refused ${!isTaken}`),
    );
    const { length } = test.log.messages;
    await flush();
    expect(answers).toEqual([]);
    test.answers.release();
    await flush();
    expect([answers, test.log.messages.length]).toEqual([["refused true"], length]);
  });
});

describe("a registered secret", () => {
  it("[REC-7] stands in no record: not in its cause, its events, its reasons and its evidence", async () => {
    const secret = "hunter2-and-more";
    ports.redactor.register(secret);
    const task = await running("a");
    runTurn(ports, `because ${secret}`, (turn) =>
      turn.apply(task.job, step("s", secret), { reason: secret, evidence: { [secret]: [secret] } }),
    );
    await flush();
    const text = textOf(test.log.messages);
    expect(text).not.toContain(secret);
    expect(text).toContain('"cause":"because [redacted]"');
    expect(task.job.state.context).toMatchObject({ steps: { s: "[redacted]" } });
  });
});

describe("a turn's effects", () => {
  it("[T2, ES-1] are released when the last record of their group is acknowledged, in the order of the log", async () => {
    const task = await running("a");
    test.answers.hold();
    runTurn(ports, "x", (turn) => {
      const b = open(turn, "b");
      turn.apply(b.job, started);
      turn.apply(task.job, { type: "job.cancelRequested", reason: "r", by: "b" });
    });
    runTurn(ports, "y", (turn) => turn.apply(task.job, completed));
    expect([task.job.state.value, released]).toEqual(["cancelled", []]);
    const acknowledgeAllBut = async (count: number) => {
      for (; ports.journal.pendingCount > count; await flush()) test.answers.letThrough(1);
    };
    await acknowledgeAllBut(2);
    expect(released).toEqual([]);
    await acknowledgeAllBut(1);
    expect(released.map(({ type }) => type)).toEqual([
      "do.start",
      "do.armTimer",
      "do.signalCancel",
    ]);
    test.answers.release();
    await flush();
    expect(released.map(({ type }) => type).slice(3)).toEqual(["do.settle"]);
  });

  it("[T5, ES-11] have ids of their actor, its sequence and their place, no two alike, the same in every fold", async () => {
    const task = await running("a");
    runTurn(ports, "x", (turn) => {
      const b = open(turn, "b");
      turn.apply(b.job, started);
      turn.apply(b.job, { type: "job.waitDeclared", name: "w", kind: "approval", reason: "r" });
      turn.apply(b.job, { type: "job.answered", name: "w", value: 1, by: "ada" });
      turn.apply(task.job, { type: "job.timeoutReached", attempt: 1, graceUntil: 1 });
    });
    await flush();
    const ids = released.map(effectId);
    expect(ids).toEqual(["job:b:2:0", "job:b:2:1", "job:b:4:0", "job:a:3:0", "job:a:3:1"]);
    expect(new Set(ids).size).toBe(ids.length);
    const named = transitionsIn(test.log.messages).flatMap(({ actor, sequence, effects = [] }) =>
      effects
        .filter((type) => type.startsWith("do."))
        .map((type) => `${actor}:${sequence} ${type}`),
    );
    for (const effect of released)
      expect(named).toContain(`${effect.cell.name}:${effect.sequence} ${effect.type}`);
  });
});

describe("a turn's tells", () => {
  it("[T7] are delivered in the same turn, first in first out", async () => {
    runTurn(ports, "x", (turn) => open(turn, "c"));
    expect(told).toEqual(["c:tell.opened", "c:tell.queued"]);
    const a = await running("a");
    const b = await running("b");
    onTell = (turn, tell) => {
      if (tell === "tell.cancelling" && told.length === 1) turn.apply(b.job, completed);
    };
    runTurn(ports, "x", (turn) => {
      turn.apply(a.job, { type: "job.cancelRequested", reason: "r", by: "b" });
      expect(told).toEqual(["a:tell.cancelling", "b:tell.ended"]);
      turn.apply(a.job, completed);
    });
    expect(told).toEqual(["a:tell.cancelling", "b:tell.ended", "a:tell.ended"]);
    expect(committed).toHaveLength(1);
  });

  it("[T7] are bounded: a cycle of them ends the turn, and nothing of it is left", async () => {
    const task = await running("a");
    let count = 0;
    onTell = (turn) => {
      count += 1;
      turn.apply(task.job, {
        type: "job.waitDeclared",
        name: `w${count % 2}`,
        kind: "other",
        reason: "again",
      });
    };
    expect(() =>
      runTurn(ports, "x", (turn) =>
        turn.apply(task.job, { type: "job.waitDeclared", name: "w", kind: "other", reason: "r" }),
      ),
    ).toThrow(/T7/);
    expect(count).toBe(TELLS_MAX);
    expect([task.job.sequence, task.job.staged, committed]).toEqual([2, null, []]);
  });
});

describe("room in a turn", () => {
  it("[T6] is given out once, up to its bound", () => {
    runTurn(ports, "x", (turn) => {
      expect([turn.claim(3, 10), turn.claim(9, 10), turn.claim(1, 10)]).toEqual([3, 7, 0]);
    });
  });

  it("[T6] runs what was put off in turns of its own, after this one is staged", async () => {
    const task = await running("a");
    runTurn(ports, "x", (turn) => {
      turn.apply(task.job, step("1", "v"));
      turn.defer(() => runTurn(ports, "later", (next) => next.apply(task.job, step("2", "v"))));
      turn.defer(() => runTurn(ports, "last", (next) => next.apply(task.job, completed)));
    });
    await flush();
    const causes = test.log.messages
      .slice(-3)
      .map(({ body }) => JSON.parse(new TextDecoder().decode(body)).cause);
    expect(causes).toEqual(["x", "later", "last"]);
  });
});
