/**
 * What one check of `holdfast doctor` found.
 *
 * Owns: the shape, which is also that of `doctor --json`. Does not own: the checks.
 */

export interface Finding {
  /** What was looked at, in a word or two. */
  readonly name: string;
  /** warn: it works, or it is no fault yet. fail: a daemon cannot come up, or cannot go on. */
  readonly status: "ok" | "warn" | "fail";
  /** What was found, a phrase. */
  readonly detail: string;
  /** What to do; null where nothing is. */
  readonly advice: string | null;
}

export const ok = (name: string, detail: string): Finding => ({
  name,
  status: "ok",
  detail,
  advice: null,
});

export const warn = (name: string, detail: string, advice: string | null): Finding => ({
  name,
  status: "warn",
  detail,
  advice,
});

export const fail = (name: string, detail: string, advice: string): Finding => ({
  name,
  status: "fail",
  detail,
  advice,
});
