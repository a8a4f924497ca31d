/**
 * The golden logs: one file a log, and beside it what it comes to.
 *
 * Owns: where they lie, reading them. Does not own: making them (make.ts, scenarios/).
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { StoredMessage } from "../../actors/journal/log.ts";
import { openLogFile } from "../../infra/verify/log-file.ts";
import { HURT } from "./scenarios/hurt.ts";
import { ORDINARY } from "./scenarios/ordinary.ts";
import { RELOADS } from "./scenarios/reloads.ts";
import type { Scenario } from "./scenarios/stage.ts";

/** The scenarios that the present version's golden logs come from. */
export const SCENARIOS: readonly Scenario[] = [...ORDINARY, ...RELOADS, ...HURT];

/** Folders of golden logs, one a version of the journal's format, the oldest first. */
export const VERSIONS = ["v1"] as const;
export const PRESENT_VERSION = "v1";

const LOG = ".log.jsonl";

export const folderOf = (version: string): string => join(import.meta.dirname, version);
export const logPath = (version: string, name: string): string =>
  join(folderOf(version), `${name}${LOG}`);
export const expectedPath = (version: string, name: string): string =>
  join(folderOf(version), `${name}.expected.json`);

export const namesOf = (version: string): readonly string[] =>
  readdirSync(folderOf(version))
    .filter((file) => file.endsWith(LOG))
    .map((file) => file.slice(0, -LOG.length))
    .sort();

export async function readGolden(version: string, name: string): Promise<readonly StoredMessage[]> {
  const log = await openLogFile(logPath(version, name));
  const messages: StoredMessage[] = [];
  await log.read({ from: 1 }, (message) => messages.push(message));
  return messages;
}

export const readExpected = (version: string, name: string): unknown =>
  JSON.parse(readFileSync(expectedPath(version, name), "utf8"));
