/** What a chart may not contain, and how it is told: invariants N1 to N4 of machines/engine/lint/lint.ts. */

import { describe, expect, it } from "vitest";
import { and, assign, emit, not, raise, sendTo } from "xstate";

import { ChartLintError, lintChart } from "../../../machines/engine/lint/lint.ts";
import type { ActionKind, LintSubject } from "../../../machines/engine/lint/walk.ts";

const actions = new Map<string, ActionKind>([
  ["count", "reducer"],
  ["do.run", "effect"],
  ["tell.other", "effect"],
  ["shout", "xstate.raise"],
  ["many", "xstate.enqueueActions"],
]);

const base: LintSubject = {
  id: "door",
  config: {},
  actions,
  guards: new Map([["isOpen", () => true]]),
  eventTypes: ["door.opened", "door.closed"],
  version: 2,
  upcasters: {},
};

const faultsOf = (config: object, subject: Partial<LintSubject> = {}): readonly string[] =>
  lintChart({ ...base, config, ...subject }).map(({ path, message }) => `${path}: ${message}`);

/** A chart of one state, `closed`, with these fields; `open` is there to be gone to. */
const closedWith = (fields: object) => ({
  initial: "closed",
  states: { closed: fields, open: {} },
});

/** The faults of one transition. */
const transitionFaults = (transition: unknown): readonly string[] =>
  faultsOf(closedWith({ on: { "door.opened": transition } }));

describe("a chart that is replay-safe", () => {
  it("has no faults", () => {
    const config = {
      initial: "closed",
      states: {
        closed: {
          exit: "count",
          on: {
            "door.opened": [
              { guard: "isOpen", target: "open", actions: ["count", "do.run"] },
              { guard: not("isOpen"), target: "#door.open.ajar" },
              { actions: { type: "tell.other", params: { a: 1 } } },
              "open",
            ],
            "door.closed": {},
          },
        },
        open: {
          initial: "ajar",
          tags: ["live"],
          states: {
            ajar: { on: { "door.closed": "wide" } },
            wide: { id: "wide", entry: "many", on: { "door.closed": { target: "#wide" } } },
          },
        },
        gone: { type: "final", entry: "do.run" },
      },
    };
    expect(faultsOf(config)).toEqual([]);
  });
});

describe("[ES-2] what a fold could not repeat is refused", () => {
  it.each([
    ["after", { after: { 100: "open" } }, "`after` is a timer that no log holds"],
    ["invoke", { invoke: { src: "x" } }, "`invoke` starts work that no log holds"],
    ["history", { states: { h: { type: "history" } }, initial: "h" }, "history is kept outside"],
    ["history", { states: { h: { history: "deep" } }, initial: "h" }, "history is kept outside"],
    ["route", { route: {} }, "`route` takes events that are not the chart's own"],
    ["output", { type: "final", output: 1 }, "`output` is kept outside"],
    ["a misspelt field", { onn: {} }, 'unknown field "onn"'],
    ["a misspelt type", { type: "finl" }, 'unknown type "finl"'],
  ])("%s", (_name, fields, message) => {
    const faults = faultsOf(closedWith(fields));
    expect(faults.filter((fault) => fault.includes(message))).toHaveLength(1);
    expect(faults.every((fault) => fault.startsWith("closed"))).toBe(true);
  });

  it.each([
    ["raise", raise({ type: "door.closed" }), "builtin xstate.raise"],
    ["sendTo", sendTo("other", { type: "x" }), "builtin xstate.sendTo"],
    ["emit", emit({ type: "x" }), "builtin xstate.emit"],
    ["an inline assign", assign({}), "builtin xstate.assign"],
    ["an inline action", () => undefined, "inline action"],
    ["a named raise", "shout", 'action "shout" is builtin xstate.raise'],
    ["a builtin by name", { type: "xstate.cancel" }, "builtin xstate.cancel"],
    ["an action nobody provides", "cuont", 'action "cuont" is not provided'],
    ["an effect nobody declares", { type: "do.rnu" }, 'action "do.rnu" is not provided'],
    ["something else", 7, "not an action: 7"],
    ["params that are no object", { type: "do.run", params: 7 }, 'params of "do.run"'],
  ])("%s, wherever it stands", (_name, action, message) => {
    const faults = faultsOf({
      initial: "start",
      states: {
        start: { on: { "door.opened": "closed" } },
        closed: {
          entry: action,
          exit: [action],
          on: { "door.opened": ["start", { actions: ["count", action] }] },
        },
      },
    });
    expect(faults).toHaveLength(3);
    for (const [index, place] of ["entry", "exit", 'on "door.opened" [1]'].entries()) {
      expect(faults[index]).toContain(`closed: ${place}: ${message}`);
    }
  });

  it("guards without a name, and guards that nobody provides, inside others too", () => {
    expect(transitionFaults({ guard: () => true })).toEqual([
      'closed: on "door.opened" [0]: inline guard; name it',
    ]);
    expect(transitionFaults({ guard: "isOpne" })).toEqual([
      'closed: on "door.opened" [0]: guard "isOpne" is not provided',
    ]);
    expect(
      transitionFaults([{ target: "open" }, { guard: and(["isOpen", not("isShut")]) }]),
    ).toEqual(['closed: on "door.opened" [1]: guard "isShut" is not provided']);
    expect(transitionFaults({ guard: and(["isOpen", () => true]) })).toEqual([
      'closed: on "door.opened" [0]: inline guard; name it',
    ]);
    expect(transitionFaults({ guard: 7 })).toEqual([
      'closed: on "door.opened" [0]: not a guard: 7',
    ]);
  });

  it("events that the schema does not have, wildcards and reserved ones", () => {
    const on = { "door.opend": "open", "door.*": "open", "*": "open", "xstate.init": "open" };
    expect(faultsOf(closedWith({ on }))).toEqual([
      'closed: event "door.opend" is not declared',
      'closed: wildcard "door.*" would take what it does not name',
      'closed: wildcard "*" would take what it does not name',
      'closed: event "xstate.init" is reserved',
    ]);
    const reserved = faultsOf(closedWith({}), { eventTypes: ["xstate.stop", "door.*", ""] });
    expect(reserved).toEqual([
      '(root): event type "xstate.stop" is reserved',
      '(root): event type "door.*" is reserved',
      '(root): event type "" is reserved',
    ]);
  });

  it.each(["opne", ".open", "#door.opne", "#dor", "open.ajar", "", ".", 7])(
    "target %j, which is nowhere",
    (target) => {
      const message = `closed: on "door.opened" [0]: unknown target ${JSON.stringify(target)}`;
      expect(transitionFaults({ target })).toEqual([message]);
    },
  );

  it("a target from the root without a dot, as XState refuses it too", () => {
    const config = { ...closedWith({}), on: { "door.opened": "open", "door.closed": ".open" } };
    expect(faultsOf(config)).toEqual(['(root): on "door.opened" [0]: unknown target "open"']);
  });

  it("transitions that are none, and fields a transition does not have", () => {
    expect(transitionFaults({ cond: "isOpen" })).toEqual([
      'closed: on "door.opened" [0]: unknown field "cond"',
    ]);
    expect(transitionFaults(() => "open")).toEqual([
      'closed: on "door.opened" [0]: neither a target nor a transition: a function',
    ]);
  });

  it("state keys that could not stand in a path", () => {
    const states = { closed: {}, "a.b": {}, "1st": {}, "(x)": {}, naïve: {} };
    expect(faultsOf({ initial: "closed", states })).toEqual(
      ["a.b", "1st", "(x)", "naïve"].map(
        (key) => `${key}: state key ${JSON.stringify(key)} must match ^[A-Za-z][A-Za-z0-9_]*$`,
      ),
    );
  });

  it("a way out of a final state", () => {
    const states = { closed: {}, gone: { type: "final", on: { "door.opened": "closed" } } };
    expect(faultsOf({ initial: "closed", states })).toEqual([
      "gone: nothing leaves a final state, but it has `on`",
    ]);
  });

  it("an initial state that is missing", () => {
    expect(faultsOf({ initial: "opne", states: { open: {} } })).toEqual([
      '(root): initial "opne" is none of its states',
    ]);
    expect(faultsOf({ states: { open: {} } })).toEqual([
      "(root): initial undefined is none of its states",
    ]);
    expect(faultsOf({})).toEqual(["(root): a chart needs states"]);
  });

  it("actions before the first event", () => {
    const initialEntry = faultsOf({
      initial: "open",
      entry: "count",
      states: { open: { initial: "ajar", entry: "do.run", states: { ajar: { entry: "count" } } } },
    });
    expect(initialEntry).toHaveLength(3);
    expect(initialEntry.join("\n")).toMatch(
      /\(root\): entry: .*\nopen: entry: .*\nopen\.ajar: entry: /,
    );
    const initialActions = faultsOf({
      initial: { target: "open", actions: "count" },
      states: { open: {} },
    });
    expect(initialActions).toEqual([
      "(root): initial: actions would run before the first event; put them on transitions",
    ]);
  });

  it("an eventless loop without a bound", () => {
    const config = closedWith({ always: { target: "open", guard: "isOpen" } });
    expect(faultsOf(config)).toEqual([
      "(root): `always` needs options: { maxIterations } from 1 to 100, so that a loop ends",
    ]);
    expect(faultsOf({ ...config, options: { maxIterations: 100 } })).toEqual([]);
    expect(faultsOf({ ...config, options: { maxIterations: 101 } })).toHaveLength(1);
  });

  it("more state values than anyone could list", () => {
    const region = { initial: "a", states: { a: {}, b: {}, c: {}, d: {} } };
    const regions = Object.fromEntries([..."abcdefg"].map((key) => [key, region]));
    const config = { type: "parallel", states: regions };
    expect(faultsOf(config)).toEqual(["(root): 16384 state values, at most 4096 are allowed"]);
  });

  it("names, versions and upcasters that do not fit", () => {
    const wrong = new Map<string, ActionKind>([
      ["do.count", "reducer"],
      ["publish", "effect"],
    ]);
    expect(faultsOf(closedWith({}), { id: "a.b", actions: wrong, version: 0 })).toEqual([
      '(root): id "a.b" must be letters, digits, _ or -, starting with a letter',
      '(root): reducer "do.count" is named like an effect',
      '(root): effect "publish" must start with do. or tell.',
      "(root): version 0 must be an integer from 1",
    ]);
    const upcasters = { "door.opened": { 0: () => undefined, 1: "no", 2: () => undefined } };
    expect(faultsOf(closedWith({}), { upcasters })).toEqual([
      '(root): upcaster of "door.opened" from 0: must be from 1 to 1',
      '(root): upcaster of "door.opened" from 1 is not a function',
      '(root): upcaster of "door.opened" from 2: must be from 1 to 1',
    ]);
  });
});

describe("ChartLintError", () => {
  it("tells every fault with its place", () => {
    const faults = lintChart({
      ...base,
      config: closedWith({ after: {}, on: { "door.opened": { target: "opne", guard: "isOpne" } } }),
    });
    expect(faults).toHaveLength(3);
    const error = new ChartLintError("door", faults);
    expect(error.message).toBe(
      [
        'chart "door" is not replay-safe:',
        "  closed: `after` is a timer that no log holds; name an effect that arms one and handle its event",
        '  closed: on "door.opened" [0]: unknown target "opne"',
        '  closed: on "door.opened" [0]: guard "isOpne" is not provided',
      ].join("\n"),
    );
  });
});
