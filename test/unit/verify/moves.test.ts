/**
 * Damage to what an actor did, planted one kind at a time under frames that hold.
 */
import { describe, expect, it } from "vitest";
import type { Transition } from "../../../actors/journal/codec.ts";
import { changedAt, forged, junk, recordOf, rewritten } from "../../compat/planting.ts";
import { check, edited, endOf, found, good, startOf } from "./rig/good-logs.ts";

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
