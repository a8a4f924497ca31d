/**
 * Damage to the messages of a log, planted one kind at a time: each is found by its kind and its place, and nothing else is.
 */
import { describe, expect, it } from "vitest";
import { encodeBody, type Transition } from "../../../actors/journal/codec.ts";
import { VOID_RUN_MAX as READERS_VOID_RUN_MAX } from "../../../actors/journal/reader.ts";
import { FINDINGS_MAX } from "../../../infra/verify/finding.ts";
import { VOID_RUN_MAX } from "../../../infra/verify/validity.ts";
import {
  changedAt,
  fenceOf,
  flipped,
  frameOf,
  inserted,
  junk,
  type Messages,
  PREFIX,
  reframed,
  renumbered,
  STRANGER,
  withBody,
  without,
} from "../../compat/planting.ts";
import { ORDINARY } from "../../compat/scenarios/ordinary.ts";
import { RELOADS } from "../../compat/scenarios/reloads.ts";
import { check, edited, endOf, found, good, owned, startOf } from "./rig/good-logs.ts";

describe("a good log", () => {
  it.each([...ORDINARY, ...RELOADS])(
    "[ES-9] $name has no errors, as today's runtime writes it",
    async ({ make }) => {
      const messages = await make();
      const report = check(messages);
      expect(report.findings.filter(({ severity }) => severity === "error")).toEqual([]);
      expect(report).toMatchObject({ ok: true, messages: messages.length, dropped: 0 });
    },
  );

  it("is counted whole", () => {
    const report = check(owned);
    expect(report.findings).toEqual([]);
    expect(report.fences).toBe(3);
    expect(report.records + report.fences).toBe(report.messages);
    expect(report.jobs).toEqual({ live: 5, ended: 1, setAside: 0 });
  });

  it("may be empty", () => {
    expect(check([])).toMatchObject({ ok: true, messages: 0, findings: [] });
  });
});

describe("[ES-9] the messages of a log", () => {
  it("with a flipped bit in a body: damaged there, and its task set aside", () => {
    const at = startOf("two");
    expect(found(changedAt(good, at, flipped))).toEqual([`damaged ${at}`]);
    expect(check(changedAt(good, at, flipped)).jobs).toMatchObject({ setAside: 1 });
  });

  it("with a body that is no record under a checksum that fits: damaged", () => {
    const at = startOf("two");
    const bytes = new TextEncoder().encode('{"v":2,"transitions":[]}');
    expect(found(changedAt(good, at, (message) => withBody(message, bytes)))).toEqual([
      `damaged ${at}`,
    ]);
  });

  it("with a broken frame: foreign, and what follows it does not follow", () => {
    const at = startOf("two");
    const broken = changedAt(good, at, (message) => ({ ...message, frame: `x${message.frame}` }));
    expect(found(broken)).toEqual([`foreign ${at}`, `gap ${at + 1}`]);
    expect(check(broken)).toMatchObject({ haltedAt: at + 1, unjudged: good.length - at });
  });

  it("with one missing: a gap at the next, and a hole where the store tells of one", () => {
    const at = startOf("two");
    expect(found(renumbered(without(good, at)))).toEqual([`gap ${at}`]);
    expect(found(without(good, at))).toEqual([`hole ${at}`, `gap ${at + 1}`]);
  });

  it("with void ones missing: a hole, which is all that can be told", () => {
    const junked = inserted(good, 5, junk(), junk());
    expect(found(without(junked, 5, 6))).toEqual(["hole 5"]);
  });

  it("with its beginning or its end missing, as the store tells: a hole", () => {
    expect(found(without(good, 1)).slice(0, 2)).toEqual(["hole 1", "foreign 2"]);
    const { length } = good;
    expect(found(good.slice(0, -1), length)).toEqual([`hole ${length}`]);
  });

  it("with two swapped: a gap at the first of them", () => {
    const [one, other] = [startOf("two"), startOf("two") + 1];
    const swapped = good.map((message) => {
      if (message.sequence === one) return good[other - 1] ?? message;
      return message.sequence === other ? (good[one - 1] ?? message) : message;
    });
    expect(found(renumbered(swapped))).toEqual([`gap ${one}`]);
  });

  it("with one twice: a gap at the second", () => {
    const at = startOf("two");
    expect(found(inserted(good, at + 1, ...good.slice(at - 1, at)))).toEqual([`gap ${at + 1}`]);
  });

  it("with one of a foreign writer, or of none: foreign, and nothing else is touched", () => {
    const at = startOf("two");
    const strangers = good.slice(at - 1, at).map((one) => reframed(one, { writer: STRANGER }));
    expect(found(inserted(good, at + 1, ...strangers))).toEqual([`foreign ${at + 1}`]);
    expect(found(inserted(good, at, junk()))).toEqual([`foreign ${at}`]);
  });

  it("with one of a writer that was fenced: stale, which is what fences are for", () => {
    const [first] = owned;
    if (first === undefined) throw new Error("the log is empty");
    const { length } = owned;
    const late = reframed({ ...first, subject: `${PREFIX}task.a.a` }, { index: 99 });
    const report = check(inserted(owned, length + 1, late));
    expect(report.findings).toMatchObject([
      { kind: "stale", position: length + 1, severity: "note" },
    ]);
    expect(report).toMatchObject({ ok: true, voided: 1 });
  });

  it("with the right writer and a wrong index: a gap", () => {
    const at = startOf("two");
    const wrong = changedAt(good, at, (one) => reframed(one, { index: frameOf(one).index + 1 }));
    expect(found(wrong)).toEqual([`gap ${at}`]);
  });

  it("with a place in a group that does not follow: a broken group", () => {
    const at = startOf("two");
    const second = changedAt(good, at, (one) => reframed(one, { part: 2, parts: 2 }));
    expect(found(second)).toEqual([`broken_group ${at}`]);
    const opened = changedAt(good, at, (one) => reframed(one, { part: 1, parts: 2 }));
    expect(found(opened)).toEqual([`broken_group ${at + 1}`]);
  });

  it("that ends within a group: unfinished, a note", () => {
    const { length } = good;
    const open = changedAt(good, length, (one) => reframed(one, { part: 1, parts: 2 }));
    expect(check(open)).toMatchObject({ ok: true, unfinished: 1, notes: 1 });
    expect(found(open)).toEqual([`unfinished ${length}`]);
  });

  it("with a fence within a group: torn, a note, whether a part of it is damaged or not", () => {
    const { length } = good;
    const open = changedAt(good, length, (one) => reframed(one, { part: 1, parts: 2 }));
    for (const last of [open, changedAt(open, length, flipped)]) {
      const report = check(renumbered([...last, fenceOf("next".padEnd(22, "_"), "take")]));
      expect(report.findings).toMatchObject([{ kind: "torn", position: length, severity: "note" }]);
      expect(report).toMatchObject({ ok: true, voided: 1, damaged: 0 });
      expect(report.jobs.setAside).toBe(0);
    }
  });

  it("with a fence that cannot be read: a broken fence, and nothing behind it is judged", () => {
    const fence = flipped(fenceOf("next".padEnd(22, "_"), "take"));
    expect(found(inserted(good, 5, fence))).toEqual(["broken_fence 5"]);
    const record = reframed(good[4] ?? junk(), { writer: STRANGER, index: 0, part: 1, parts: 1 });
    expect(found(inserted(good, 5, record))).toEqual(["broken_fence 5"]);
  });

  it("with a fence elsewhere, one of a writer that has one, or one that says nothing: a fence", () => {
    const { length } = good;
    const at = length + 1;
    const next = "next".padEnd(22, "_");
    expect(found(inserted(good, at, fenceOf(next, "take", `${PREFIX}task.a.a`)))).toEqual([
      `fence ${at}`,
    ]);
    expect(found(inserted(good, at, ...good.slice(0, 1)))).toEqual([`fence ${at}`]);
    const mute = withBody(
      fenceOf(next, "take"),
      new TextEncoder().encode('{"v":1,"at":0,"fence":{"kind":"steal"}}'),
    );
    expect(found(inserted(good, at, mute))).toEqual([`fence ${at}`]);
  });

  it("with an id that is not its frame's: an id", () => {
    const at = startOf("two");
    expect(found(changedAt(good, at, (one) => ({ ...one, id: "another" })))).toEqual([`id ${at}`]);
  });

  it("with more void ones in a row than fenced writers leave: a halt, where the runtime's reader has its own", () => {
    expect(VOID_RUN_MAX).toBe(READERS_VOID_RUN_MAX);
    const voids = (count: number): Messages => Array.from({ length: count }, () => junk());
    const run = (count: number): Messages => inserted(good, 5, ...voids(count));
    expect(check(run(VOID_RUN_MAX)).haltedAt).toBeNull();
    // Two runs with one record of the owner between them are two runs.
    const twice = inserted(inserted(good, 6, ...voids(VOID_RUN_MAX)), 5, ...voids(VOID_RUN_MAX));
    expect(check(twice)).toMatchObject({ haltedAt: null, voided: 2 * VOID_RUN_MAX });
    const report = check(run(VOID_RUN_MAX + 1));
    expect(report.haltedAt).toBe(5 + VOID_RUN_MAX);
    expect(report.errors).toBe(VOID_RUN_MAX + 2);
    expect(report.findings).toHaveLength(FINDINGS_MAX);
    expect(report.dropped).toBe(VOID_RUN_MAX + 2 - FINDINGS_MAX);
  });
});

describe("[ES-6] whatever stands in a log", () => {
  it("is told and never thrown at: bodies that parse and that nobody ever wrote", () => {
    const at = startOf("two");
    const events: unknown[] = [
      { type: "job.submitted" },
      { type: "job.submitted", spec: { dependencies: 5 } },
      { type: "dispatcher.taken", boot: null, closed: 1 },
    ];
    for (const event of events) {
      const moved = edited(at, "job:two", (each) => ({
        ...each,
        event: event as Transition["event"],
      }));
      expect(found(moved)).toEqual([
        expect.stringMatching(new RegExp(`^(?:event|refused) ${at}$`)),
      ]);
    }
  });

  it("is told and never thrown at: a value nested more deeply than a schema can walk", () => {
    const at = endOf("one");
    const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
    const log = changedAt(good, at, (message) => {
      const text = new TextDecoder()
        .decode(message.body)
        .replace('"result":"one"', `"result":${deep}`);
      return withBody(message, new TextEncoder().encode(text));
    });
    expect(found(log)).toEqual([expect.stringMatching(new RegExp(`^(?:event|damaged) ${at}$`))]);
  });

  it("keeps errors, however many notes there are", () => {
    const notes = FINDINGS_MAX + 100;
    const fences = Array.from({ length: notes }, (_, count) => {
      const writer = `w${count}`.padEnd(22, "_");
      const body = encodeBody({ v: 1, at: 0, t: 0, cause: "", correlation: "", transitions: [] });
      const part = { writer, index: 1, part: 1, parts: 2 };
      return [
        fenceOf(writer, "take"),
        withBody(reframed({ ...junk(), frame: good[0]?.frame ?? "" }, part), body),
      ];
    });
    const [first] = good;
    const log = renumbered([...fences.flat(), first ?? junk(), junk()]);
    const report = check(log);
    expect(report).toMatchObject({ ok: false, errors: 1, notes });
    expect(report.findings).toHaveLength(FINDINGS_MAX);
    expect(report.findings.at(-1)).toMatchObject({ kind: "foreign", position: log.length });
    expect(report.dropped).toBe(notes + 1 - FINDINGS_MAX);
  });
});
