/**
 * Keeping the bucket of execution records: the newest record of each job, written behind the journal.
 *
 * Owns: going on where the bucket stands, folding what was acknowledged since, coalescing, going on after a failure. Does not
 * own: the fold (projections/execution-record), the bucket (infra/jetstream/records).
 *
 * W1. Nothing waits for it. It reads acknowledged records, a window at a time, with a round of the event loop between; a job that
 *     moved several times in a window is written once.
 * W2. The bucket is the journal's, whoever wrote it and however often: it can be deleted at any time, and is made again.
 * W3. A failure is told once, and the work goes on from where the bucket then stands, until `close`.
 */
import type { Logger } from "pino";
import type { ReadRecord } from "../../actors/journal/reader.ts";
import type { Runtime } from "../../actors/runtime/runtime.ts";
import { applyRecord, emptyRecord } from "../../projections/execution-record/fold.ts";
import type { ExecutionRecord } from "../../projections/execution-record/schema.ts";
import { taskOf } from "../../projections/journaled-move.ts";
import { recordKey } from "../jetstream/records/bucket.ts";
import type { RecordStore, Standing } from "../jetstream/records/record-store.ts";
import { errorFields } from "../logging/notices.ts";

/** Journal positions of one round: a few ms of folding. */
const WINDOW = 256;
/** Between two looks at what was acknowledged, ms. */
const LOOK_EVERY_MS = 20;
/** After a failure, ms. */
const RETRY_MS = 500;
/** Live records kept between rounds, 2 to 6 KB each as a rule; another is folded anew. */
const KEPT_MAX = 1_000;

type Source = Pick<Runtime, "health" | "readTasks">;

export class RecordKeeper {
  readonly #source: Source;
  readonly #store: RecordStore;
  readonly #logger: Logger;
  /** By subject; the least lately moved first. */
  readonly #kept = new Map<string, ExecutionRecord>();
  /** Null: look at the bucket. */
  #standing: Standing | null = null;
  #isFailing = false;
  #isClosed = false;
  #wake: () => void = () => {};
  readonly #done: Promise<void>;

  constructor(source: Source, store: RecordStore, logger: Logger) {
    this.#source = source;
    this.#store = store;
    this.#logger = logger;
    this.#done = this.#run();
  }

  /** Ends the work after the round that it is in. Idempotent; never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#wake();
    await this.#done;
    await this.#store.close();
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      try {
        const isBehind = await this.#round();
        this.#isFailing = false;
        await this.#pause(isBehind ? 0 : LOOK_EVERY_MS);
      } catch (error) {
        this.#standing = null;
        this.#kept.clear();
        if (!this.#isFailing && !this.#isClosed) {
          this.#logger.warn(errorFields(error), "the bucket of records is behind");
        }
        this.#isFailing = true;
        await this.#pause(RETRY_MS);
      }
    }
  }

  /** Whether more is there than it took. */
  async #round(): Promise<boolean> {
    const newest = this.#source.health().acknowledged;
    this.#standing ??= await this.#look(newest);
    const { sequence, through: last } = this.#standing;
    if (newest <= last) return false;
    const through = Math.min(newest, last + WINDOW);
    const moved = await this.#fold(last + 1, through);
    const values = moved.map((record) => ({
      key: recordKey(record.identity.taskId),
      value: JSON.stringify(record),
    }));
    const after = values.length === 0 ? sequence : await this.#store.write(values, this.#standing);
    this.#standing = { sequence: after, through };
    return through < newest;
  }

  /** A journal that is shorter than the bucket (a restored backup) is folded from its beginning. */
  async #look(newest: number): Promise<Standing> {
    const { sequence, through } = await this.#store.standing();
    return { sequence, through: through > newest ? 0 : through };
  }

  /** Records that moved from position `from` to `through`. */
  async #fold(from: number, through: number): Promise<readonly ExecutionRecord[]> {
    const reads = await this.#source.readTasks({ from, through });
    await this.#recall(reads, from);
    const moved = new Map<string, ExecutionRecord>();
    for (const read of reads) {
      const record = this.#apply(read);
      if (record !== null) moved.set(read.subject, record);
    }
    for (const [subject, record] of moved) if (record.outcome !== null) this.#kept.delete(subject);
    for (const subject of this.#kept.keys()) {
      if (this.#kept.size <= KEPT_MAX) break;
      this.#kept.delete(subject);
    }
    return [...moved.values()];
  }

  /** Folds what those jobs did before, where it is not kept. */
  async #recall(reads: readonly ReadRecord[], from: number): Promise<void> {
    const unknown = new Map<string, { readonly workflow: string; readonly job: string }>();
    for (const { subject } of reads) {
      const task = this.#kept.has(subject) ? null : taskOf(subject);
      if (task !== null) unknown.set(subject, task);
    }
    if (unknown.size === 0) return;
    const tasks = [...unknown.values()];
    for (const read of await this.#source.readTasks({ from: 1, through: from - 1, tasks })) {
      this.#apply(read);
    }
  }

  #apply(read: ReadRecord): ExecutionRecord | null {
    const task = taskOf(read.subject);
    if (task === null) return null;
    const known = this.#kept.get(read.subject);
    const record = known ?? emptyRecord({ taskId: task.job, workflow: task.workflow });
    const next = applyRecord(record, read);
    this.#kept.delete(read.subject);
    this.#kept.set(read.subject, next);
    return next;
  }

  #pause(ms: number): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
