/**
 * Where a campaign of kills plays: a daemon with its server, in a folder of its own, and somebody who speaks to it.
 *
 * Owns: bringing the daemon up however often it takes, killing it and its server, a client of whoever is up. Does not own:
 * when what is killed (campaign.ts), what is asked (load.ts).
 */
import { fileURLToPath } from "node:url";
import type { Durability } from "../../../actors/journal/codec.ts";
import { type ApiClient, connectClient } from "../../../infra/api/client.ts";
import { ensureCredentials } from "../../../infra/nats-server/credentials.ts";
import { serverFolder } from "../../../infra/nats-server/folder.ts";
import { readRecord } from "../../../infra/nats-server/record.ts";
import { type Running, until, Workplace } from "../../acceptance/cli/workplace.ts";
import { killProcess } from "../../support/server.ts";

const JOBS = fileURLToPath(new URL("./jobs.mjs", import.meta.url));
/** Starts in a row that may fail: each is tried while servers are being killed. */
const STARTS_MAX = 10;

interface Daemon {
  readonly running: Running;
  readonly client: ApiClient;
}

export class Stage {
  readonly place = new Workplace();
  readonly #durability: Durability;
  #daemon: Daemon | null = null;
  /** What daemons that ended by themselves said last; nobody had killed them. */
  readonly deaths: string[] = [];
  /** Daemons that found no server, or another's port taken, while they came up: tried again. */
  failedStarts = 0;

  private constructor(durability: Durability) {
    this.#durability = durability;
  }

  static async open(durability: Durability): Promise<Stage> {
    const stage = new Stage(durability);
    await stage.place.useServer("newest");
    return stage;
  }

  /** Of whoever is up; null: nobody is. */
  get client(): ApiClient | null {
    return this.#daemon?.client ?? null;
  }

  /** Resolves when a daemon answers. `killAfterMs`: each of these daemons is killed so long after its start, and followed. */
  async up(killAfterMs: readonly number[] = []): Promise<void> {
    for (const ms of killAfterMs) {
      const doomed = this.#begin();
      await new Promise((resolve) => setTimeout(resolve, ms));
      await doomed.kill();
    }
    for (let starts = 1; ; starts += 1) {
      const running = this.#begin();
      const isUp = await comesUp(running);
      if (isUp) {
        await this.#welcome(running);
        return;
      }
      this.failedStarts += 1;
      if (starts === STARTS_MAX) throw new Error(`no daemon comes up: ${running.stderr()}`);
    }
  }

  async killDaemon(): Promise<void> {
    const daemon = this.#daemon;
    this.#daemon = null;
    await daemon?.running.kill();
    await daemon?.client.close();
  }

  /** Kills the server; the daemon, if there is one, starts it again. */
  async killServer(): Promise<void> {
    const server = readRecord(serverFolder(this.place.dataDir))?.running;
    if (server !== null && server !== undefined) await killProcess(server.process);
  }

  async clear(): Promise<void> {
    await this.killDaemon();
    await this.place.clear();
  }

  #begin(): Running {
    return this.place.begin([
      ...["up", "--jobs", JOBS, "--durability", this.#durability, "--json"],
      ...["--log-level", "warn"],
    ]);
  }

  async #welcome(running: Running): Promise<void> {
    const { url } = JSON.parse(running.stdout()) as { url: string };
    const login = ensureCredentials(serverFolder(this.place.dataDir)).roles.operator;
    const client = await connectClient({ url, login });
    const daemon = { running, client };
    this.#daemon = daemon;
    running.ended
      .then(async ({ stderr }) => {
        if (this.#daemon !== daemon) return; // It was killed.
        this.deaths.push(stderr.trim().split("\n").slice(-3).join("\n"));
        this.#daemon = null;
        await client.close();
        await this.up();
      })
      // Found by whoever waits for it: nothing settles any more.
      .catch((error: unknown) => this.deaths.push(String(error)));
  }
}

/** False: it ended first. */
async function comesUp(running: Running): Promise<boolean> {
  let hasEnded = false;
  void running.ended.then(() => {
    hasEnded = true;
  });
  await until(() => running.stdout().includes("\n") || hasEnded);
  return !hasEnded;
}
