/**
 * `holdfast doctor`: what a daemon needs here, and how the one that runs is.
 *
 * Owns: the order of the checks, their printing, the exit code. Does not own: the checks (doctor/).
 */
import { checkDaemon } from "../doctor/daemon-checks.ts";
import type { Finding } from "../doctor/finding.ts";
import { checkDisk, checkFolder, checkNode, checkServer } from "../doctor/machine-checks.ts";
import { EXIT } from "../exit-codes.ts";
import { CLIENT_OPTIONS, type Verb } from "../line/verb.ts";
import type { Output, Style } from "../output.ts";
import { oneLine, padEnd, wrap } from "../text.ts";
import { durabilityOf } from "./up.ts";

export const doctor: Verb = {
  name: "doctor",
  summary: "check what a daemon needs here, and how the one that runs is",
  positionals: [],
  options: {
    durability: {
      type: "string",
      value: "MODE",
      help: "what the server must be able to keep: fsync (default) or process",
    },
    ...CLIENT_OPTIONS,
  },
  notes: ["Each line says ok, warn or fail, and what to do. The exit code is 1 when one fails."],
  examples: ["doctor", "doctor --durability process --json"],
  run: async (invocation) => {
    const { output } = invocation;
    const durability = durabilityOf(invocation, doctor.name);
    const findings: Finding[] = [
      checkNode(),
      await checkServer(invocation, durability),
      checkFolder(invocation),
      checkDisk(invocation),
      ...(await checkDaemon(invocation)),
    ];
    const isWell = findings.every(({ status }) => status !== "fail");
    output.document({ ok: isWell, checks: findings });
    for (const finding of findings) tell(output, finding);
    return isWell ? EXIT.done : EXIT.refused;
  },
};

const STYLES: Readonly<Record<Finding["status"], Style>> = {
  ok: "green",
  warn: "yellow",
  fail: "red",
};

const STATUS_WIDTH = 6;
const NAME_WIDTH = 13;

function tell(output: Output, { name, status, detail, advice }: Finding): void {
  const margin = " ".repeat(STATUS_WIDTH + NAME_WIDTH);
  const width = output.columns - margin.length;
  const texts = [oneLine(detail), ...(advice === null ? [] : [`→ ${oneLine(advice)}`])];
  const lines = texts.flatMap((text) => wrap(text, width));
  const head =
    output.paint(STYLES[status], padEnd(status, STATUS_WIDTH)) + padEnd(name, NAME_WIDTH);
  for (const [index, line] of lines.entries()) output.line((index === 0 ? head : margin) + line);
}
