/** Old events become events of now: invariants U1 to U3 of machines/engine/upcast.ts. */

import { describe, expect, it } from "vitest";

import { type Upcasters, upcastEvent } from "../../../machines/engine/upcast.ts";

const upcasters: Upcasters = {
  "door.opened": {
    1: (event) => ({ ...event, by: "nobody" }),
    3: (event) => ({ ...event, by: [event["by"]] }),
  },
  // Renamed in version 3; the new name has a link of its own from 3 to 4.
  "door.pushed": { 2: (event) => ({ ...event, type: "door.opened" }) },
  "door.broken": {
    1: () => {
      throw new TypeError("no field");
    },
    // A mistake that JavaScript allows: the lint sees functions, not what they return.
    2: () => Object.assign([], { type: 7 }) as never,
  },
};

const options = {
  version: 4,
  eventTypes: new Set(["door.opened", "door.closed", "door.broken"]),
  upcasters,
};

describe("upcasting", () => {
  it("[ES-5] an event goes from version to version until it is of now", () => {
    expect(upcastEvent({ type: "door.opened", at: 1 }, 1, options)).toEqual({
      kind: "event",
      event: { type: "door.opened", at: 1, by: ["nobody"] },
    });
    expect(upcastEvent({ type: "door.opened", by: "me" }, 3, options)).toEqual({
      kind: "event",
      event: { type: "door.opened", by: ["me"] },
    });
  });

  it("[ES-5] an event of now, and one that never changed, stay what they are", () => {
    const now = { type: "door.opened", by: ["me"] };
    const same = { type: "door.closed", at: 1 };
    expect(upcastEvent(now, 4, options)).toEqual({ kind: "event", event: now });
    expect(upcastEvent(same, 1, options)).toEqual({ kind: "event", event: same });
  });

  it("[ES-5] a renamed event goes on under its new name", () => {
    expect(upcastEvent({ type: "door.pushed", by: "me" }, 1, options)).toEqual({
      kind: "event",
      event: { type: "door.opened", by: ["me"] },
    });
  });

  it("[ES-6] a type that nobody knows is a value that says so", () => {
    expect(upcastEvent({ type: "door.painted" }, 2, options)).toEqual({
      kind: "unknown_type",
      eventType: "door.painted",
      fromVersion: 2,
    });
    // Its last version was 2: what a newer one writes under this name is not renamed any more.
    expect(upcastEvent({ type: "door.pushed" }, 3, options)).toMatchObject({
      kind: "unknown_type",
    });
    // Not to be found on the prototype of the table either.
    expect(upcastEvent({ type: "constructor" }, 1, options)).toMatchObject({
      kind: "unknown_type",
    });
  });

  it.each([5, 0, -1, 1.5, Number.NaN])(
    "[ES-6] version %d is a value that says so",
    (fromVersion) => {
      expect(upcastEvent({ type: "door.opened" }, fromVersion, options)).toEqual({
        kind: "unknown_version",
        eventType: "door.opened",
        fromVersion,
      });
    },
  );

  it.each([null, undefined, 7, "door.opened", [], {}, { type: 7 }])(
    "[ES-6] %j is malformed",
    (event) => {
      expect(upcastEvent(event, 1, options)).toEqual({ kind: "malformed", fromVersion: 1 });
    },
  );

  it("[ES-6] an upcaster that throws, or returns no event, is a value that says so", () => {
    const failed = upcastEvent({ type: "door.broken" }, 1, options);
    expect(failed).toMatchObject({ kind: "failed", eventType: "door.broken", fromVersion: 1 });
    expect(failed).toHaveProperty("cause", new TypeError("no field"));
    expect(upcastEvent({ type: "door.broken" }, 2, options)).toEqual({
      kind: "malformed",
      fromVersion: 2,
    });
  });

  it("the event it was given stays as it was", () => {
    const event = Object.freeze({ type: "door.opened" });
    upcastEvent(event, 1, options);
    expect(event).toEqual({ type: "door.opened" });
  });
});
