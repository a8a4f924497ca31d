/**
 * Kinship: who waits for whom, and whose child is whose, among the jobs that are live.
 *
 * Owns: two indexes that follow from the transitions alone; the live runtime and a boot's fold keep them by the same calls.
 * Does not own: deciding anything by them (routes, door, recovery).
 *
 * B1. A family lives as long as its parent; a finished child stays in it, as a key, an id and an ordinal.
 * B2. A dependent is listed while its dependency has not been settled for it.
 */
import type { ChartEvent } from "../../machines/engine/chart.ts";
import type { JobEvent } from "../../machines/job/events.ts";
import { type JobSpec, ordinalOf } from "../../machines/job/spec.ts";

export interface Child {
  readonly id: string;
  readonly ordinal: number | null;
  readonly digest: string | null;
}

export interface Family {
  /** By key. */
  readonly children: Map<string, Child>;
  /** Of the children that have not ended. */
  readonly live: Set<string>;
  /** Highest ordinal that was ever given out; 0 before the first. */
  ordinalMax: number;
}

type Submitted = Extract<JobEvent, { type: "job.submitted" }>;
type Settled = Extract<JobEvent, { type: "job.dependencySettled" }>;

export class Kinship {
  readonly #families = new Map<string, Family>();
  readonly #dependents = new Map<string, Set<string>>();
  readonly #parentOf = new Map<string, string>();

  family(parent: string): Family | undefined {
    return this.#families.get(parent);
  }

  /** Jobs that wait for this one, in the order in which they were submitted. */
  dependents(job: string): ReadonlySet<string> | undefined {
    return this.#dependents.get(job);
  }

  /** Takes one transition of a job into account. */
  moved(job: string, event: ChartEvent): void {
    switch (event.type) {
      // In both the type names the shape.
      case "job.submitted":
        return this.#submitted((event as Submitted).spec); // See above.
      case "job.dependencySettled":
        return this.#settled((event as Settled).dependency, job); // See above.
      default:
    }
  }

  /** The job's end: it waits for nothing any more, and it is nobody's live child. */
  ended(job: string, dependencies: readonly { readonly id: string }[]): void {
    for (const { id } of dependencies) this.#settled(id, job);
    const parent = this.#parentOf.get(job);
    if (parent === undefined) return;
    this.#parentOf.delete(job);
    this.#families.get(parent)?.live.delete(job);
  }

  /** Forgets a parent's family, when the parent itself leaves memory. */
  dissolve(parent: string): void {
    this.#families.delete(parent);
  }

  #submitted(spec: JobSpec): void {
    for (const { id } of spec.dependencies) {
      const waiting = this.#dependents.get(id);
      if (waiting === undefined) this.#dependents.set(id, new Set([spec.id]));
      else waiting.add(spec.id);
    }
    if (spec.parent === null || spec.key === null) return;
    const family = this.#families.get(spec.parent) ?? {
      children: new Map(),
      live: new Set(),
      ordinalMax: 0,
    };
    this.#families.set(spec.parent, family);
    const ordinal = ordinalOf(spec);
    family.children.set(spec.key, { id: spec.id, ordinal, digest: spec.digest });
    family.live.add(spec.id);
    family.ordinalMax = Math.max(family.ordinalMax, ordinal ?? 0);
    this.#parentOf.set(spec.id, spec.parent);
  }

  #settled(dependency: string, job: string): void {
    const waiting = this.#dependents.get(dependency);
    if (waiting === undefined) return;
    waiting.delete(job);
    if (waiting.size === 0) this.#dependents.delete(dependency);
  }
}
