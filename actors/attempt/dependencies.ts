/**
 * What a job's dependencies left it.
 *
 * Owns: the view of results and failures, in declaration order (ATT-1). Does not own: waiting for them.
 */
import type { Json } from "../../machines/json.ts";
import { type HoldfastError, IllegalStateError } from "../errors.ts";

export interface SettledDependency {
  readonly id: string;
  readonly workflow: string;
  /** Null when it did not complete. */
  readonly result: Json;
  /** Null when it completed. */
  readonly error: HoldfastError | null;
}

export class Dependencies {
  readonly all: readonly SettledDependency[];

  constructor(all: readonly SettledDependency[]) {
    this.all = all;
  }

  /** The result of one, null when it did not complete. Errors: IllegalStateError for an id that is no dependency. */
  result(id: string): Json {
    const found = this.all.find((dependency) => dependency.id === id);
    if (found !== undefined) return found.result;
    const ids = this.all.map((dependency) => dependency.id);
    throw new IllegalStateError(
      `${id} is no dependency of this job; it has ${ids.length === 0 ? "none" : ids.join(", ")}.`,
      {
        details: { id, dependencies: ids },
      },
    );
  }

  /** The result of the only one. Errors: IllegalStateError when there are none or several. */
  singleResult(): Json {
    const [only, ...more] = this.all;
    if (only !== undefined && more.length === 0) return only.result;
    throw new IllegalStateError(`This job has ${this.all.length} dependencies, not one.`, {
      details: { dependencies: this.all.length },
    });
  }

  /** What failed, of a job that tolerates failures. */
  errors(): readonly { readonly id: string; readonly error: HoldfastError }[] {
    return this.all.flatMap(({ id, error }) => (error === null ? [] : [{ id, error }]));
  }
}

export const NO_DEPENDENCIES = new Dependencies([]);
