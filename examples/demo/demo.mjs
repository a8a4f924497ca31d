// @ts-check
/**
 * The demo: a real workflow on real files, killed in the middle with SIGKILL, started again, brought to its end, and checked.
 *
 * Owns: options, the end of the process and of what it started. Does not own: the story (story.mjs).
 *
 * usage: node examples/demo/demo.mjs [--keep] [--json] [--jobs FILE]      (npm run demo sets up first)
 *
 * D1. It ends by itself within DEMO_WAIT_MS, whatever happens; its processes end before it does, also at Ctrl-C.
 * D2. Exit code: 0 every check holds; 1 one does not, or something on the way failed; 64 usage; 130, 143, 129 it was told to stop.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { DemoError, HOLDFAST } from "./daemon.mjs";
import { Story } from "./story.mjs";
import { plural, Teller } from "./telling.mjs";

/** The whole demo but its set-up and the stopping of its processes. */
const DEMO_WAIT_MS = 95_000;

const USAGE_CODE = 64;
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 };

const USAGE = `usage: npm run demo [-- OPTION...]

  --keep       leave the daemon up at the end, and say how to look around
  --json       print one JSON object and nothing else
  --jobs FILE  job definitions to use instead of examples/demo/jobs.mjs
  --help       show this
`;

/** Null: they could not be understood, and that has been told. @param {readonly string[]} words */
function optionsOf(words) {
  try {
    const { values } = parseArgs({
      args: [...words],
      options: {
        keep: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        jobs: { type: "string", default: fileURLToPath(new URL("jobs.mjs", import.meta.url)) },
        help: { type: "boolean", default: false },
      },
    });
    return values;
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${USAGE}`);
    return null;
  }
}

/**
 * @typedef {{ kind: "checked", checks: readonly import("./checks.mjs").Check[] }
 *   | { kind: "failed", error: unknown }
 *   | { kind: "late" }
 *   | { kind: "signal", signal: keyof typeof SIGNALS }} End
 */

/** The first of: its end, a signal, the time that it may take. @param {Story} story @returns {Promise<End>} */
function endOf(story) {
  return new Promise((resolve) => {
    setTimeout(() => resolve({ kind: "late" }), DEMO_WAIT_MS);
    for (const signal of /** @type {(keyof typeof SIGNALS)[]} */ (Object.keys(SIGNALS))) {
      process.on(signal, () => resolve({ kind: "signal", signal }));
    }
    story.run().then(
      (checks) => resolve({ kind: "checked", checks }),
      (error) => resolve({ kind: "failed", error }),
    );
  });
}

/** @param {End} end */
function exitCodeOf(end) {
  if (end.kind === "signal") return SIGNALS[end.signal];
  return end.kind === "checked" && end.checks.every(({ isOk }) => isOk) ? 0 : 1;
}

/** One sentence on how it ended. @param {End} end */
function sentenceOf(end) {
  switch (end.kind) {
    case "checked": {
      const failed = end.checks.filter(({ isOk }) => !isOk).length;
      if (failed > 0) return `${failed} of ${plural(end.checks.length, "check")} FAILED.`;
      return `All ${end.checks.length} checks hold.`;
    }
    case "late":
      return `The demo was not over within ${DEMO_WAIT_MS / 1_000} seconds, and gives up.`;
    case "signal":
      return `Told to stop (${end.signal}): the daemon is being stopped.`;
    case "failed":
      if (end.error instanceof DemoError) return end.error.message;
      return end.error instanceof Error ? String(end.error.stack) : String(end.error);
  }
}

/** @param {Teller} teller @param {Story} story */
function tellHowToLook(teller, story) {
  const { pid, data, out } = story;
  teller.heading("The daemon is still up");
  teller.say("Look around, in a shell in this folder:");
  teller.lines([
    "",
    `alias holdfast="node ${HOLDFAST}"`,
    `export HOLDFAST_DATA=${data}`,
    "holdfast status                  # how the daemon is",
    "holdfast tree wendmoor           # every job, and where it stands",
    "holdfast trajectory wendmoor     # what was done, in order",
    "holdfast status late-letter      # everything about one job",
    `less ${join(out, "report.md")}`,
    `less ${join(out, "effects.jsonl")}`,
    "",
    `kill ${pid}    # stops the daemon and its server; kill -9 does not hurt it`,
    `rm -r ${resolve(data, "..")}    # and nothing is left`,
  ]);
}

/** @param {readonly string[]} words @returns {Promise<number>} The exit code. */
async function main(words) {
  const options = optionsOf(words);
  if (options === null) return USAGE_CODE;
  if (options.help) {
    process.stdout.write(USAGE);
    return 0;
  }
  if (!existsSync(HOLDFAST)) {
    process.stderr.write("Holdfast is not built yet. Run it with: npm run demo\n");
    return 1;
  }
  const isQuiet = options.json;
  const folder = mkdtempSync(join(tmpdir(), "holdfast-demo-"));
  const story = new Story({ folder, jobs: resolve(options.jobs), teller: new Teller({ isQuiet }) });
  const end = await endOf(story);
  // A story that was cut short goes on until it finds its daemon gone; nobody wants to read that.
  story.teller.hush();
  return finish(story, end, { folder, isQuiet, isKept: options.keep && end.kind !== "signal" });
}

/**
 * @param {Story} story
 * @param {End} end
 * @param {{ folder: string, isQuiet: boolean, isKept: boolean }} options
 */
async function finish(story, end, { folder, isQuiet, isKept }) {
  const teller = new Teller({ isQuiet });
  const code = exitCodeOf(end);
  teller.lines([""]);
  teller.say(sentenceOf(end));
  if (isKept) tellHowToLook(teller, story);
  else await story.daemon.stop();
  // What is needed to find out why is not thrown away.
  const isRemoved = !isKept && (code === 0 || end.kind === "signal");
  if (isRemoved) rmSync(folder, { recursive: true, force: true });
  else if (!isKept) teller.say(`Journal, logs, report and effect file are still there: ${folder}`);
  if (isQuiet) {
    const document = {
      ok: code === 0,
      sentence: sentenceOf(end),
      checks: end.kind === "checked" ? end.checks : [],
      folder: isRemoved ? null : folder,
    };
    process.stdout.write(`${JSON.stringify(document)}\n`);
  }
  return code;
}

process.exit(await main(process.argv.slice(2)));
