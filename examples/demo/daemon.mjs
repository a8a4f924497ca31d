// @ts-check
/**
 * The daemon of the demo, and the commands that ask it: the built `holdfast`, as anybody would run it.
 *
 * Owns: starting it, killing it, stopping it, and that nothing of it is left when the demo is over. Does not own: the story.
 *
 * P1. A process is ended by its number, and only while its command line says that it is the one that was started here.
 * P2. Every wait has a bound, and an error at it that says where the daemon's log is.
 */
import { spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const HOLDFAST = fileURLToPath(new URL("../../dist/infra/cli/main.js", import.meta.url));

const UP_WAIT_MS = 60_000;
const KILL_WAIT_MS = 5_000;
const STOP_WAIT_MS = 20_000;
const ASK_WAIT_MS = 30_000;
const LOOK_EVERY_MS = 20;

/** Whatever the shell says of other daemons, this one is the demo's own. */
const { HOLDFAST_DATA: _data, HOLDFAST_NATS: _nats, ...ENVIRONMENT } = process.env;

/** Told in one sentence: what went wrong is not this program's fault. */
export class DemoError extends Error {}

/**
 * @typedef {object} Up What `holdfast up --json` says of itself.
 * @property {number} pid
 * @property {{ version: string, pid: number | null }} server
 * @property {string} durability
 */

export class Daemon {
  /** @type {number | null} */ #pid = null;
  /** @type {number | null} */ #serverPid = null;
  #starts = 0;
  #isStopped = false;
  /** Commands that are being waited for. @type {Set<import("node:child_process").ChildProcess>} */ #asking =
    new Set();

  /** @param {{ data: string, jobs: string }} options */
  constructor(options) {
    this.data = options.data;
    this.jobs = options.jobs;
  }

  /** Everything that any of its lives logged, JSON lines. */
  get logFile() {
    return join(this.data, "daemon.log");
  }

  /** @returns {Promise<Up>} */
  async start() {
    // The story may still be running when the demo has been told to stop.
    if (this.#isStopped) throw new DemoError("The demo has been stopped.");
    this.#starts += 1;
    const said = join(this.data, `up-${this.#starts}.json`);
    const [out, log] = [openSync(said, "a"), openSync(this.logFile, "a")];
    const args = [HOLDFAST, "up", "--jobs", this.jobs, "--data", this.data, "--json"];
    // A process group of its own: Ctrl-C is for the demo, which then ends the daemon in order.
    const child = spawn(process.execPath, args, {
      stdio: ["ignore", out, log],
      detached: true,
      env: ENVIRONMENT,
    });
    closeSync(out);
    closeSync(log);
    child.unref();
    if (child.pid === undefined) throw new DemoError("The daemon could not be started.");
    this.#pid = child.pid;
    const deadline = performance.now() + UP_WAIT_MS;
    for (;;) {
      const up = parseLine(readFileSync(said, "utf8"));
      if (up?.ok === true) {
        this.#serverPid = up.server.pid;
        return up;
      }
      if (up?.ok === false) throw new DemoError(`The daemon refused to start: ${up.reason}`);
      if (!isAlive(child.pid, HOLDFAST)) throw this.#failure("ended before it was up");
      if (performance.now() > deadline) throw this.#failure(`was not up within ${UP_WAIT_MS} ms`);
      await pause(LOOK_EVERY_MS);
    }
  }

  /** kill -9, and nothing else: its server lives on. Resolves with the time at which it was gone. */
  async kill() {
    const pid = this.#pid;
    if (pid === null || !isAlive(pid, HOLDFAST))
      throw this.#failure("was gone before it was killed");
    process.kill(pid, "SIGKILL");
    await untilGone(pid, HOLDFAST, KILL_WAIT_MS);
    this.#pid = null;
    return Date.now();
  }

  /** For good: the daemon in order, else by force; then its server, if it was left behind. */
  async stop() {
    this.#isStopped = true;
    for (const child of this.#asking) child.kill("SIGKILL");
    const [pid, server] = [this.#pid, this.#serverPid];
    [this.#pid, this.#serverPid] = [null, null];
    if (pid !== null) await endProcess(pid, HOLDFAST);
    if (server !== null) await endProcess(server, this.data);
  }

  /**
   * `holdfast VERB … --json`, to its end: the document it prints.
   * @param {readonly string[]} words
   * @param {{ waitMs?: number }} [options]
   * @returns {Promise<any>}
   */
  async ask(words, { waitMs = ASK_WAIT_MS } = {}) {
    const args = [HOLDFAST, ...words, "--data", this.data, "--json"];
    const child = spawn(process.execPath, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: ENVIRONMENT,
    });
    this.#asking.add(child);
    const timer = setTimeout(() => child.kill("SIGKILL"), waitMs);
    const texts = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (text) => (texts[0] += text));
    child.stderr.setEncoding("utf8").on("data", (text) => (texts[1] += text));
    const code = await new Promise((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    }).finally(() => {
      clearTimeout(timer);
      this.#asking.delete(child);
    });
    const answer = parseLine(texts[0] ?? "");
    if (answer?.ok === true && code === 0) return answer;
    const why = answer?.reason ?? answer?.outcome?.error?.message ?? texts[1];
    const asked = `\`holdfast ${words[0]} ${words[1]}\``;
    if (code === null) throw this.#failure(`did not answer ${asked} within ${waitMs} ms`);
    throw this.#failure(`did not do what ${asked} asks (exit code ${code}): ${why}`);
  }

  /** @param {string} what */
  #failure(what) {
    return new DemoError(`The daemon ${what}. Its log: ${this.logFile}`);
  }
}

/** The one document of `--json`; null while it is not whole. @param {string} text */
function parseLine(text) {
  return text.endsWith("\n") ? JSON.parse(text) : null;
}

/**
 * P1: whether the process lives and is the one that is meant. A dead one that nobody has reaped has no command line.
 * @param {number} pid
 * @param {string} mark A part of its command line.
 */
function isAlive(pid, mark) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(mark);
  } catch {
    return false; // No such process any more.
  }
}

/** @param {number} pid @param {string} mark */
async function endProcess(pid, mark) {
  if (!isAlive(pid, mark)) return;
  process.kill(pid, "SIGTERM");
  if (await isGoneWithin(pid, mark, STOP_WAIT_MS)) return;
  process.kill(pid, "SIGKILL");
  await untilGone(pid, mark, KILL_WAIT_MS);
}

/** @param {number} pid @param {string} mark @param {number} waitMs */
async function untilGone(pid, mark, waitMs) {
  if (!(await isGoneWithin(pid, mark, waitMs))) throw new DemoError(`Process ${pid} does not end.`);
}

/** @param {number} pid @param {string} mark @param {number} waitMs */
async function isGoneWithin(pid, mark, waitMs) {
  const deadline = performance.now() + waitMs;
  while (isAlive(pid, mark)) {
    if (performance.now() > deadline) return false;
    await pause(LOOK_EVERY_MS);
  }
  return true;
}
