/**
 * Jobs that the fold set aside: they are there, nobody drives them, and whoever asks for one is told so.
 *
 * Does not own: setting aside (actors/runtime/fold.ts).
 */
import { type HoldfastError, IllegalStateError } from "../errors.ts";
import type { World } from "../runtime/world.ts";

/** Undefined: it is not set aside. */
export function asideError(
  { setAside }: Pick<World, "setAside">,
  job: string,
): HoldfastError | undefined {
  const finding = setAside.get(job);
  if (finding === undefined) return undefined;
  const { position, reason } = finding;
  return new IllegalStateError(`The job ${job} is set aside: at position ${position}, ${reason}.`, {
    details: { job, position, reason },
  });
}
