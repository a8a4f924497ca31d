/**
 * Damage to what records owe each other, and to what owners say of each other, planted one kind at a time.
 */
import { describe, expect, it } from "vitest";
import type { Transition } from "../../../actors/journal/codec.ts";
import {
  changedAt,
  fenceOf,
  flipped,
  forged,
  inserted,
  junk,
  type Messages,
  PREFIX,
  recordOf,
  reframed,
  rewritten,
} from "../../compat/planting.ts";
import { edited, endOf, found, good, owned, startOf, takenAt } from "./rig/good-logs.ts";

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
    const owners = changedAt(good, takenAt(0), (one) =>
      rewritten(one, (body) => ({ ...body, correlation: "elsewhere" })),
    );
    expect(found(owners)).toEqual([`scope ${takenAt(0)}`]);
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
