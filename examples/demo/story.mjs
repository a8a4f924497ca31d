// @ts-check
/**
 * The story that the demo tells: a workflow begins, its daemon is killed and started again, the workflow ends, and what the jobs
 * did to the world is held against what the journal says.
 *
 * Owns: the steps in order, what is said at each. Does not own: the process and its end (demo.mjs), the jobs (jobs.mjs), the
 * daemon (daemon.mjs), the checks (checks.mjs), the form of what is printed (telling.mjs).
 *
 * T1. The kill waits for a condition (so many documents read), never for a time.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { analyseDocument, mergeTopic, writeReport } from "./analysis.mjs";
import { checksOf } from "./checks.mjs";
import { Daemon, DemoError } from "./daemon.mjs";
import { listDocuments, topicOf } from "./documents.mjs";
import { readCalls, readEffects } from "./effects.mjs";
import { plural, seconds, trajectoryLines, treeLines } from "./telling.mjs";

/** Each wait for the jobs. */
const JOBS_WAIT_MS = 60_000;
const LOOK_EVERY_MS = 20;
/** So many documents have been read when the daemon is killed: those of the first three folders, and a few of the next. */
const READ_BEFORE_KILL = 24;
const RECORDS_AT_ONCE = 3;
const NAMES_SHOWN = 4;
const REPORT_LINES_SHOWN = 22;

const INDEX = "wendmoor";
const LATE = "late-letter";

/** @param {string} path From here. */
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const CORPUS = here("../corpus");

/** @typedef {(id: string) => string} NameOf */

export class Story {
  /** @param {{ folder: string, jobs: string, teller: import("./telling.mjs").Teller }} options */
  constructor({ folder, jobs, teller }) {
    this.out = join(folder, "out");
    this.data = join(folder, "data");
    this.teller = teller;
    this.daemon = new Daemon({ data: this.data, jobs });
    this.input = { corpus: CORPUS, out: this.out };
    this.pid = 0;
  }

  /** The story. Resolves with the checks. */
  async run() {
    mkdirSync(this.out);
    mkdirSync(this.data);
    await this.start();
    const documents = await this.submit();
    const killed = await this.kill(documents);
    await this.startAgain();
    await this.waitForTheEnd(documents);
    const evidence = await this.look(killed);
    return this.check(evidence);
  }

  async start() {
    const { teller, daemon } = this;
    teller.heading("1  A daemon");
    teller.say(
      "Holdfast runs jobs in a daemon and keeps every move of every job in a journal, a stream of a nats-server. There is no server here yet, so the daemon starts one of its own.",
    );
    teller.command(`holdfast up --jobs examples/demo/jobs.mjs --data ${this.data}`);
    const { pid, server, durability } = await daemon.start();
    this.pid = pid;
    teller.say(
      `It is up: process ${pid}, its nats-server ${server.version} is process ${server.pid}. Durability is "${durability}": ${DURABILITIES[durability] ?? durability}`,
    );
  }

  async submit() {
    const { teller, daemon } = this;
    const documents = await listDocuments(CORPUS);
    const topics = new Set(documents.map(topicOf));
    teller.heading("2  A workflow");
    teller.say(
      `examples/corpus holds the papers of a small trust that keeps a lighthouse: ${documents.length} documents in ${topics.size} folders. The job corpus.index lists them and has the folders indexed, three at a time: each folder's job (topic.index) has all its documents read in parallel, one job each (document.analyse), and merged. In the end a report is written.`,
    );
    teller.command(`holdfast submit corpus.index '{"corpus": …, "out": …}' --id ${INDEX}`);
    const answer = await daemon.ask(this.submission());
    teller.say(
      `${answer.decision}: the answer came when the submission was in the journal. Each job that has an effect on the world also writes a line into a file that Holdfast knows nothing of, effects.jsonl. That file is our witness.`,
    );
    return documents;
  }

  submission() {
    return ["submit", "corpus.index", JSON.stringify(this.input), "--id", INDEX];
  }

  lateSubmission() {
    const input = { corpus: here("."), out: this.out, path: "late-letter.md" };
    return ["submit", "document.analyse", JSON.stringify(input), "--id", LATE];
  }

  /** @param {readonly string[]} documents */
  async kill(documents) {
    const { teller, daemon } = this;
    teller.heading("3  kill -9, in the middle");
    await this.untilRead(READ_BEFORE_KILL);
    teller.say(
      `${READ_BEFORE_KILL} of ${documents.length} documents have been read, others are being read at this moment. One more submission, of a letter that comes late:`,
    );
    teller.command(`holdfast submit document.analyse '{"path": "late-letter.md", …}' --id ${LATE}`);
    const { decision, job } = await daemon.ask(this.lateSubmission());
    const at = await daemon.kill();
    teller.say(`${decision}, and right after that answer:`);
    teller.command(`kill -9 ${this.pid}`);
    const calls = readCalls(this.out);
    const acknowledged = calls
      .filter(({ kind }) => kind === "acknowledged")
      .map((call) => call.job);
    teller.say(
      "The daemon is dead. It had no time to write anything down, to tell anybody, or to finish what it was doing. Its nats-server lives: it was started into a process group of its own.",
    );
    return { at, acknowledged: [...new Set([INDEX, job, ...acknowledged])] };
  }

  async startAgain() {
    const { teller, daemon } = this;
    teller.heading("4  The same command again");
    teller.command(`holdfast up --jobs examples/demo/jobs.mjs --data ${this.data}`);
    const { pid } = await daemon.start();
    this.pid = pid;
    teller.say(
      `Process ${pid} has found the server, has taken the journal over (a fence in it keeps any older owner from writing), and has read from it where every job stands.`,
    );
  }

  /** @param {readonly string[]} documents */
  async waitForTheEnd(documents) {
    const { teller, daemon } = this;
    teller.heading("5  To the end");
    teller.say(
      "Submitting again under the same id is not a second job: it joins the one that is there. With --wait the command waits for its end.",
    );
    teller.command(`holdfast submit corpus.index … --id ${INDEX} --wait`);
    const [{ outcome }] = await Promise.all([
      daemon.ask([...this.submission(), "--wait"], { waitMs: JOBS_WAIT_MS }),
      this.tellProgress(documents.length),
    ]);
    const { documents: count, words } = outcome.result;
    await daemon.ask([...this.lateSubmission(), "--wait"], { waitMs: JOBS_WAIT_MS });
    teller.say(`${INDEX} has completed: ${count} documents, ${words} words. So has ${LATE}.`);
  }

  /** @param {number} total */
  async tellProgress(total) {
    const startedAt = Date.now();
    for (const part of [0.6, 0.8, 1]) {
      const wanted = Math.floor(total * part);
      await this.untilRead(wanted);
      const took = seconds(Date.now() - startedAt);
      this.teller.lines([`${took.padStart(7)}  ${wanted} of ${total} documents have been read`]);
    }
  }

  /** Distinct documents of the corpus, as the effect file has them. @param {number} count */
  async untilRead(count) {
    const deadline = performance.now() + JOBS_WAIT_MS;
    for (;;) {
      const read = readEffects(this.out).filter(
        ({ type, job }) => type === "document.analyse" && job !== LATE,
      );
      if (new Set(read.map(({ job }) => job)).size >= count) return;
      if (performance.now() > deadline) {
        throw new DemoError(
          `${count} documents were not read within ${JOBS_WAIT_MS / 1_000} seconds. The daemon's log: ${this.daemon.logFile}`,
        );
      }
      await pause(LOOK_EVERY_MS);
    }
  }

  /** @param {{ at: number, acknowledged: readonly string[] }} killed */
  async look(killed) {
    const { teller, daemon, out } = this;
    const [tree, late] = await Promise.all([
      daemon.ask(["tree", INDEX]),
      daemon.ask(["tree", LATE]),
    ]);
    const trajectory = await daemon.ask(["trajectory", INDEX]);
    const calls = readCalls(out);
    const names = new Map(calls.map(({ job, name }) => [job, name]));
    const nameOf = (/** @type {string} */ id) => names.get(id) ?? id;
    teller.heading("6  Who called whom");
    teller.command(`holdfast tree ${INDEX}`);
    teller.say(
      "The number before a job is its ordinal: its place among the steps of the job that called it. Jobs that ran in parallel share one. (Documents of one folder are folded together here.)",
    );
    teller.lines(["", ...treeLines(tree.nodes, nameOf)]);
    teller.heading("7  What happened, in order");
    teller.command(`holdfast trajectory ${INDEX}`);
    teller.say(
      "PATH names the ordinals on the way down. TRIES: the attempts of a job; a job with two was running when its daemon was killed. Times count from the start, over both daemons.",
    );
    teller.lines(["", ...trajectoryLines(trajectory.entries, nameOf)]);
    /** @type {import("./telling.mjs").Node[]} */
    const nodes = [...tree.nodes, ...late.nodes];
    const records = await this.recordsOf(nodes.filter(({ attempts }) => attempts > 1));
    this.tellWhatRanAgain(nodes, records, nameOf);
    const report = readFileSync(join(out, "report.md"), "utf8");
    teller.heading("9  The report");
    teller.command(`head -${REPORT_LINES_SHOWN} ${join(out, "report.md")}`);
    teller.lines(["", ...report.split("\n").slice(0, REPORT_LINES_SHOWN).map(cutLine)]);
    const paths = await listDocuments(CORPUS);
    return {
      nodes,
      killedAt: killed.at,
      acknowledged: killed.acknowledged,
      calls,
      effects: readEffects(out),
      records,
      paths,
      report,
      expectedReport: reportWithoutWorkflow(paths),
    };
  }

  /** A few at a time: each is a command of its own. @param {readonly { id: string }[]} nodes */
  async recordsOf(nodes) {
    /** @type {Map<string, any>} */
    const records = new Map();
    const ahead = [...nodes];
    const work = async () => {
      for (let node = ahead.shift(); node !== undefined; node = ahead.shift()) {
        const { record } = await this.daemon.ask(["status", node.id]);
        records.set(node.id, record);
      }
    };
    await Promise.all(Array.from({ length: RECORDS_AT_ONCE }, work));
    return records;
  }

  /**
   * @param {readonly import("./telling.mjs").Node[]} nodes
   * @param {ReadonlyMap<string, any>} records
   * @param {NameOf} nameOf
   */
  tellWhatRanAgain(nodes, records, nameOf) {
    const { teller } = this;
    const again = nodes.filter(({ id }) => records.has(id));
    teller.heading("8  What ran again, and why");
    const example = again.find(({ type }) => type === "document.analyse");
    if (example !== undefined) teller.command(`holdfast status ${example.id}`);
    teller.say(`${plural(again.length, "job")} ran a second time. The journal says of each why:`);
    for (const { type, reason, ids } of byReason(again, records)) {
      const names = ids.map(nameOf);
      const more = names.length > NAMES_SHOWN ? `, and ${names.length - NAMES_SHOWN} more` : "";
      teller.lines([""]);
      teller.say(`${ids.length} × ${type}: "${reason}"`);
      teller.say(`(${names.slice(0, NAMES_SHOWN).join(", ")}${more})`);
    }
    teller.lines([""]);
    teller.say(
      "The doers among them ran again from their first line, and found what they had asked for before: the results of what had ended, and the rest where it stood. Nobody else ran again.",
    );
    teller.say(sentenceOnTwice(again, readEffects(this.out)));
  }

  /** @param {import("./checks.mjs").Evidence} evidence */
  check(evidence) {
    const { teller } = this;
    teller.heading("10  Checks");
    teller.say("The journal against the files that the jobs wrote:");
    teller.lines([""]);
    const checks = checksOf(evidence);
    for (const check of checks) teller.check(check);
    return checks;
  }
}

/**
 * Jobs of one type that ran again for one reason, in the order of the tree.
 * @param {readonly import("./telling.mjs").Node[]} nodes
 * @param {ReadonlyMap<string, any>} records
 */
function byReason(nodes, records) {
  /** @type {Map<string, { type: string, reason: string, ids: string[] }>} */
  const groups = new Map();
  for (const { id, type } of nodes) {
    const reason = records.get(id)?.previousAttempts.list[0]?.reason ?? "no reason is recorded";
    const name = `${type} ${reason}`;
    const before = groups.get(name)?.ids ?? [];
    groups.set(name, { type, reason, ids: [...before, id] });
  }
  return groups.values();
}

/**
 * @param {readonly { id: string }[]} again
 * @param {readonly import("./effects.mjs").Effect[]} effects
 */
function sentenceOnTwice(again, effects) {
  const twice = again.filter(({ id }) => effects.filter(({ job }) => job === id).length > 1);
  if (twice.length === 0) return "None had got as far as its effect when it was killed.";
  return `${twice.length} of them had had their effect, and were killed before their end was in the journal. Nobody can tell that from outside, so it was done again: this is why a job has to say whether that is safe.`;
}

/** @type {Readonly<Record<string, string>>} */
const DURABILITIES = {
  fsync: "what was acknowledged is on the disk.",
  process: "what was acknowledged outlives any process.",
};

/** @param {string} line */
const cutLine = (line) => (line.length > 75 ? `${line.slice(0, 74)}…` : line);

/** The same result in one loop. @param {readonly string[]} paths */
function reportWithoutWorkflow(paths) {
  const facts = paths.map((path) => analyseDocument(path, readFileSync(join(CORPUS, path))));
  const topics = [...new Set(paths.map(topicOf))];
  return writeReport(
    topics.map((topic) =>
      mergeTopic(
        topic,
        facts.filter(({ path }) => topicOf(path) === topic),
      ),
    ),
  );
}
