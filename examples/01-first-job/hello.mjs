// @ts-check
/** The first job: a tool with one line of work in it. README.md says how to run it. */
import { defineTool } from "holdfast";
import { z } from "zod";

export const hello = defineTool({
  type: "hello",
  input: z.object({ name: z.string() }),
  output: z.object({ greeting: z.string() }),
  run: (_context, { name }) => ({ greeting: `Hello, ${name}!` }),
});
