// @ts-check
/**
 * Says in one plain line what a test run came to: `N passed, N failed, N skipped`.
 *
 * usage: node scripts/test-summary.mjs <report of vitest's json reporter>
 *
 * Exit code 1 when a test failed, when a file or the run itself failed, when nothing ran, or when there is no report (the
 * run ended before its tests: that is nothing run, not nothing failed).
 */
import { existsSync, readFileSync } from "node:fs";

/**
 * @typedef {object} TestFile
 * @property {string} status "failed" also when the file could not be loaded; then it has no results.
 * @property {readonly { readonly status: string }[]} assertionResults
 *
 * @typedef {{ readonly success: boolean, readonly testResults: readonly TestFile[] }} Report
 */

const [, , path] = process.argv;

/** @type {Report} */
const report =
  path !== undefined && existsSync(path)
    ? JSON.parse(readFileSync(path, "utf8"))
    : { success: false, testResults: [] };

const statuses = report.testResults.flatMap(({ status, assertionResults }) => {
  const results = assertionResults.map((result) => result.status);
  // A file that failed without a failed test (it does not load, its hook threw) counts as one failure.
  return status === "failed" && !results.includes("failed") ? [...results, "failed"] : results;
});

const passed = statuses.filter((status) => status === "passed").length;
const failed = statuses.filter((status) => status === "failed").length;
const skipped = statuses.length - passed - failed;

console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
process.exitCode = report.success && failed === 0 && passed > 0 ? 0 : 1;
