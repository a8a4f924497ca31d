// @ts-check
/**
 * Step: what package-lock.json names stands in node_modules.
 *
 * Owns: knowing whether it does. A marker in node_modules holds the hash of the lock file it was installed from; it
 * goes with node_modules when that is removed. Where it does not fit (somebody installed by hand) npm's own record of
 * what it put there is compared with the lock file, so that nobody waits for the same packages a second time.
 */
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describeEnd, root, runChild } from "./child.mjs";
import { StepFailure } from "./failure.mjs";

const INSTALL_TIMEOUT_MS = 10 * 60_000;

const lockFile = join(root, "package-lock.json");
const markerFile = join(root, "node_modules", ".holdfast-lock-hash");
const installedFile = join(root, "node_modules", ".package-lock.json");

const lockHash = () => createHash("sha256").update(readFileSync(lockFile)).digest("hex");

/** @param {string} file */
const readPackages = (file) =>
  /** @type {Record<string, { version?: string, optional?: boolean }>} */ (
    JSON.parse(readFileSync(file, "utf8")).packages
  );

/** Whether npm's record of node_modules says what the lock file says; optional packages of other platforms may lack. */
const isInstalledByHand = () => {
  if (!existsSync(installedFile)) return false;
  const locked = readPackages(lockFile);
  const installed = readPackages(installedFile);
  const isThere = (/** @type {string} */ path) =>
    installed[path]?.version === locked[path]?.version && existsSync(join(root, path));
  const isMissing = (/** @type {string} */ path) =>
    installed[path] === undefined ? locked[path]?.optional !== true : !isThere(path);
  return (
    !Object.keys(locked).some((path) => path !== "" && isMissing(path)) &&
    Object.keys(installed).every((path) => path in locked)
  );
};

/** Npm as it runs us, when it does; else the one on the PATH. */
const npmCommand = () => {
  const running = process.env.npm_execpath;
  return running !== undefined && basename(running) === "npm-cli.js"
    ? { program: process.execPath, args: [running] }
    : { program: "npm", args: [] };
};

/** @type {import("./steps.mjs").Step} */
export const dependencies = {
  doing: "installing the dependencies (npm ci)",

  isDone() {
    const isMarked = existsSync(markerFile) && readFileSync(markerFile, "utf8") === lockHash();
    return isMarked || isInstalledByHand();
  },

  async run() {
    const { program, args } = npmCommand();
    // Development dependencies are wanted even where NODE_ENV says production: they build and test.
    const ended = await runChild(
      program,
      [...args, "ci", "--include=dev", "--no-audit", "--no-fund"],
      { timeoutMs: INSTALL_TIMEOUT_MS },
    );
    if (ended.kind !== "exited" || ended.code !== 0) {
      throw new StepFailure(`npm ci ${describeEnd(ended)}; its own words are above.`, {
        whatToDo:
          "see that the package registry can be reached and that package-lock.json fits package.json, then run the same command again.",
      });
    }
    writeFileSync(markerFile, lockHash());
  },
};
