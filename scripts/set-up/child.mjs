// @ts-check
/**
 * Runs a program of the set-up.
 *
 * Owns: where its output goes (all of it to our stderr, S2 of ../set-up.mjs) and how long it may take.
 */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/**
 * @typedef {{ kind: "exited", code: number } | { kind: "killed", by: string } | { kind: "missing", reason: string }} Ended
 *
 * @param {string} program
 * @param {readonly string[]} args
 * @param {{ timeoutMs: number }} limits After `timeoutMs` the program is killed.
 * @returns {Promise<Ended>}
 */
export const runChild = (program, args, { timeoutMs }) =>
  new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: root,
      stdio: ["ignore", process.stderr, process.stderr],
      timeout: timeoutMs,
      killSignal: "SIGKILL",
    });
    child.once("error", (error) => resolve({ kind: "missing", reason: error.message }));
    child.once("exit", (code, signal) => {
      if (code !== null) resolve({ kind: "exited", code });
      else resolve({ kind: "killed", by: signal ?? "an unknown signal" });
    });
  });

/** @param {Ended} ended */
export const describeEnd = (ended) => {
  if (ended.kind === "exited") return `ended with exit code ${ended.code}`;
  if (ended.kind === "killed") return `was killed (${ended.by}), perhaps because it took too long`;
  return `could not be started (${ended.reason})`;
};
