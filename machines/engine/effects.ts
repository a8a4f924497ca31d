/**
 * Effects as both engines make them.
 *
 * Owns: the shared empty list and the empty params, so that a step without effects allocates none. Does not own: which effects
 * a step has (table/, scope.ts).
 */

import { invariant } from "../invariant.ts";
import type { Effect } from "./chart.ts";
import { fieldsOf } from "./lint/outline.ts";

export const NO_EFFECTS: readonly Effect[] = Object.freeze([]);

const NO_PARAMS: Effect["params"] = Object.freeze({});

/** What an effect carries, as both engines hand it on: nothing becomes the empty object. Throws for what has no fields. */
export function paramsOf(params: unknown): Effect["params"] {
  if (params === undefined) return NO_PARAMS;
  const fields = fieldsOf(params);
  invariant(fields !== undefined, "K3: the params of an effect are an object", { params });
  return fields;
}
