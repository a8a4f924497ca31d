/**
 * Waiting with a bound.
 *
 * Owns: the timer, which never outlives the wait. Does not own: what becomes of the work when the time is over: it goes on,
 * and nobody looks at it any more.
 */

/** Whether `work` was done in time. Rejects when it fails in time; what fails later is passed over. */
export async function isDoneWithin(work: Promise<unknown>, waitMs: number): Promise<boolean> {
  return (
    (await orNullWithin(
      work.then(() => true),
      waitMs,
    )) ?? false
  );
}

/** What `work` gives, or null when the time is over. Rejects when it fails in time; what fails later is passed over. */
export function orNullWithin<Result>(
  work: Promise<Result>,
  waitMs: number,
): Promise<Result | null> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(null), waitMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
