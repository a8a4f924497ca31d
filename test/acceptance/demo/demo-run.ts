/**
 * One run of the demo, for tests: the program as `npm run demo` starts it when the set-up is done.
 *
 * Owns: a temp folder for everything it leaves behind, its output, finding processes of its that are left. Does not own: what
 * is expected of it.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { ROOT } from "../../support/tidy/source-tree.ts";

const WAIT_MS = 100_000;
const LOOK_EVERY_MS = 50;

export class DemoRun implements AsyncDisposable {
  /** The demo's own temp folder lies in it, and so do the daemon's data. */
  readonly folder: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<number | null>;
  stdout = "";
  stderr = "";

  constructor(options: readonly string[]) {
    this.folder = mkdtempSync(join(tmpdir(), "holdfast-test-demo-"));
    this.#child = spawn(process.execPath, [join(ROOT, "examples/demo/demo.mjs"), ...options], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
      // Colour is asked for, and must not come: stdout is no terminal.
      env: { ...process.env, TMPDIR: this.folder, FORCE_COLOR: "1" },
    });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text;
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text;
    });
    this.#ended = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (code) => resolve(code));
    });
  }

  /** The exit code; null when a signal ended it. */
  ended(): Promise<number | null> {
    return this.#ended;
  }

  /** Resolves when it has printed this. */
  async printed(text: string): Promise<void> {
    const deadline = performance.now() + WAIT_MS;
    while (!this.stdout.includes(text)) {
      if (performance.now() > deadline || this.#child.exitCode !== null) {
        throw new Error(`the demo did not print ${JSON.stringify(text)}:\n${this.stdout}`);
      }
      await pause(LOOK_EVERY_MS);
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Processes that have to do with its folder: daemons, servers, commands. */
  get processes(): readonly number[] {
    return readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => commandLineOf(pid).includes(this.folder));
  }

  /** What it has left in its folder. */
  get leftovers(): readonly string[] {
    return readdirSync(this.folder);
  }

  /** Ends what is left of it, the demo itself first. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
    for (const pid of this.processes) process.kill(pid, "SIGKILL");
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Empty for a process that is gone. */
function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
