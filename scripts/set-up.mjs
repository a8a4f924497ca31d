// @ts-check
/**
 * The one set-up step. `npm run demo`, `npm test`, `npm run bench` and `npm run verify` begin with it, so that a fresh
 * clone needs nothing else; it runs before anything is installed and therefore uses Node alone.
 *
 * usage: node scripts/set-up.mjs [--quiet]
 *
 * S1. A step that is done already is skipped, and when all are done nothing is written anywhere.
 * S2. Nothing goes to stdout: it belongs to the program that follows. `--quiet` tells of failures only.
 * S3. A failed step ends the set-up with exit code 1 and says what to do.
 * S4. Several set-ups at once are one after the other (lock.mjs); each looks again once it has the lock.
 */
import { readFileSync } from "node:fs";

const root = new URL("..", import.meta.url);

/** Looked at before anything else is loaded: an older Node may not even parse the rest. */
const checkNodeVersion = () => {
  const { engines } = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
  const [wantedMajor = 0, wantedMinor = 0] = engines.node.match(/\d+/g).map(Number);
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  if (major > wantedMajor || (major === wantedMajor && minor >= wantedMinor)) return;
  process.stderr.write(
    `set-up: this is Node ${process.versions.node}, Holdfast needs ${engines.node}.\n` +
      "  What to do: install a newer Node (https://nodejs.org) and run the same command again.\n",
  );
  process.exit(1);
};

checkNodeVersion();
const { setUp } = await import("./set-up/steps.mjs");
process.exitCode = await setUp({ isQuiet: process.argv.includes("--quiet") });
