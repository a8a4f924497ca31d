/**
 * Makes the golden logs of the present version, and writes down what they come to.
 *
 *     npx tsx test/compat/make.ts                 what is missing
 *     npx tsx test/compat/make.ts --expected      what all of them come to, anew
 *     npx tsx test/compat/make.ts --all           everything anew
 *
 * A golden log is what some version once wrote: it is made once and then left alone. What it comes to changes only where a
 * projection says more than before; look at the difference before you keep it.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exportLog } from "../../infra/verify/log-file.ts";
import { copyLog } from "../support/runtime.ts";
import { asJson, expectedOf } from "./expected.ts";
import {
  expectedPath,
  folderOf,
  logPath,
  PRESENT_VERSION,
  readGolden,
  SCENARIOS,
} from "./golden.ts";
import type { Messages } from "./planting.ts";
import type { Scenario } from "./scenarios/stage.ts";

const isAll = process.argv.includes("--all");
const isExpected = isAll || process.argv.includes("--expected");

async function make({ name, make: run }: Scenario): Promise<void> {
  const path = logPath(PRESENT_VERSION, name);
  if (isAll || !existsSync(path)) await write(await run(), path);
  const expected = expectedPath(PRESENT_VERSION, name);
  if (!isExpected && existsSync(expected)) return;
  const messages = await readGolden(PRESENT_VERSION, name);
  writeFileSync(expected, `${JSON.stringify(asJson(expectedOf(messages)), null, 2)}\n`);
}

async function write(messages: Messages, path: string): Promise<void> {
  const log = await copyLog(messages);
  await exportLog(log, path);
}

mkdirSync(folderOf(PRESENT_VERSION), { recursive: true });
for (const scenario of SCENARIOS) await make(scenario);
// The house's own form, so that a check of the tree finds nothing to change in them.
const biome = join(import.meta.dirname, "../../node_modules/.bin/biome");
execFileSync(biome, ["format", "--write", folderOf(PRESENT_VERSION)], { stdio: "inherit" });
