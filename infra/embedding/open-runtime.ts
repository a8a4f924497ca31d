/**
 * A runtime inside another service.
 *
 * Owns: opening one from definitions and a folder, and looking at its jobs without going over NATS. Does not own: coming up and
 * going down, which is the daemon's order whoever its host is (infra/daemon). The command line sees an embedded runtime like
 * any daemon: `holdfast status --data FOLDER`.
 */
import type { JobDefinition } from "../../actors/attempt/definition.ts";
import type { Durability } from "../../actors/journal/codec.ts";
import type { Runtime } from "../../actors/runtime/runtime.ts";
import { foldExecutionRecord } from "../../projections/execution-record/fold.ts";
import type { ExecutionRecord } from "../../projections/execution-record/schema.ts";
import { foldJobTree, type JobTree } from "../../projections/job-tree.ts";
import { type TrajectoryEntry, trajectoryOf } from "../../projections/trajectory.ts";
import { type DaemonEnd, startDaemon } from "../daemon/daemon.ts";
import type { ExternalServer } from "../daemon/server.ts";
import { type LogLevel, openLog } from "../logging/logger.ts";

export interface EmbeddingOptions {
  /** What it can run; a job of another type that the journal holds is blocked, not failed. */
  readonly jobs: readonly JobDefinition[];
  /** Folder for the server's store and the lock; one runtime at a time has it. Default: `.holdfast`. */
  readonly data?: string;
  /** Letters, digits, `_` and `-`; 1 … 64 of them. Default: "default". */
  readonly namespace?: string;
  /** Default: "fsync", which needs a nats-server ≥ 2.12. */
  readonly durability?: Durability;
  /** Default: an embedded server in the folder. */
  readonly nats?: ExternalServer;
  /**
   * Takes folder and partition at once from whoever has them; a former owner that lives is fenced, and ends by itself. Default:
   * false, which refuses where one lives.
   */
  readonly takeOver?: boolean;
  /** How long the partition's lease lives unless it is renewed, in ms: 500 … 600 000. Default: 10 000. */
  readonly leaseTtlMs?: number;
  /** Of the lines on stderr. Default: "warn". */
  readonly logLevel?: LogLevel;
}

export interface EmbeddedRuntime extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly url: string;
  /** What is known about one job, live or ended; null when there is none. */
  record(job: string): Promise<ExecutionRecord | null>;
  /** The tree that a job belongs to; null when there is no such job. */
  tree(job: string): Promise<JobTree | null>;
  /** The same, walked depth first in the order of execution. */
  trajectory(job: string): Promise<readonly TrajectoryEntry[] | null>;
  /** Settles when it is over, by `stop` or by itself. Never rejects. */
  readonly ended: Promise<DaemonEnd>;
  /** Detaches: what had not ended comes back at the next opening. Idempotent. */
  stop(): Promise<DaemonEnd>;
}

/** Errors: those of the daemon's start (config, ownership, external_service, journal, fenced, invalid_argument). */
export async function openRuntime(options: EmbeddingOptions): Promise<EmbeddedRuntime> {
  const { jobs, data = ".holdfast", logLevel = "warn", namespace, durability, nats } = options;
  const { takeOver, leaseTtlMs } = options;
  const daemon = await startDaemon({
    dataDir: data,
    jobs: [],
    definitions: jobs,
    log: openLog({ level: logLevel }),
    ...(namespace === undefined ? {} : { namespace }),
    ...(durability === undefined ? {} : { durability }),
    ...(nats === undefined ? {} : { nats }),
    ...(takeOver === undefined ? {} : { takeOver }),
    ...(leaseTtlMs === undefined ? {} : { leaseTtlMs }),
  });
  const { runtime } = daemon;
  const tree = async (job: string) => {
    const workflow = await runtime.workflowOf(job);
    return workflow === null ? null : foldJobTree(await runtime.recordsOf(workflow));
  };
  const stop = () => daemon.stop();
  return {
    runtime,
    url: daemon.url,
    record: async (job) => foldExecutionRecord(await runtime.recordsOfJob(job)),
    tree,
    trajectory: async (job) => {
      const found = await tree(job);
      return found === null ? null : trajectoryOf(found);
    },
    ended: daemon.ended,
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop();
    },
  };
}
