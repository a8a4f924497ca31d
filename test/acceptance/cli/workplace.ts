/** Where the command line's acceptance tests work: a data folder, the built program, and whatever it starts. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serverFolder } from "../../../infra/nats-server/folder.ts";
import { readRecord } from "../../../infra/nats-server/record.ts";
import { type ProcessIdentity, readProcessIdentity } from "../../../infra/processes/identity.ts";
import { killProcess, type TestServerVersion, testServerBinary } from "../../support/server.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
const PROGRAM = join(ROOT, "dist", "infra", "cli", "main.js");
export const JOBS = fileURLToPath(new URL("./fixtures/jobs.mjs", import.meta.url));
export const RUN_MODULE = fileURLToPath(new URL("./fixtures/run.mjs", import.meta.url));

const WAIT_MS = 30_000;
const LOOK_EVERY_MS = 20;

/** Builds what is tested; nothing when it is built already. */
export function buildProgram(): void {
  const built = spawnSync(process.execPath, [join(ROOT, "scripts", "build.mjs")], {
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (built.status !== 0) throw new Error("the build failed");
}

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The one document of `--json`. */
  readonly json: () => Record<string, unknown>;
}

export interface Running {
  readonly pid: number;
  readonly stdout: () => string;
  readonly stderr: () => string;
  signal(name: NodeJS.Signals): void;
  /** SIGKILL, and waits until it is gone. */
  kill(): Promise<void>;
  readonly ended: Promise<Ended>;
}

export interface BeginOptions {
  readonly stdin?: string;
  /** How long its output is left unread: a pipe holds 64 KB. */
  readonly readAfterMs?: number;
}

export class Workplace {
  readonly folder = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
  readonly dataDir = join(this.folder, "data");
  readonly #children: { readonly identity: ProcessIdentity; readonly child: ChildProcess }[] = [];
  #binary = "";

  /** The server that daemons of this place use. Throws when it cannot be had. */
  async useServer(version: TestServerVersion): Promise<void> {
    const found = await testServerBinary(version);
    if (found.kind === "missing") throw new Error(found.reason);
    this.#binary = found.server.path;
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  file(name: string, text = ""): string {
    writeFileSync(this.path(name), text);
    return this.path(name);
  }

  /** What jobs did, one line each. */
  effects(): string[] {
    const path = this.path("effects");
    return existsSync(path) ? readFileSync(path, "utf8").trim().split("\n") : [];
  }

  /** Starts `holdfast` with these words. */
  begin(words: readonly string[], options: BeginOptions = {}): Running {
    const child = spawn(process.execPath, [PROGRAM, ...words], {
      cwd: this.folder,
      stdio: ["pipe", "pipe", "pipe"],
      env: {
        ...process.env,
        HOLDFAST_DATA: this.dataDir,
        HOLDFAST_NATS_SERVER: this.#binary,
        EFFECTS: this.path("effects"),
        NO_COLOR: "",
      },
    });
    child.stdin.end(options.stdin ?? "");
    const text = { stdout: "", stderr: "" };
    setTimeout(() => {
      child.stdout.on("data", (bytes: Buffer) => {
        text.stdout += bytes.toString("utf8");
      });
    }, options.readAfterMs ?? 0);
    child.stderr.on("data", (bytes: Buffer) => {
      text.stderr += bytes.toString("utf8");
    });
    const identity = readProcessIdentity(child.pid ?? 0);
    if (identity === null) throw new Error(`holdfast ${words.join(" ")} did not start`);
    this.#children.push({ identity, child });
    const ended = new Promise<Ended>((resolve) => {
      child.once("close", (code) => {
        resolve({ code, ...text, json: () => JSON.parse(text.stdout) });
      });
    });
    return {
      pid: identity.pid,
      stdout: () => text.stdout,
      stderr: () => text.stderr,
      signal: (name) => child.kill(name),
      kill: () => killProcess(identity),
      ended,
    };
  }

  /** Runs `holdfast` with these words to its end. */
  async run(words: readonly string[], options: BeginOptions = {}): Promise<Ended> {
    const running = this.begin(words, options);
    return within(running.ended, `holdfast ${words.join(" ")}`);
  }

  /** A daemon that is up; its first words are looked at as JSON. */
  async up(...words: readonly string[]): Promise<Running> {
    const running = this.begin([
      "up",
      "--jobs",
      JOBS,
      "--durability",
      "process",
      "--json",
      ...words,
    ]);
    let hasEnded = false;
    const ended = running.ended.then((end) => {
      hasEnded = true;
      return end;
    });
    await until(() => running.stdout().includes("\n") || hasEnded);
    if (hasEnded) throw new Error(`the daemon did not come up: ${JSON.stringify(await ended)}`);
    return running;
  }

  async clear(): Promise<void> {
    for (const { identity } of this.#children) await killProcess(identity);
    const server = readRecord(serverFolder(this.dataDir))?.running;
    if (server !== null && server !== undefined) await killProcess(server.process);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

async function within<Result>(work: Promise<Result>, what: string): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} takes more than ${WAIT_MS} ms`)), WAIT_MS);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** Waits for a condition, with a bound. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + WAIT_MS;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not so after ${WAIT_MS} ms: ${condition}`);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
  }
}
