/**
 * Golden logs: what older versions wrote, read by the code of today (test/compat).
 *
 * Each is read by everybody who reads logs, and all have to say the same of it: the runtime's reader and fold, readers of single
 * subjects, the check, an owner that starts on it.
 */
import { describe, expect, it } from "vitest";
import { parseFrame } from "../../actors/journal/frame.ts";
import type { StoredMessage } from "../../actors/journal/log.ts";
import { CHARTS } from "../../actors/turn/charts.ts";
import { ExecutionRecord } from "../../projections/execution-record/schema.ts";
import { asJson, expectedOf } from "../compat/expected.ts";
import {
  namesOf,
  PRESENT_VERSION,
  readExpected,
  readGolden,
  SCENARIOS,
  VERSIONS,
} from "../compat/golden.ts";
import { isRecord, PREFIX, recordOf } from "../compat/planting.ts";
import { readAsCheck, readAsRuntime, readBySubject } from "../compat/readers.ts";
import { codeOf, copyLog, TestRuntime } from "../support/runtime.ts";
import { Workshop } from "../support/workshop.ts";

const GOLDEN = VERSIONS.flatMap((version) => namesOf(version).map((name) => ({ version, name })));

/** Events that no log holds, and why. */
const NEVER_JOURNALED: Readonly<Record<string, string>> = {
  "dispatcher.fenced": "a fenced owner cannot write (D2)",
};

describe.each(GOLDEN)("the golden log $version/$name", ({ version, name }) => {
  it("[ES-5, REC-8] is read by today's code to what it was: verdict, tree, trajectory, records", async () => {
    const messages = await readGolden(version, name);
    const advice = "if it says more now: npx tsx test/compat/make.ts --expected, and look at it";
    expect(asJson(expectedOf(messages)), advice).toEqual(readExpected(version, name));
  });

  it("[REC-8] gives records that fit the published schema", async () => {
    const { workflows } = expectedOf(await readGolden(version, name));
    const records = Object.values(workflows).flatMap((each) => Object.values(each.records));
    expect(records.map((record) => ExecutionRecord.safeParse(record).error)).toEqual(
      records.map(() => undefined),
    );
  });

  it("[ES-6, ES-9] has one verdict by position: of the runtime's reader and fold, and of the check", async () => {
    const messages = await readGolden(version, name);
    const [runtime, check] = [readAsRuntime(messages, PREFIX), readAsCheck(messages)];
    expect(check.validity).toEqual(runtime.validity);
    expect(check.standing).toEqual(runtime.standing);
    const errors = check.report.findings.filter(({ severity }) => severity === "error");
    const places = errors.map(({ position }) => position);
    const found = runtime.fold.findings.filter(({ kind }) => kind !== "void");
    expect(places).toEqual(expect.arrayContaining(found.map(({ position }) => position)));
    expect(places).toEqual(
      expect.arrayContaining([...runtime.fold.setAside.values()].map(({ position }) => position)),
    );
  });

  it("[ES-9] shows readers of single subjects the same records", async () => {
    const messages = await readGolden(version, name);
    const { validity, epochs } = readAsRuntime(messages, PREFIX);
    // Whole groups only, and nothing behind a halt: what the owner knows acknowledged.
    const through = Math.max(0, ...validity.records, ...validity.damaged);
    const log = await copyLog(messages);
    expect(await readBySubject(messages, epochs, log, through)).toEqual(validity.records);
  });

  it("[ES-6] lets an owner start on it and live on, or is refused whole", async () => {
    const messages = await readGolden(version, name);
    const { validity, standing } = readAsRuntime(messages, PREFIX);
    const start = TestRuntime.start({
      definitions: new Workshop().all,
      log: await copyLog(messages),
    });
    if (validity.haltedAt !== null) {
      await expect(start.catch((error: unknown) => codeOf(error))).resolves.toBe("journal");
      return;
    }
    const test = await start;
    expect(test.runtime.health().state).toBe("ready");
    expect(
      test.runtime
        .health()
        .setAside.map(({ job }) => job)
        .sort(),
    ).toEqual(standing.setAside);
    expect(test.faults().filter(({ kind }) => kind === "fault")).toEqual([]);
    // What it goes on to write is as good as ever: nothing but the old findings is found.
    const before = readAsCheck(messages).report;
    const after = readAsCheck(test.log.messages).report;
    expect(after.findings.filter(isError)).toEqual(before.findings.filter(isError));
  });
});

const isError = ({ severity }: { readonly severity: string }): boolean => severity === "error";

describe("the golden logs", () => {
  it("[ES-5] hold every event of every chart: make one for an event that is new", async () => {
    const missing = new Set<string>(Object.values(CHARTS).flatMap(({ eventTypes }) => eventTypes));
    for (const event of Object.keys(NEVER_JOURNALED)) missing.delete(event);
    for (const message of await presentMessages()) {
      if (!isRecord(message)) continue;
      for (const { event } of recordOf(message).transitions) missing.delete(event.type);
    }
    const advice = "write a scenario in test/compat/scenarios and run: npx tsx test/compat/make.ts";
    expect([...missing], `no golden log has these events; ${advice}`).toEqual([]);
  });

  it("are there for every scenario, and for no other", () => {
    expect(namesOf(PRESENT_VERSION)).toEqual(SCENARIOS.map(({ name }) => name).sort());
  });

  it("have in them what readers must tell apart", async () => {
    const kinds = new Set<string>();
    for (const { version, name } of GOLDEN) {
      const { report } = readAsCheck(await readGolden(version, name));
      for (const { kind } of report.findings) kinds.add(kind);
    }
    expect([...kinds].sort()).toEqual(
      ["damaged", "event", "foreign", "gap", "scope", "stale", "torn", "unfinished"].sort(),
    );
    const fences = (await presentMessages()).filter(({ frame }) => parseFrame(frame)?.index === 0);
    const words = fences.map(({ body }) => new TextDecoder().decode(body)).join("\n");
    expect(words).toMatch(/"take"[\s\S]*"resync"|"resync"[\s\S]*"take"/);
  });

  it("[ES-9] without damage are clean", async () => {
    const hurt = [
      "damaged-body",
      "damaged-taking",
      "foreign-record",
      "lost-record",
      "newer-version",
    ];
    for (const { version, name } of GOLDEN) {
      const { report } = readAsCheck(await readGolden(version, name));
      expect({ name, ok: report.ok }).toEqual({ name, ok: !hurt.includes(name) });
    }
  });
});

async function presentMessages(): Promise<readonly StoredMessage[]> {
  const all: StoredMessage[] = [];
  for (const name of namesOf(PRESENT_VERSION))
    all.push(...(await readGolden(PRESENT_VERSION, name)));
  return all;
}
