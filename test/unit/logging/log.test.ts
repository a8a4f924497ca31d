import { describe, expect, it } from "vitest";
import { FencedError, SystemError } from "../../../actors/errors.ts";
import { taskScope } from "../../../actors/journal/subjects.ts";
import type { Notice } from "../../../actors/runtime/world.ts";
import { openLog } from "../../../infra/logging/logger.ts";
import { errorFields, logNotice } from "../../../infra/logging/notices.ts";

function newLog(level: "info" | "warn" = "info") {
  const lines: string[] = [];
  const log = openLog({ level, destination: { write: (line) => lines.push(line) } });
  return { ...log, lines, parsed: () => lines.map((line) => JSON.parse(line)) };
}

describe("the log", () => {
  it("is one JSON object a line, with the level's name and the time", () => {
    const { logger, parsed } = newLog();
    logger.info({ answer: 42 }, "a line");
    logger.debug("not told");
    expect(parsed()).toEqual([
      {
        level: "info",
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        pid: process.pid,
        answer: 42,
        msg: "a line",
      },
    ]);
  });

  it("[REC-7] has no registered secret in it, wherever it stood and however it had to be written", () => {
    const { logger, register, lines } = newLog();
    const secrets = ["hunter2hunter2", 'with "quotes" and \\', "line\nbreak-secret"];
    for (const secret of secrets) register(secret);
    for (const secret of secrets) {
      logger.info({ deep: { list: [`before ${secret} after`] }, [secret]: 1 }, `said ${secret}`);
      logger.child({ job: secret }).error(errorFields(new TypeError(secret)), "failed");
    }
    const text = lines.join("");
    for (const secret of secrets) {
      expect(text).not.toContain(secret);
      expect(text).not.toContain(JSON.stringify(secret).slice(1, -1));
    }
    expect(text).toContain("before [redacted] after");
    for (const line of lines) JSON.parse(line);
  });

  it("takes no word for a secret that ordinary text would hold", () => {
    const { logger, register, lines } = newLog();
    register("job");
    logger.info("a job");
    expect(lines.join("")).toContain("a job");
  });
});

const subject = `hf.t.evt.0.1.${taskScope("w 1", "j.1")}`;

describe("a notice", () => {
  it.each<[Notice, object]>([
    [
      { kind: "recovered", liveJobs: 2, interrupted: 1, transitions: 30 },
      { level: "info", liveJobs: 2, interrupted: 1, transitions: 30 },
    ],
    [
      { kind: "found", finding: { position: 7, subject, kind: "damaged", reason: "bad sum" } },
      {
        level: "error",
        job: "j.1",
        workflow: "w 1",
        position: 7,
        finding: "damaged",
        reason: "bad sum",
      },
    ],
    [
      { kind: "found", finding: { position: 7, subject, kind: "void", reason: "late" } },
      { level: "info", job: "j.1", workflow: "w 1", finding: "void" },
    ],
    [
      { kind: "fault", where: "do.settle", job: "j", error: new TypeError("no") },
      { level: "error", job: "j", where: "do.settle", code: "system", error: "TypeError: no" },
    ],
    [
      { kind: "fault", where: "do.settle", job: null, error: new SystemError("no") },
      { level: "error", where: "do.settle", code: "system", error: "no" },
    ],
    [
      { kind: "resyncing", reason: "closed", pending: 3 },
      { level: "warn", reason: "closed", pending: 3 },
    ],
    [
      { kind: "waiting", reason: "away", delayMs: 100 },
      { level: "warn", reason: "away", delayMs: 100 },
    ],
    [
      { kind: "resynced", fencePosition: 9, resent: 2 },
      { level: "info", fencePosition: 9, resent: 2 },
    ],
    [
      { kind: "ended", error: new FencedError("gone", { details: { position: 9 } }) },
      { level: "error", code: "fenced", error: "gone", details: { position: 9 } },
    ],
  ])("is a line with its level and plain fields, bound to its job: %j", (notice, expected) => {
    const { logger, parsed } = newLog();
    logNotice(logger, notice);
    expect(parsed()).toEqual([expect.objectContaining(expected)]);
    expect(parsed()[0].msg).toEqual(expect.any(String));
  });
});

it("an error is told with its causes, and with its stack when it is a defect", () => {
  const cause = new TypeError("below");
  expect(errorFields(new SystemError("above", { cause }))).toMatchObject({
    code: "system",
    error: "above",
    cause: { code: "system", message: "TypeError: below" },
  });
  expect(errorFields(new SystemError("above"))["stack"]).toBeUndefined();
  expect(errorFields(cause)["stack"]).toContain("log.test.ts");
});
