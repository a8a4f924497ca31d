// @ts-check
/**
 * The order of the set-up.
 *
 * Owns: which steps there are, when the lock is taken, how a failure is told and becomes an exit code.
 * Does not own: what a step does (the files beside this one).
 */
import { dependencies } from "./dependencies.mjs";
import { distribution } from "./distribution.mjs";
import { StepFailure } from "./failure.mjs";
import { withLock } from "./lock.mjs";
import { ensureNatsServer } from "./nats-server.mjs";

/**
 * @typedef {object} Step
 * @property {string} doing What is told when it starts.
 * @property {() => boolean} isDone Cheap, changes nothing.
 * @property {() => Promise<void>} run Throws StepFailure.
 */

/** @type {readonly Step[]} */
const steps = [dependencies, distribution];

/** @param {string} text */
const tell = (text) => process.stderr.write(`set-up: ${text}\n`);

/** @param {boolean} isQuiet */
const runSteps = async (isQuiet) => {
  if (steps.every((step) => step.isDone())) return;
  const onWait = (/** @type {string} */ owner) => isQuiet || tell(`waiting for ${owner}`);
  await withLock({ onWait }, async () => {
    for (const step of steps) {
      if (step.isDone()) continue;
      if (!isQuiet) tell(step.doing);
      await step.run();
    }
  });
};

/**
 * What can be told of a failure in words; anything else is a defect of these scripts and shows its stack.
 * @param {unknown} error
 * @returns {{ message: string, whatToDo: string }}
 */
const explain = (error) => {
  if (error instanceof StepFailure) return error;
  if (error instanceof Error && "syscall" in error) {
    return {
      message: error.message,
      whatToDo:
        "see that this folder may be written to by the user you are and that its disk is not full.",
    };
  }
  throw error;
};

/**
 * @param {() => Promise<void>} work
 * @returns {Promise<number>} The exit code.
 */
const toExitCode = async (work) => {
  try {
    await work();
    return 0;
  } catch (error) {
    const { message, whatToDo } = explain(error);
    tell(`${message}\n  What to do: ${whatToDo}`);
    return 1;
  }
};

/** @param {{ isQuiet: boolean }} options */
export const setUp = ({ isQuiet }) =>
  toExitCode(async () => {
    await runSteps(isQuiet);
    await ensureNatsServer(isQuiet ? () => {} : tell);
  });

export const build = () => toExitCode(() => runSteps(false));
