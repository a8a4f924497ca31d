/**
 * JSON as a type and as a schema: what events, inputs and results are made of.
 */
import { z } from "zod";

export type Json =
  | string
  | number
  | boolean
  | null
  | readonly Json[]
  | { readonly [key: string]: Json };

/** Accepts any JSON value; what a caller of the library hands in was made JSON at the door already. */
export const JsonSchema: z.ZodType<Json> = z.json();
