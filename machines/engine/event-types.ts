/**
 * The event types of a chart, read from its schema.
 *
 * Owns: the one place that looks inside a zod schema. Does not own: what a type may be called (lint/).
 */

import { z } from "zod";

/** In the order of the schema. Throws TypeError for a schema that is not a discriminated union on `type` over literals. */
export function eventTypesOf(events: unknown): readonly string[] {
  const types = [...readTypes(events)];
  const repeated = types.find((type, index) => types.indexOf(type) !== index);
  if (repeated !== undefined)
    throw new TypeError(`events: two have the type ${JSON.stringify(repeated)}`);
  return types;
}

function* readTypes(schema: unknown): Generator<string> {
  if (schema instanceof z.ZodDiscriminatedUnion) {
    for (const option of schema.options) yield* readTypes(option);
    return;
  }
  const type = schema instanceof z.ZodObject ? schema.shape["type"] : undefined;
  const values = type instanceof z.ZodLiteral ? [...type.values] : [];
  if (values.length === 0) {
    throw new TypeError(
      'events: must be z.discriminatedUnion("type", […]) of z.object with a literal `type`',
    );
  }
  for (const value of values) {
    if (typeof value !== "string") throw new TypeError("events: `type` must be a string literal");
    yield value;
  }
}
