// @ts-check
/**
 * Copies the ids of the contract's rules to test/support/contract-rules.json, so that the tests know them in a clone that
 * stands alone. Where the contract is not beside the project there is nothing to do: the copy stays as it is.
 *
 * usage: node scripts/contract-rules.mjs
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const contract = new URL("../../shared/contract/", import.meta.url);
const copy = fileURLToPath(new URL("../test/support/contract-rules.json", import.meta.url));

/** @param {string} page */
const ruleIds = (page) =>
  readFileSync(new URL(page, contract), "utf8")
    .split("\n")
    .map((line) => /^\| ([A-Z]{2,5}-\d+[a-z]?) \|/.exec(line)?.[1])
    .filter((id) => id !== undefined);

if (existsSync(contract)) {
  const pages = readdirSync(contract)
    .filter((name) => name.endsWith(".md"))
    .sort();
  const rules = Object.fromEntries(pages.map((page) => [page.slice(0, -3), ruleIds(page)]));
  writeFileSync(copy, `${JSON.stringify(rules, null, 2)}\n`);
}
