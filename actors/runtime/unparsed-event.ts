/**
 * What the fold needs of events that it does not step (G2 of fold.ts), and that nobody has parsed.
 *
 * Owns: the few fields that kinship and journal time go by, looked at before they are believed. Does not own: the events'
 * schemas (machines/), what a live job's own fold finds in them.
 *
 * P1. Nothing here throws, whatever a log holds: an event that a chart would refuse must not keep an owner from starting.
 */
import type { ChartEvent } from "../../machines/engine/chart.ts";
import { jobChart } from "../../machines/job/chart.ts";
import type { Transition } from "../journal/codec.ts";

type Fields = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Fields => typeof value === "object" && value !== null;

const isTextOrNull = (value: unknown): boolean => value === null || typeof value === "string";

const isNamed = (value: unknown): value is { readonly id: string } =>
  isObject(value) && typeof value["id"] === "string";

/** The event in its present version, if kinship can go by it; null: it concerns nobody, or cannot be read. */
export function kindredEvent(job: string, { event, v }: Transition): ChartEvent | null {
  if (event.type !== "job.submitted" && event.type !== "job.dependencySettled") return null;
  const present = jobChart.upcast(event, v ?? 1);
  if (!isObject(present)) return null;
  const isSound =
    present["type"] === "job.submitted"
      ? isSpecOf(job, present["spec"])
      : present["type"] === "job.dependencySettled" && typeof present["dependency"] === "string";
  return isSound ? (present as Fields & ChartEvent) : null; // Its type was just looked at.
}

function isSpecOf(job: string, spec: unknown): boolean {
  return (
    isObject(spec) &&
    spec["id"] === job &&
    Array.isArray(spec["dependencies"]) &&
    spec["dependencies"].every(isNamed) &&
    isTextOrNull(spec["parent"]) &&
    isTextOrNull(spec["key"]) &&
    isObject(spec["metadata"])
  );
}

/** What the job waited for when it was submitted; empty where that cannot be read. */
export function dependenciesIn(
  job: string,
  transitions: readonly { readonly transition: Transition }[],
): readonly { readonly id: string }[] {
  for (const { transition } of transitions) {
    if (transition.event.type !== "job.submitted") continue;
    const event = kindredEvent(job, transition);
    if (event === null) return [];
    // Looked at just now: it is sound as to its dependencies.
    return (event as unknown as { spec: { dependencies: { id: string }[] } }).spec.dependencies;
  }
  return [];
}

/** The boot that an owner began on, if a record says so. */
export function bootIn(
  transitions: readonly Transition[],
): { readonly id: string; readonly uptimeMs: number } | null {
  for (const { event } of transitions) {
    if (event.type !== "dispatcher.taken") continue;
    const boot = "boot" in event ? event.boot : null;
    if (!isNamed(boot) || !("uptimeMs" in boot)) continue;
    const { id, uptimeMs } = boot;
    if (typeof uptimeMs === "number" && Number.isFinite(uptimeMs)) return { id, uptimeMs };
  }
  return null;
}
