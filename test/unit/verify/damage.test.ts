/**
 * Damage, planted one kind at a time into a log that was good: each is found, by its kind and its place, and nothing else is.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { encodeBody, type Transition } from "../../../actors/journal/codec.ts";
import { VOID_RUN_MAX as READERS_VOID_RUN_MAX } from "../../../actors/journal/reader.ts";
import { FINDINGS_MAX } from "../../../infra/verify/finding.ts";
import { LogCheck, type Report } from "../../../infra/verify/log-check.ts";
import { VOID_RUN_MAX } from "../../../infra/verify/validity.ts";
import {
  changedAt,
  fenceOf,
  flipped,
  forged,
  frameOf,
  inserted,
  junk,
  type Messages,
  PREFIX,
  positionOf,
  recordOf,
  reframed,
  renumbered,
  rewritten,
  STRANGER,
  withBody,
  without,
  withTransition,
} from "../../compat/planting.ts";
import { ORDINARY } from "../../compat/scenarios/ordinary.ts";
import { livelyLog, RELOADS } from "../../compat/scenarios/reloads.ts";
import { detached, stage, submitStill } from "../../compat/scenarios/stage.ts";

function check(messages: Messages, lastPosition?: number): Report {
  const log = new LogCheck();
  for (const message of messages) log.push(message);
  return log.finish(lastPosition);
}

/** `kind position` of every finding. */
const found = (messages: Messages, lastPosition?: number): readonly string[] =>
  check(messages, lastPosition).findings.map(({ kind, position }) => `${kind} ${position}`);

/** Fence, taken, recovered, then the jobs of `livelyLog`; nobody has stopped. */
let good: Messages = [];
/** The same, with two more owners after it. */
let owned: Messages = [];

beforeAll(async () => {
  good = await livelyLog();
  const second = await stage(good);
  await submitStill(second, "unsure", "later");
  const third = await stage(second.test.log.messages);
  await submitStill(third, "unsure", "latest");
  owned = await detached(third);
});

const startOf = (job: string): number =>
  positionOf(good, ({ actor, event }) => actor === `job:${job}` && event.type === "job.started");
const endOf = (job: string): number =>
  positionOf(good, ({ actor, to }) => actor === `job:${job}` && to === "completed");
const takenAt = (nth: number): number => {
  const all = owned.filter((message) =>
    new TextDecoder().decode(message.body).includes("dispatcher.taken"),
  );
  return all[nth]?.sequence ?? 0;
};

/** The last transition of an actor in a record, changed under a checksum that fits. */
const edited = (
  position: number,
  actor: string,
  change: (transition: Transition) => Transition,
  messages: Messages = good,
): Messages =>
  changedAt(messages, position, (message) => {
    const at = recordOf(message).transitions.findLastIndex((each) => each.actor === actor);
    return withTransition(message, at, change);
  });

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
    const run = (count: number): Messages =>
      inserted(good, 5, ...Array.from({ length: count }, () => junk()));
    expect(check(run(VOID_RUN_MAX)).haltedAt).toBeNull();
    const report = check(run(VOID_RUN_MAX + 1));
    expect(report.haltedAt).toBe(5 + VOID_RUN_MAX);
    expect(report.errors).toBe(VOID_RUN_MAX + 2);
    expect(report.findings).toHaveLength(FINDINGS_MAX);
    expect(report.dropped).toBe(VOID_RUN_MAX + 2 - FINDINGS_MAX);
  });
});

describe("[ES-2, ES-9] the moves of an actor", () => {
  const at = (job = "two"): number => startOf(job);

  it("that lead elsewhere than the chart: to", () => {
    const moved = edited(at(), "job:two", (each) => ({ ...each, to: "blocked" }));
    expect(found(moved)).toEqual([`to ${at()}`]);
  });

  it("that begin elsewhere than the last one ended: from", () => {
    const moved = edited(at(), "liveness:two", (each) => ({ ...each, from: "retrying" }));
    expect(found(moved)).toEqual([`from ${at()}`]);
  });

  it.each([0, 1, 4])("that leave out or repeat a number (%d): sequence", (sequence) => {
    const moved = edited(at(), "job:two", (each) => ({ ...each, sequence }));
    expect(found(moved)).toEqual([`sequence ${at()}`]);
  });

  it("that name other effects, more, fewer or what is no list: effects, and the actor goes on", () => {
    for (const effects of [
      ["do.settle"],
      ["do.start"],
      [],
      undefined,
      ["do.armTimer", "do.start"],
      5,
    ]) {
      const wrong = effects as readonly string[] | undefined;
      const moved = edited(at(), "job:two", (each) => ({ ...each, effects: wrong }));
      expect(found(moved)).toEqual([`effects ${at()}`]);
      expect(check(moved).jobs.setAside).toBe(0);
    }
  });

  it("by an event that nobody knows, of a version to come, or with other fields: event", () => {
    const events: Partial<Transition>[] = [
      { event: { type: "job.paused" } },
      { event: { type: "job.started" } },
      { v: 2 },
    ];
    for (const change of events) {
      const moved = edited(at(), "job:two", (each) => ({ ...each, ...change }));
      expect(found(moved)).toEqual([`event ${at()}`]);
    }
  });

  it("by an event that the chart refuses there: refused", () => {
    const event = { type: "job.completed", attempt: 1, result: null };
    expect(found(edited(at(), "job:two", (each) => ({ ...each, event })))).toEqual([
      `refused ${at()}`,
    ]);
  });

  it("behind a final state: after_final, whether the end is remembered or the move alone tells it", () => {
    const one = "job:one";
    const event = { type: "job.cancelRequested", reason: "late", by: "ada" };
    const late = { actor: one, sequence: 4, event, from: "completed", to: "cancelled" };
    const log = forged(good, { scope: "task.one.one", transitions: [late] });
    expect(found(log)).toEqual([`after_final ${log.length}`]);
    const unknown = { ...late, actor: "job:nobody" };
    const other = forged(good, { scope: "task.nobody.nobody", transitions: [unknown] });
    expect(found(other)).toEqual([`after_final ${other.length}`]);
    const end = endOf("one");
    const within = changedAt(good, end, (message) =>
      rewritten(message, (body) => ({ ...body, transitions: [...body.transitions, late] })),
    );
    expect(found(within)).toEqual([`after_final ${end}`]);
  });

  it("that begin a second life under an old id: after_final", () => {
    const [submitted] = good.filter(({ sequence }) => sequence === startOf("one"));
    const { transitions } = recordOf(submitted ?? junk());
    const log = forged(good, { scope: "task.one.one", transitions });
    expect(found(log)).toEqual([`after_final ${log.length}`]);
  });

  it("are found once: what follows in a task that is set aside is not judged, and others are", () => {
    const moved = edited(at(), "job:two", (each) => ({ ...each, to: "blocked" }));
    const event = { type: "job.completed", attempt: 1, result: 1 };
    const next = { actor: "job:two", sequence: 9, event, from: "running", to: "completed" };
    const log = forged(moved, { scope: "task.two.two", transitions: [next] });
    expect(found(log)).toEqual([`to ${at()}`]);
    expect(check(log).jobs).toMatchObject({ setAside: 0, ended: 2 });
  });
});

describe("[ES-9] the records of a log", () => {
  it("whose journal time goes back: time", () => {
    const at = endOf("one");
    const back = changedAt(good, at, (message) =>
      rewritten(message, (body) => ({ ...body, t: -1 })),
    );
    expect(found(back)).toEqual([`time ${at}`]);
  });

  it("[ES-8] that share a group and no turn, or a subject: turn", () => {
    const at = startOf("two");
    const pair = (change: (at: number) => Messages): readonly string[] => found(change(at));
    const grouped = changedAt(
      changedAt(good, at, (one) => reframed(one, { part: 1, parts: 2 })),
      at + 1,
      (one) => reframed(one, { part: 2, parts: 2 }),
    );
    expect(pair(() => grouped)).toEqual([`turn ${at + 1}`]);
    const event = { type: "liveness.quietNoticed" };
    const quiet = { actor: "liveness:two", sequence: 3, event, from: "running", to: "quiet" };
    const seen = {
      ...quiet,
      sequence: 4,
      event: { type: "liveness.progressSeen" },
      from: "quiet",
      to: "running",
    };
    const twice = forged(
      good,
      { scope: "task.two.two", transitions: [quiet] },
      { scope: "task.two.two", transitions: [seen] },
    );
    expect(found(twice)).toEqual([`turn ${twice.length}`]);
  });

  it("[STA-8] that leave a job and its liveness record in contradiction: states", () => {
    const at = endOf("one");
    const half = changedAt(good, at, (message) =>
      rewritten(message, (body) => ({ ...body, transitions: body.transitions.slice(0, 1) })),
    );
    expect(found(half)).toEqual([`states ${at}`]);
  });

  it("[REC-0] of a liveness record without its job: states", () => {
    const event = { type: "liveness.opened", retryClass: "safe_to_retry", retryBudget: 1 };
    const opened = { actor: "liveness:ghost", sequence: 1, event, from: "queued", to: "queued" };
    const log = forged(good, { scope: "task.ghost.ghost", transitions: [opened] });
    expect(found(log)).toEqual([`states ${log.length}`]);
  });

  it("that do not belong where they stand: scope", () => {
    const at = startOf("two");
    const { transitions } = recordOf(good[at - 1] ?? junk());
    const moved = changedAt(good, at, (one) => ({ ...one, subject: `${PREFIX}task.two.other` }));
    expect(found(moved)).toEqual([`scope ${at}`]);
    const correlated = changedAt(good, at, (one) =>
      rewritten(one, (body) => ({ ...body, correlation: "elsewhere" })),
    );
    expect(found(correlated)).toEqual([`scope ${at}`]);
    const twice = forged(good, { scope: "task.elsewhere.two", transitions });
    expect(found(twice)).toEqual([`scope ${twice.length}`]);
    const unknown = forged(good, { scope: "account.gpu", correlation: "", transitions: [] });
    expect(found(unknown)).toEqual([`scope ${unknown.length}`]);
    const renamed = forged(good, { scope: "task.x.x", transitions: renamedTo("x", transitions) });
    expect(found(renamed)).toEqual([`scope ${renamed.length}`]);
    const strayed = forged(good, { scope: "dispatcher", correlation: "", transitions });
    expect(found(strayed)).toContain(`scope ${strayed.length}`);
  });
});

/** Its actors bear another id, and what it submits does not. */
const renamedTo = (id: string, transitions: readonly Transition[]): readonly Transition[] =>
  transitions.map((each) => ({ ...each, actor: each.actor.replace(/:.*/, `:${id}`) }));

describe("[ES-3, ES-9] what an owner says of those before it", () => {
  const said = (nth: number, change: (event: Record<string, unknown>) => object): Messages =>
    edited(
      takenAt(nth),
      "dispatcher:",
      (each) => {
        const event = change({ ...each.event });
        return { ...each, event: event as Transition["event"] };
      },
      owned,
    );

  it("that tells a wrong end of an epoch: epochs", () => {
    const log = said(1, (event) => ({ ...event, closed: [{ fence: 1, validThrough: 4 }] }));
    expect(found(log)).toEqual([`epochs ${takenAt(1)}`]);
  });

  it("that tells of an epoch that nobody had: epochs", () => {
    const log = said(1, (event) => {
      const closed = [...(event["closed"] as object[]), { fence: 3, validThrough: 4 }];
      return { ...event, closed };
    });
    expect(found(log)).toEqual([`epochs ${takenAt(1)}`]);
  });

  it("that leaves one out: epochs, and again only where another is left out", () => {
    const log = said(1, (event) => ({ ...event, closed: [] }));
    expect(found(log)).toEqual([`epochs ${takenAt(1)}`]);
  });

  it("that names a fence that is not its own: epochs", () => {
    const log = said(2, (event) => ({ ...event, fence: 1 }));
    expect(found(log)).toEqual([`epochs ${takenAt(2)}`]);
  });

  it("that comes after something else: epochs", () => {
    const { length } = good;
    const writer = "next".padEnd(22, "_");
    const log = forged(inserted(good, length + 1, fenceOf(writer, "take")), {
      scope: "task.none.none",
      transitions: [],
    });
    expect(found(log)).toContain(`epochs ${length + 2}`);
  });

  it("that is damaged: its owner's other words are passed over until the next owner's", () => {
    const taken = takenAt(1);
    expect(found(changedAt(owned, taken, flipped))).toEqual([`damaged ${taken}`]);
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
