/**
 * Execution: the code of jobs, running.
 *
 * Owns: one attempt from the acknowledged `job.started` to its end. Does not own: when it may start, what its end means.
 *
 * U1. Code runs after its start is acknowledged, with the journaled input, under its own ambient context (CTX-6).
 * U2. An attempt ends once: with a result that parses and fits, or with a failure. Whatever it throws is recorded.
 */

import { invariant } from "../../machines/invariant.ts";
import type { JobOutcome } from "../../machines/job/chart.ts";
import type { Failure } from "../../machines/job/events.ts";
import type { Json } from "../../machines/json.ts";
import { InvalidArgumentError, toErrorRecord } from "../errors.ts";
import { errorOfOutcome } from "../jobs/outcome-error.ts";
import type { Ambient } from "../ports/ambient.ts";
import type { Cell } from "../turn/cell.ts";
import { Cancellation, CancellationSignal } from "./cancellation.ts";
import { ToolContext } from "./context.ts";
import type { JobDefinition, Registry } from "./definition.ts";
import { Dependencies, NO_DEPENDENCIES, type SettledDependency } from "./dependencies.ts";
import { DoerContext, type DoerPorts } from "./doer-context.ts";
import { freezeJson, toJson } from "./json-value.ts";

export type AttemptEnd =
  | { readonly kind: "completed"; readonly result: Json; readonly unasked: readonly string[] }
  | { readonly kind: "failed"; readonly failure: Failure };

export interface ExecutionPorts {
  readonly registry: Registry;
  readonly ambient: Ambient<ToolContext>;
  readonly doer: DoerPorts;
  /** Journal time, ms. */
  readonly now: () => number;
  /** How a dependency ended, from memory or the journal. */
  readonly outcomeOf: (
    dependency: { id: string; workflow: string },
    dependent: string,
  ) => Promise<JobOutcome>;
  readonly ended: (job: string, attempt: number, end: AttemptEnd) => void;
  /** A callback of a job threw: for people. */
  readonly complain: (job: string, error: unknown) => void;
  /** Keys of a doer's children that this attempt did not ask for. */
  readonly unaskedKeys: (job: string, asked: ReadonlySet<string>) => readonly string[];
}

interface Attempt {
  readonly number: number;
  readonly cancellation: Cancellation;
}

export class Executions {
  readonly #ports: ExecutionPorts;
  readonly #running = new Map<string, Attempt>();
  /** `<job>#<attempt>` of those whose job settled while their code still ran. */
  readonly #leaked = new Set<string>();

  constructor(ports: ExecutionPorts) {
    this.#ports = ports;
  }

  get runningCount(): number {
    return this.#running.size;
  }

  /** Attempts that were given up on and have not returned (TO-3). */
  get leakedCount(): number {
    return this.#leaked.size;
  }

  /** Starts the attempt that `job.started` named. */
  start(job: Cell<"job">): void {
    if (job.isFinal) return; // It ended before its start was acknowledged: there is nobody to run it for.
    const { spec, attempt, timeoutAt } = job.now.context;
    invariant(spec !== null, "U1: a started job has a spec");
    const definition = this.#ports.registry.get(spec.type);
    invariant(definition !== undefined, "U1: a started job has a definition", { type: spec.type });
    freezeJson(spec.input); // What a fold read is not frozen yet, and every attempt gets the same (U1).
    const cancellation = new Cancellation((error) => this.#ports.complain(spec.id, error));
    this.#running.set(spec.id, { number: attempt, cancellation });
    const remaining = () =>
      timeoutAt === null ? null : Math.max(0, timeoutAt - this.#ports.now());
    const options = { spec, attempt, cancellation, remaining, dependencies: NO_DEPENDENCIES };
    if (spec.dependencies.length === 0)
      void this.#run(definition, this.#contextOf(spec.kind, options));
    else void this.#runWithDependencies(definition, job, options);
  }

  /** Raises the cancel flag of the running attempt. */
  signal(job: string, reason: string, isTimeout: boolean): void {
    this.#running.get(job)?.cancellation.raise(reason, isTimeout);
  }

  /** The owner has ended: every attempt is told to stop, and what it still asks for is refused. */
  stop(reason: string): void {
    for (const { cancellation } of this.#running.values()) {
      cancellation.raise(reason, false);
      cancellation.close();
    }
  }

  /** The job has settled; code of it that still runs is leaked (TO-3). */
  giveUp(job: string): void {
    const attempt = this.#running.get(job);
    if (attempt === undefined) return;
    this.#running.delete(job);
    attempt.cancellation.close();
    this.#leaked.add(`${job}#${attempt.number}`);
  }

  #contextOf(
    kind: "tool" | "doer",
    options: ConstructorParameters<typeof ToolContext>[0],
  ): ToolContext {
    return kind === "doer" ? new DoerContext(options, this.#ports.doer) : new ToolContext(options);
  }

  async #runWithDependencies(
    definition: JobDefinition,
    job: Cell<"job">,
    options: ConstructorParameters<typeof ToolContext>[0],
  ): Promise<void> {
    let all: SettledDependency[];
    try {
      all = await Promise.all(
        options.spec.dependencies.map((dependency) => this.#settled(dependency, job.id)),
      );
    } catch (error) {
      return this.#end(options, { kind: "failed", failure: failureOf(error) });
    }
    // The owner may have ended, or the job been given up, while the ends were looked up: its code starts nothing any more.
    if (options.cancellation.isOver) {
      const reason = options.cancellation.reason ?? "the attempt is over";
      return this.#end(options, {
        kind: "failed",
        failure: failureOf(new CancellationSignal(reason)),
      });
    }
    return this.#run(
      definition,
      this.#contextOf(options.spec.kind, { ...options, dependencies: new Dependencies(all) }),
    );
  }

  async #settled(
    dependency: { id: string; workflow: string },
    dependent: string,
  ): Promise<SettledDependency> {
    const outcome = await this.#ports.outcomeOf(dependency, dependent);
    if (outcome.kind === "completed") return { ...dependency, result: outcome.result, error: null };
    return { ...dependency, result: null, error: errorOfOutcome(dependency.id, outcome) };
  }

  async #run(definition: JobDefinition, context: ToolContext): Promise<void> {
    let end: AttemptEnd;
    try {
      const output = await this.#ports.ambient.run(context, () =>
        definition.run(context, context.spec.input),
      );
      const parsed = definition.output.safeParse(output);
      if (!parsed.success) throw invalidOutput(definition.type, parsed.error);
      const result = toJson(parsed.data, `the result of job ${context.id}`);
      const unasked =
        context instanceof DoerContext
          ? this.#ports.unaskedKeys(context.id, context.askedKeys)
          : NOTHING;
      end = { kind: "completed", result, unasked };
    } catch (error) {
      end = { kind: "failed", failure: failureOf(error) };
    }
    this.#end({ spec: context.spec, attempt: context.attempt }, end);
  }

  #end({ spec, attempt }: { spec: { id: string }; attempt: number }, end: AttemptEnd): void {
    const running = this.#running.get(spec.id);
    if (running?.number === attempt) {
      running.cancellation.close();
      this.#running.delete(spec.id);
    } else this.#leaked.delete(`${spec.id}#${attempt}`);
    this.#ports.ended(spec.id, attempt, end);
  }
}

const NOTHING: readonly string[] = [];

const failureOf = (error: unknown): Failure => toErrorRecord(error) as Failure; // An error record of ours is a failure.

const invalidOutput = (
  type: string,
  error: { issues: readonly { path: PropertyKey[]; message: string }[] },
) =>
  new InvalidArgumentError(`The result of ${type} does not parse: ${faultsOf(error).join("; ")}.`, {
    details: { type, faults: faultsOf(error) },
  });

/** Every fault of a zod error with its path. */
export const faultsOf = (error: {
  issues: readonly { path: PropertyKey[]; message: string }[];
}): string[] =>
  error.issues.map(
    ({ path, message }) =>
      `${path.length === 0 ? "(value)" : path.map(String).join(".")}: ${message}`,
  );
