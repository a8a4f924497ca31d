// @ts-check
/**
 * The last part of the set-up: there is a nats-server that keeps every promise Holdfast makes (durability `fsync`).
 *
 * Owns: nothing but the call. Which one is taken (a named one, one on the PATH, one got before, the newest that can be
 * got) is the product's own doing (infra/nats-server/), which several set-ups may ask at the same time.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { root } from "./child.mjs";
import { StepFailure } from "./failure.mjs";

const provider = join(root, "dist", "infra", "nats-server", "binary", "provide.js");

/**
 * Throws StepFailure.
 * @param {(line: string) => void} tell
 */
export const ensureNatsServer = async (tell) => {
  const { provideNatsServer } = await import(pathToFileURL(provider).href);
  try {
    await provideNatsServer({ durability: "fsync", environment: process.env, onProgress: tell });
  } catch (error) {
    // An error with a code is the product's own, and its text says what was tried; any other is a defect.
    if (!(error instanceof Error && "code" in error)) throw error;
    const whatToDo = "give the machine what this asks for, then run the same command again.";
    throw new StepFailure(error.message, { whatToDo, cause: error });
  }
};
