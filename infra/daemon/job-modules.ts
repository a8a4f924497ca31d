/**
 * Job modules: the files whose exports a daemon runs.
 *
 * Owns: loading them, finding the definitions among their exports, telling every fault of every file at once. Does not own:
 * what a definition is (actors/attempt/definition.ts).
 *
 * J1. Modules are loaded before anything is taken: a fault in one of them leaves the partition to whoever has it.
 * J2. A definition is known by its shape, not by its class: a module may have been built against another copy of this package.
 * J3. Every export that is a definition, or a list of them, is taken; the same definition exported twice is one.
 */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { JobDefinition } from "../../actors/attempt/definition.ts";
import { ConfigError } from "../../actors/errors.ts";
import { RetryClass } from "../../machines/job/spec.ts";
import { isDoneWithin } from "../system/bounded-wait.ts";

/** How long a module may take to load, ms: one that waits for ever at its top would hold up the daemon silently. */
const LOAD_WAIT_MS = 30_000;
const MESSAGE_LENGTH_MAX = 400;

interface Found {
  readonly definition: JobDefinition;
  /** `file, export name`, for faults. */
  readonly place: string;
}

interface ModuleFault {
  readonly file: string;
  readonly reason: string;
}

/**
 * The definitions of all modules, in the order of the files and of their exports' names.
 * Errors: ConfigError, `details.faults` lists each as {file, reason}.
 */
export async function loadJobModules(files: readonly string[]): Promise<readonly JobDefinition[]> {
  const faults: ModuleFault[] = [];
  const byType = new Map<string, Found>();
  for (const file of new Set(files.map((name) => resolve(name)))) {
    const loaded = await loadModule(file);
    if ("reason" in loaded) {
      faults.push(loaded);
      continue;
    }
    const { found, wrong } = definitionsIn(file, loaded.exports);
    faults.push(...wrong);
    if (found.length === 0 && wrong.length === 0) faults.push({ file, reason: NOTHING_EXPORTED });
    for (const one of found) {
      const known = byType.get(one.definition.type);
      if (known !== undefined && known.definition !== one.definition) {
        faults.push({ file, reason: typeTwice(one, known) });
      }
      byType.set(one.definition.type, known ?? one);
    }
  }
  if (faults.length > 0) throw moduleError(faults);
  return [...byType.values()].map(({ definition }) => definition);
}

const NOTHING_EXPORTED =
  "it exports no job definition: export what defineTool or defineDoer returned, by name or as default";

const typeTwice = (one: Found, known: Found): string =>
  `its ${one.place} has the type ${JSON.stringify(one.definition.type)}, and so has ${known.place}: two definitions, one type`;

const moduleError = (faults: readonly ModuleFault[]): ConfigError =>
  new ConfigError(
    `The job modules cannot be used. ${faults.map(({ file, reason }) => `${file}: ${reason}`).join(". ")}.`,
    { details: { faults } },
  );

type Loaded = { readonly exports: Readonly<Record<string, unknown>> } | ModuleFault;

async function loadModule(file: string): Promise<Loaded> {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) {
    return { file, reason: "there is no such file" };
  }
  try {
    const loading: Promise<Readonly<Record<string, unknown>>> = import(pathToFileURL(file).href);
    if (await isDoneWithin(loading, LOAD_WAIT_MS)) return { exports: await loading };
    return {
      file,
      reason: `it was not loaded within ${LOAD_WAIT_MS} ms: its top waits for something`,
    };
  } catch (error) {
    return { file, reason: `it cannot be loaded: ${textOf(error)}` };
  }
}

function textOf(error: unknown): string {
  if (!(error instanceof Error)) return `it threw ${String(error)}`.slice(0, MESSAGE_LENGTH_MAX);
  // Of a syntax error only the stack says where it stands: its first line is the place.
  const place = error instanceof SyntaxError ? ` (${error.stack?.split("\n")[0] ?? ""})` : "";
  return `${error.name}: ${error.message}${place}`.slice(0, MESSAGE_LENGTH_MAX);
}

function definitionsIn(
  file: string,
  exports: Readonly<Record<string, unknown>>,
): { readonly found: readonly Found[]; readonly wrong: readonly ModuleFault[] } {
  const found: Found[] = [];
  const wrong: ModuleFault[] = [];
  const judge = (value: unknown, name: string): void => {
    if (isJobDefinition(value)) found.push({ definition: value, place: `${file}, ${name}` });
    else if (isNearly(value)) wrong.push({ file, reason: `its ${name} ${NEARLY}` });
  };
  for (const [name, value] of Object.entries(exports)) {
    if (!Array.isArray(value)) judge(value, `export ${name}`);
    else for (const [index, item] of value.entries()) judge(item, `export ${name}[${index}]`);
  }
  return { found, wrong };
}

const NEARLY = "looks like a job definition, but was not made by defineTool or defineDoer";

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null;

const isSchema = (value: unknown): boolean =>
  isObject(value) && typeof value["safeParse"] === "function";

/** J2. */
export function isJobDefinition(value: unknown): value is JobDefinition {
  if (!isObject(value)) return false;
  const { kind, type, input, output, timeoutMs, retryClass, retryBudget, run } = value;
  return (
    (kind === "tool" || kind === "doer") &&
    typeof type === "string" &&
    isSchema(input) &&
    isSchema(output) &&
    (timeoutMs === null || typeof timeoutMs === "number") &&
    RetryClass.safeParse(retryClass).success &&
    Number.isInteger(retryBudget) &&
    typeof run === "function"
  );
}

const isNearly = (value: unknown): boolean =>
  isObject(value) && typeof value["type"] === "string" && typeof value["run"] === "function";
