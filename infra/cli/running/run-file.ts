/**
 * The file that `holdfast run` is given.
 *
 * Owns: reading it as a submission. Does not own: submitting.
 *
 * A `.json` file holds a submission as `cmd.submit` takes it: {"type": …, "input": …, "id": …, …}.
 * A `.js` or `.mjs` module has one as its default export, where `definition` may stand for `type`: the definition is the one
 * that a job module of the daemon exports, so that type and input cannot drift apart.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { SubmitRequest } from "../../api/contract/requests.ts";
import { checkRequest } from "../../api/request-body.ts";
import { isJobDefinition } from "../../daemon/job-modules.ts";
import { reasonOf } from "../../nats-server/folder.ts";
import { UsageError } from "../line/usage-error.ts";

/** Errors: UsageError (no such file, no JSON, no default export), InvalidArgumentError naming every fault. */
export async function readRunFile(path: string): Promise<SubmitRequest> {
  const value = path.endsWith(".json") ? readJsonFile(path) : await readModule(path);
  const { wait: _, ...request } = checkRequest(value, SubmitRequest);
  return request;
}

export function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`The file ${path} cannot be read: ${reasonOf(error)}.`, {
      cause: error,
      details: { path },
    });
  }
}

export function parseJsonText(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(
      `${what} is not JSON: ${error instanceof Error ? error.message : error}.`,
      {
        cause: error,
        details: { what },
      },
    );
  }
}

const readJsonFile = (path: string): unknown => parseJsonText(readText(path), path);

async function readModule(path: string): Promise<unknown> {
  if (!/\.[cm]?js$/.test(path)) {
    throw new UsageError(
      `holdfast run takes a .json file or a .js or .mjs module, found ${path}. See: holdfast run --help`,
      { details: { path } },
    );
  }
  readText(path);
  let exports: Readonly<Record<string, unknown>>;
  try {
    exports = await import(pathToFileURL(resolve(path)).href);
  } catch (error) {
    throw new UsageError(
      `The module ${path} cannot be loaded: ${error instanceof Error ? error.message : error}.`,
      { cause: error, details: { path } },
    );
  }
  return submissionOf(exports["default"], path);
}

function submissionOf(value: unknown, path: string): unknown {
  if (typeof value !== "object" || value === null) {
    throw new UsageError(
      `The module ${path} has no default export { definition, input } or { type, input }.`,
      { details: { path } },
    );
  }
  if (!("definition" in value)) return value;
  const { definition, ...rest } = value;
  if (isJobDefinition(definition)) return { type: definition.type, ...rest };
  throw new UsageError(
    `In ${path} \`definition\` is no job definition: give what defineTool or defineDoer returned.`,
    { details: { path } },
  );
}
