/** The judgement of the campaign of kills: each of its rules finds the fault that is planted for it. */
import { describe, expect, it } from "vitest";
import type { Transition } from "../../../actors/journal/codec.ts";
import {
  type Asked,
  changesOf,
  effectsIn,
  faultsOf,
  type Seen,
} from "../../campaigns/kills/judgement.ts";

const move = (sequence: number, event: object, from: string, to: string): Transition => ({
  actor: "job:a",
  sequence,
  event: event as Transition["event"],
  from,
  to,
});

const spec = (type: string) => ({ type: "job.submitted", spec: { type, kind: "tool" } });

const history = (type = "again") => [
  move(1, spec(type), "new", "queued"),
  move(2, { type: "job.started", attempt: 1 }, "queued", "running"),
  move(3, { type: "job.completed", attempt: 1, result: "done by a" }, "running", "completed"),
];

const asked = (changes: Partial<Asked> = {}): Asked => ({
  id: "a",
  type: "again",
  input: { ms: 0 },
  isAcknowledged: true,
  outcome: '{"kind":"completed","result":"done by a"}',
  record: null,
  ...changes,
});

const seen = (changes: Partial<Seen> = {}): Seen => ({
  asked: [asked()],
  effects: effectsIn("start a 1\nend a 1\n"),
  histories: new Map([["job:a", history()]]),
  marks: new Map([["a", 2]]),
  ...changes,
});

const FAULTS: readonly (readonly [string, Partial<Seen>, string])[] = [
  ["a lost submission", { asked: [asked({ id: "b", outcome: null })] }, "K1 b"],
  ["a lost result", { asked: [asked({ outcome: '{"kind":"completed","result":1}' })] }, "K2 a"],
  ["a doubled line", { effects: effectsIn("start a 1\nstart a 1\nend a 1\n") }, "K3 a"],
  ["an unjournaled start", { effects: effectsIn("start a 1\nend a 1\nstart a 2\n") }, "K3 a"],
  ["a completion without work", { effects: effectsIn("start a 1\n") }, "K4 a"],
  ["a run after the end", { marks: new Map([["a", 1]]) }, "K5 a"],
  [
    "a second run of what runs once",
    {
      histories: new Map([["job:a", history("once")]]),
      effects: effectsIn("start a 1\nend a 1\nstart a 2\n"),
    },
    "K6 a",
  ],
];

describe("the judgement of kills", () => {
  it("finds nothing where all is well", () => {
    expect(faultsOf(seen())).toEqual([]);
  });

  it.each(FAULTS)("[ES-4] finds %s", (_name, changes, found) => {
    expect(faultsOf(seen(changes)).join("\n")).toContain(found);
  });

  it("[ES-4] finds a message that is gone from the log, or another one in its place", () => {
    const message = (sequence: number, id: string) => ({
      ...{ sequence, id, frame: id, subject: "s", storedAtMs: 0 },
      body: new Uint8Array(),
    });
    const before = [message(1, "w.0"), message(2, "w.1")];
    expect(changesOf(before, [...before, message(3, "w.2")])).toEqual([]);
    expect(changesOf(before, [message(1, "w.0")])).toHaveLength(1);
    expect(changesOf(before, [message(1, "w.0"), message(2, "v.1")])).toHaveLength(1);
  });
});
