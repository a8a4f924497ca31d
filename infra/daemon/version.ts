/**
 * Which version of Holdfast this is.
 *
 * Owns: reading it from the package. Does not own: versions of anything else.
 */
import { dirname, join } from "node:path";
import { z } from "zod";
import { ConfigError } from "../../actors/errors.ts";
import { parseJson, readIfThere } from "../nats-server/folder.ts";

const packageSchema = z.object({ name: z.literal("holdfast"), version: z.string() });

/** How many folders above this file the package may stand: two from the sources, three from `dist/`. */
const FOLDERS_UP_MAX = 4;

let known: string | null = null;

/** Errors: ConfigError when the package's own file is not there. */
export function holdfastVersion(): string {
  known ??= readVersion();
  return known;
}

function readVersion(): string {
  let folder = import.meta.dirname;
  for (let up = 0; up <= FOLDERS_UP_MAX; up += 1) {
    const parsed = packageSchema.safeParse(
      parseJson(readIfThere(join(folder, "package.json")) ?? "null"),
    );
    if (parsed.success) return parsed.data.version;
    folder = dirname(folder);
  }
  throw new ConfigError(
    "package.json is missing from this installation of Holdfast: install it again",
    { details: { searchedFrom: import.meta.dirname } },
  );
}
