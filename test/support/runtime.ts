/**
 * A runtime in memory, for tests: the real one on the memory log, with simulated time, ids that are the same in every run,
 * and a real asynchronous context.
 *
 * Owns: starting it, starting it again on the same log (which fences the one before), holding back what the log answers.
 * Does not own: jobs to run (workshop.ts), folding a log beside it (fold.ts).
 */
import type { JobDefinition } from "../../actors/attempt/definition.ts";
import type { JobHandle } from "../../actors/jobs/handle.ts";
import type { Transition } from "../../actors/journal/codec.ts";
import { decodeBody } from "../../actors/journal/codec.ts";
import { type Frame, parseFrame } from "../../actors/journal/frame.ts";
import type { StoredMessage } from "../../actors/journal/log.ts";
import type { Ids } from "../../actors/ports/ids.ts";
import { Runtime, worldOf } from "../../actors/runtime/runtime.ts";
import type { StoreBound } from "../../actors/runtime/space.ts";
import type { Notice } from "../../actors/runtime/world.ts";
import { MemoryLog } from "../../infra/memory/log.ts";
import { SimulatedClock, SimulatedMachine } from "../../infra/simulated/clock.ts";
import { jobAmbient } from "../../infra/system/ambient.ts";
import { systemIds } from "../../infra/system/ids.ts";
import type { JobContext } from "../../machines/job/chart.ts";

export const PREFIX = "hf.test.evt.0.1.";

/** Ids that count: the same run mints the same ones. Those of two lives on one log differ. */
function countingIds(life: number): Ids {
  let count = 0;
  const next = (): string => {
    count += 1;
    return `${String(life).padStart(8, "0")}${String(count).padStart(12, "0")}`;
  };
  const { digest } = systemIds();
  return { ulid: () => `01TEST${next()}`, writerId: () => digest(`writer ${next()}`), digest };
}

/** Everything that is not waiting for time or for a held answer has happened when this resolves. */
export const flush = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** What a store would send back, let through or held. */
export class AnswerGate {
  #held: (() => void)[] | null = null;

  readonly schedule = (task: () => void): void => {
    if (this.#held === null) queueMicrotask(task);
    else this.#held.push(task);
  };

  hold(): void {
    this.#held ??= [];
  }

  get heldCount(): number {
    return this.#held?.length ?? 0;
  }

  /** Lets the first `count` through; whatever comes after them stays held. */
  letThrough(count: number): void {
    for (const task of this.#held?.splice(0, count) ?? []) queueMicrotask(task);
  }

  /** Forgets what is held: whom it was for has died. */
  drop(): void {
    this.#held = null;
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const task of held) queueMicrotask(task);
  }
}

export interface TestRuntimeOptions {
  readonly definitions: readonly JobDefinition[];
  readonly secrets?: readonly string[];
  /** Default: an empty one. */
  readonly log?: MemoryLog;
  /** Default: nobody can say. */
  readonly bounds?: () => Promise<readonly StoreBound[]>;
}

export class TestRuntime {
  readonly machine = new SimulatedMachine();
  readonly answers: AnswerGate;
  readonly log: MemoryLog;
  readonly #bounds: TestRuntimeOptions["bounds"];
  /** Of every life. */
  readonly notices: Notice[] = [];
  #definitions: readonly JobDefinition[];
  #secrets: readonly string[];
  #runtime: Runtime | null = null;
  #lives = 0;

  private constructor(options: TestRuntimeOptions, answers: AnswerGate, log: MemoryLog) {
    this.#definitions = options.definitions;
    this.#secrets = options.secrets ?? [];
    this.#bounds = options.bounds;
    this.answers = answers;
    this.log = log;
  }

  static async start(options: TestRuntimeOptions): Promise<TestRuntime> {
    const answers = new AnswerGate();
    const log = options.log ?? new MemoryLog({ schedule: answers.schedule });
    const test = new TestRuntime(options, answers, log);
    await test.restart();
    return test;
  }

  get runtime(): Runtime {
    if (this.#runtime === null) throw new Error("no runtime was started");
    return this.#runtime;
  }

  /** Starts another runtime on the same log; the one before is fenced by it, as after a crash nobody cleaned up after. */
  async restart(
    options: Partial<Pick<TestRuntimeOptions, "definitions" | "secrets">> = {},
  ): Promise<Runtime> {
    this.#definitions = options.definitions ?? this.#definitions;
    this.#secrets = options.secrets ?? this.#secrets;
    this.#lives += 1;
    this.#runtime = await Runtime.start({
      log: this.log.reopen(),
      clock: new SimulatedClock(this.machine),
      ids: countingIds(this.log.messages.length),
      ambient: jobAmbient,
      definitions: this.#definitions,
      prefix: PREFIX,
      owner: `test-${this.#lives}`,
      durability: "process",
      secrets: this.#secrets,
      ...(this.#bounds === undefined ? {} : { bounds: this.#bounds }),
      onNotice: (notice) => this.notices.push(notice),
    });
    await flush();
    return this.#runtime;
  }

  /** Everything that is not waiting for time or for a held answer has happened when this resolves. */
  settle(): Promise<void> {
    return flush();
  }

  /** Lets time pass, and everything that follows from it happen. */
  async advance(ms: number): Promise<void> {
    await this.machine.time.advance(ms);
    await flush();
  }

  /** Transitions of the log, in order, whoever made them: `job:` and `liveness:` of one job, or all. */
  transitions(actor?: string): readonly Transition[] {
    const all = transitionsIn(this.log.messages);
    return actor === undefined ? all : all.filter((transition) => transition.actor === actor);
  }

  /** Event types of a job, in order. */
  history(job: string): readonly string[] {
    return this.transitions(`job:${job}`).map(({ event }) => event.type.replace("job.", ""));
  }

  /** States a job's liveness record went through, the first one included. */
  states(job: string): readonly string[] {
    const moves = this.transitions(`liveness:${job}`);
    return [moves[0]?.from ?? "(none)", ...moves.filter((m) => m.from !== m.to).map((m) => m.to)];
  }

  /** Event types of the dispatcher, in order. */
  stateOfLog(): readonly string[] {
    return this.transitions("dispatcher:").map(({ event }) =>
      event.type.replace("dispatcher.", ""),
    );
  }

  /** Where a live job stands; null when it is not in memory. */
  stateOf(job: string): string | null {
    return worldOf(this.runtime).cells.task(job)?.job.state.value ?? null;
  }

  contextOf(job: string): JobContext {
    const cells = worldOf(this.runtime).cells.task(job);
    if (cells === undefined) throw new Error(`${job} is not live`);
    return cells.job.now.context;
  }

  /** Faults that anybody was told of. */
  faults(): readonly Notice[] {
    return this.notices.filter(({ kind }) => kind === "fault" || kind === "found");
  }
}

export function transitionsIn(messages: readonly StoredMessage[]): readonly Transition[] {
  return messages.flatMap(({ body }) => {
    const decoded = decodeBody(body);
    return decoded.kind === "record" ? decoded.body.transitions : [];
  });
}

/** Another log with the same messages: what is left of it after a crash that lost the rest. */
export async function copyLog(messages: readonly StoredMessage[]): Promise<MemoryLog> {
  const log = new MemoryLog();
  const appender = await log.openAppender({
    onAnswer: () => undefined,
    onDisconnect: () => undefined,
  });
  for (const { subject, id, frame, body } of messages)
    appender.publish({ subject, id, frame, body }, 1);
  await appender.close();
  return log;
}

/** Where a log may end without losing half a group: after a fence, and after the last message of each group. */
export function wholePrefixes(messages: readonly StoredMessage[]): readonly number[] {
  return messages.flatMap(({ frame, sequence }) => {
    const parsed: Frame | null = parseFrame(frame);
    return parsed !== null && (parsed.index === 0 || parsed.part === parsed.parts)
      ? [sequence]
      : [];
  });
}

/** The text of everything stored: subjects, ids, frames and bodies. */
export function textOf(messages: readonly StoredMessage[]): string {
  const decoder = new TextDecoder();
  return messages
    .map(({ subject, id, frame, body }) => `${subject}\n${id}\n${frame}\n${decoder.decode(body)}`)
    .join("\n");
}

/** How a handle stands: pending, completed with what, or the code of the failure itself. */
export function standingOf(handle: JobHandle<unknown>): string {
  const { settlement } = handle;
  if (settlement === null) return "pending";
  if (settlement.kind === "completed") return `completed ${JSON.stringify(settlement.result)}`;
  return codeOf(settlement.error.cause);
}

export const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : String(error);

/** The failure itself: what `result()` rejected with has it as cause. */
export async function failureOf(handle: JobHandle<unknown>): Promise<Error & { code: string }> {
  try {
    await handle.result();
  } catch (error) {
    const { cause } = error as Error;
    if (cause instanceof Error && "code" in cause) return cause as Error & { code: string };
    throw error;
  }
  throw new Error(`${handle.id} completed`);
}
