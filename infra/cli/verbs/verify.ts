/**
 * `holdfast verify`: an independent check of a log.
 *
 * Owns: which log is meant, telling what was found, the exit code. Does not own: the check (infra/verify).
 */
import { isHoldfastError, toErrorRecord } from "../../../actors/errors.ts";
import type { Finding } from "../../verify/finding.ts";
import { checkLog, type Report } from "../../verify/log-check.ts";
import {
  type LogSource,
  openFileSource,
  openFolderSource,
  openServerSource,
} from "../../verify/source.ts";
import { dataDirOf, serverOf } from "../daemon-link.ts";
import { EXIT } from "../exit-codes.ts";
import { usage } from "../line/arguments.ts";
import { UsageError } from "../line/usage-error.ts";
import { CLIENT_OPTIONS, type Invocation, type Verb } from "../line/verb.ts";
import type { Output, Style } from "../output.ts";
import { oneLine, padEnd, plural, printable, wrap } from "../text.ts";

/** Exit codes of this verb, which scripts go by: the log is clean, it is not, it could not be read. */
const VERDICT = { clean: EXIT.done, faulty: EXIT.refused, unread: 2 } as const;

export const verify: Verb = {
  name: "verify",
  summary: "check a log: every record, every actor, independently of the daemon",
  positionals: [],
  options: {
    file: { type: "string", value: "FILE", help: "a log that was written to a file" },
    ...CLIENT_OPTIONS,
    nats: {
      type: "string",
      value: "URL",
      help: "a log on this server instead (default: $HOLDFAST_NATS); the user must be the daemon's",
    },
    namespace: { type: "string", value: "NS", help: "whose log it is, where there are several" },
  },
  notes: [
    "A daemon that runs is not disturbed. The server of a folder that nobody uses is started for as long as it is read; a daemon cannot start on the folder meanwhile.",
    "An error is damage: something that readers set aside, or halt at, or that no correct owner writes. A note is what a fence has settled, as after a kill.",
    "The exit code is 0 when nothing is wrong, 1 when there are errors, 2 when the log could not be read.",
  ],
  examples: ["verify", "verify --data /var/lib/holdfast --json", "verify --file night.log.jsonl"],
  run: async (invocation) => {
    const { output } = invocation;
    try {
      await using source = await openSource(invocation);
      const stopListening = closeOnSignal(source);
      const report = await checkLog(
        source.log,
        source.prefix === undefined ? {} : { prefix: source.prefix },
      ).finally(stopListening);
      tell(output, source.what, report);
      return report.ok ? VERDICT.clean : VERDICT.faulty;
    } catch (error) {
      if (error instanceof UsageError || !isHoldfastError(error)) throw error;
      return tellUnread(output, error);
    }
  },
};

async function openSource(invocation: Invocation): Promise<LogSource> {
  const { output } = invocation;
  // An empty text names nothing, as everywhere on the command line.
  const [file, data, namespace] = ["file", "data", "namespace"].map(
    (option) => invocation.text(option) || undefined,
  );
  if (file !== undefined) {
    const others = ["data", "nats", "namespace"].filter(invocation.has);
    if (others.length > 0) throw usage(verify, `--file and --${others[0]} cannot both be meant`);
    return openFileSource(file);
  }
  const server = serverOf(invocation);
  // A data folder that is named is meant; one that is merely the default gives way to a named server.
  if (server !== undefined && data === undefined) return openServerSource({ ...server, namespace });
  return openFolderSource({
    dataDir: dataDirOf(invocation),
    namespace,
    login: server?.login,
    onProgress: (line) => output.tell(line),
  });
}

/** Ends the reading at the first signal, so that a server that was started for it is stopped. Returns how to end that. */
function closeOnSignal({ log }: LogSource): () => void {
  const close = (): void => void log.close();
  process.once("SIGINT", close);
  process.once("SIGTERM", close);
  return () => {
    process.off("SIGINT", close);
    process.off("SIGTERM", close);
  };
}

function tellUnread(output: Output, error: unknown): number {
  const { code, message, retry, details } = toErrorRecord(error);
  const told = { ok: false, decision: "unread", reason: message, code, retry };
  output.document(details === undefined ? told : { ...told, details });
  output.tell(message);
  return VERDICT.unread;
}

/** Of each severity; the document of `--json` has more. */
const SHOWN_MAX = 50;
const LABEL_WIDTH = 10;

function tell(output: Output, what: string, report: Report): void {
  output.document({ ...report, log: what });
  const rows: readonly (readonly [string, string])[] = [
    ["log", printable(what)],
    ["messages", messagesText(report)],
    ["moves", `${plural(report.transitions, "transition")} of ${jobsText(report)}`],
  ];
  for (const [label, text] of rows) tellRow(output, padEnd(label, LABEL_WIDTH), text);
  for (const severity of ["error", "note"] as const) {
    const findings = report.findings.filter((finding) => finding.severity === severity);
    for (const finding of findings.slice(0, SHOWN_MAX)) tellFinding(output, finding);
    const total = severity === "error" ? report.errors : report.notes;
    const more = total - Math.min(findings.length, SHOWN_MAX);
    if (more > 0) output.line(`and ${plural(more, severity)} more (see --json)`);
  }
  tellVerdict(output, report);
}

function messagesText(report: Report): string {
  const others: readonly (readonly [number, string])[] = [
    [report.damaged, "damaged"],
    [report.voided, "void"],
    [report.unfinished, "unfinished"],
    [report.unjudged, "behind the halt"],
  ];
  const parts = [plural(report.fences, "fence"), plural(report.records, "record")];
  for (const [number, word] of others) if (number > 0) parts.push(`${number} ${word}`);
  return `${report.messages}: ${parts.join(", ")}`;
}

function jobsText({ jobs }: Report): string {
  const aside = jobs.setAside === 0 ? "" : `, ${jobs.setAside} of them set aside`;
  return `${plural(jobs.live + jobs.ended, "job")}: ${jobs.ended} ended, ${jobs.live} live${aside}`;
}

function tellVerdict(output: Output, report: Report): void {
  const { ok, errors, notes, haltedAt } = report;
  const halt = haltedAt === null ? "" : `; every reader halts at ${haltedAt}`;
  const aside = notes === 0 ? "" : ` (${plural(notes, "note")})`;
  const text = ok ? `clean${aside}` : `${plural(errors, "error")}${aside}${halt}`;
  output.line(padEnd("verdict", LABEL_WIDTH) + output.paint(ok ? "green" : "red", text));
}

const STYLES: Readonly<Record<Finding["severity"], Style>> = { error: "red", note: "yellow" };

function tellFinding(output: Output, finding: Finding): void {
  const { position, severity, kind, subject, text } = finding;
  const label = output.paint(STYLES[severity], padEnd(severity, LABEL_WIDTH));
  const where = subject === "" ? "" : ` (${oneLine(subject)})`;
  tellRow(output, label, `${position} ${kind}: ${oneLine(text)}${where}`);
}

function tellRow(output: Output, label: string, text: string): void {
  const [first = "", ...more] = wrap(text, output.columns - LABEL_WIDTH);
  output.line(label + first);
  for (const line of more) output.line(" ".repeat(LABEL_WIDTH) + line);
}
