/**
 * What a doer's calls become: children, steps, waits.
 *
 * Owns: the `DoerPorts` of a runtime. Does not own: keys and ordinals (doer-context.ts), admission of a child (door.ts).
 */
import type { Json } from "../../machines/json.ts";
import { IllegalStateError } from "../errors.ts";
import type { Door } from "../jobs/door.ts";
import { assertNoSecret } from "../jobs/secret-names.ts";
import type { World } from "../runtime/world.ts";
import { CancellationSignal } from "./cancellation.ts";
import type { DoerContext, DoerPorts, WaitOptions } from "./doer-context.ts";

/** Results of `context.step` that one job keeps; each attempt has them all in memory. */
export const STEPS_MAX = 1_000;

export class DoerCalls implements DoerPorts {
  readonly #world: World;
  readonly #door: Door;
  /** By job and name. */
  readonly #waiting = new Map<string, Map<string, ((value: Json) => void)[]>>();

  constructor(world: World, door: Door) {
    this.#world = world;
    this.#door = door;
  }

  readonly digest = (text: string): string => this.#world.ids.digest(text);

  readonly recordedOrdinal = (parent: string, key: string): number | null | undefined =>
    this.#world.kinship.family(parent)?.children.get(key)?.ordinal;

  readonly ordinalMax = (parent: string): number =>
    this.#world.kinship.family(parent)?.ordinalMax ?? 0;

  readonly submitChild: DoerPorts["submitChild"] = (parent, ask) =>
    this.#door.submitChild(parent, ask);

  readonly recordedStep = (job: string, key: string): Json | undefined => {
    assertNoSecret(this.#world, key);
    const steps = this.#world.cells.task(job)?.job.now.context.steps;
    return steps !== undefined && Object.hasOwn(steps, key) ? steps[key] : undefined;
  };

  readonly recordStep = (context: DoerContext, key: string, value: Json): Promise<boolean> => {
    const cell = this.#world.cells.task(context.id)?.job;
    if (cell === undefined || context.isOver) return Promise.resolve(false);
    if (Object.keys(cell.now.context.steps).length >= STEPS_MAX) {
      throw new IllegalStateError(
        `The job ${context.id} has ${STEPS_MAX} steps, which is the most that one job keeps.`,
        {
          details: { job: context.id, stepsMax: STEPS_MAX },
        },
      );
    }
    return this.#world.answer(`step:${context.id}:${key}`, (turn) =>
      turn.apply(cell, { type: "job.stepRecorded", key, value }),
    );
  };

  readonly awaitAnswer = (
    context: DoerContext,
    name: string,
    options: Required<WaitOptions>,
  ): Promise<Json> => {
    assertNoSecret(this.#world, name);
    const cell = this.#world.cells.task(context.id)?.job;
    const answers = cell?.now.context.answers ?? {};
    if (Object.hasOwn(answers, name)) {
      const answer = answers[name] ?? null;
      // It may be staged only, and code that acts on it would run ahead of the log (T2).
      return this.#world.acknowledged().then(() => answer);
    }
    return new Promise((resolve, reject) => {
      context.onCancel(() => reject(new CancellationSignal(`while it waited for ${name}`)));
      const waits = this.#waiting.get(context.id) ?? new Map<string, ((value: Json) => void)[]>();
      this.#waiting.set(context.id, waits);
      waits.set(name, [...(waits.get(name) ?? []), resolve]);
      if (cell !== undefined) {
        this.#world.runTurn(`wait:${context.id}:${name}`, (turn) =>
          turn.apply(cell, {
            type: "job.waitDeclared",
            name,
            kind: options.kind,
            reason: options.reason,
          }),
        );
      }
    });
  };

  /** `do.answer`: the word is journaled; whoever waits for it goes on. */
  answered(job: string, name: string, value: Json): void {
    const waits = this.#waiting.get(job);
    for (const resolve of waits?.get(name) ?? []) resolve(value);
    waits?.delete(name);
  }

  /** The job has ended: nobody waits any more. */
  forget(job: string): void {
    this.#waiting.delete(job);
  }
}
