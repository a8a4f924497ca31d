/**
 * The two tables: every tell has a route, every effect an entry, and neither table names what no chart does.
 */
import { describe, expect, it } from "vitest";

import { actorName, CHARTS, parseActorName } from "../../../actors/turn/charts.ts";
import { EFFECT_NAMES, fateOf } from "../../../actors/turn/effects.ts";
import { ROUTE_NAMES } from "../../../actors/turn/routes.ts";

/** Effects that the charts' transitions name, wherever they stand. */
const named = [
  ...new Set(
    Object.values(CHARTS).flatMap(({ machine }) =>
      [...JSON.stringify(machine.config).matchAll(/"((?:do|tell)\.\w+)"/g)].map(([, name]) => name),
    ),
  ),
].sort();

describe("the tables", () => {
  it("[T7] route every tell that a chart names, and no other", () => {
    expect([...ROUTE_NAMES].sort()).toEqual(named.filter((name) => name?.startsWith("tell.")));
  });

  it("[T5] know the fate of every effect that a chart names, and of no other", () => {
    expect([...EFFECT_NAMES].sort()).toEqual(named.filter((name) => name?.startsWith("do.")));
    for (const name of EFFECT_NAMES)
      expect(["reissue", "reconcile", "drop"]).toContain(fateOf(name));
    expect(fateOf("do.nothing")).toBeUndefined();
  });

  it("[T7] name nothing that a chart declares and never does", () => {
    for (const { machine } of Object.values(CHARTS)) {
      const declared = Object.keys(machine.implementations.actions).filter((name) =>
        /^(?:do|tell)\./.test(name),
      );
      for (const name of declared) expect(named).toContain(name);
    }
  });

  it("actors are named for their chart, and read back, whatever stands in their id", () => {
    for (const id of ["a", "a:b", "", "job:x", "💧"])
      for (const kind of ["job", "liveness", "dispatcher"] as const)
        expect(parseActorName(actorName(kind, id))).toEqual({ kind, id });
    expect(parseActorName("ghost:a")).toBeNull();
    expect(parseActorName("toString:a")).toBeNull();
    expect(parseActorName("job")).toEqual({ kind: "job", id: "job" });
  });
});
