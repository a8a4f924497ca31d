// @ts-check
/**
 * Step: dist/ is built from the sources as they are.
 *
 * Owns: knowing whether it is (a fingerprint of everything that goes in, kept in dist/), and replacing it.
 *
 * B1. The new tree is built beside dist/ and takes its place by a rename: nobody sees half of one, and nothing that is
 *     no longer in the sources stays behind.
 * B2. The fingerprint is taken before the compiler reads: a source changed meanwhile makes the next set-up build again.
 */
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join, relative, sep } from "node:path";
import { describeEnd, root, runChild } from "./child.mjs";
import { StepFailure } from "./failure.mjs";

const COMPILE_TIMEOUT_MS = 5 * 60_000;

const layers = ["machines", "actors", "projections", "infra"];
const distFolder = join(root, "dist");
const fingerprintFile = join(distFolder, ".fingerprint");
const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
const commandLine = join("infra", "cli", "main.js");

/**
 * @param {string} folder
 * @returns {string[]} Every file below it.
 */
const filesUnder = (folder) => {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
};

const layerFiles = () => layers.flatMap((layer) => filesUnder(join(root, layer)));

const fingerprint = () => {
  const rootFiles = readdirSync(root).filter(
    (name) =>
      /^tsconfig.*\.json$/.test(name) || name === "package-lock.json" || name.endsWith(".ts"),
  );
  const hash = createHash("sha256");
  for (const file of [...rootFiles.map((name) => join(root, name)), ...layerFiles()].sort()) {
    const content = readFileSync(file);
    hash.update(`${relative(root, file).split(sep).join("/")} ${content.length}\n`).update(content);
  }
  return hash.digest("hex");
};

/**
 * What the product reads beside its code (a page, a native source, …) goes where its code goes.
 * @param {string} target
 */
const copyAssets = (target) => {
  for (const file of layerFiles().filter((name) => !name.endsWith(".ts"))) {
    cpSync(file, join(target, relative(root, file)));
  }
};

/** @param {string} target */
const compile = async (target) => {
  const args = ["-p", "tsconfig.build.json", "--outDir", target, "--noEmitOnError"];
  const ended = await runChild(process.execPath, [compiler, ...args], {
    timeoutMs: COMPILE_TIMEOUT_MS,
  });
  if (ended.kind === "exited" && ended.code === 0) return;
  throw new StepFailure(`the compiler ${describeEnd(ended)}; its own words are above.`, {
    whatToDo: "mend the sources it names, or go back to a version that builds; dist/ is as it was.",
  });
};

/** @param {string} fresh */
const takePlace = (fresh) => {
  const old = `${fresh}.old`;
  const hadDist = existsSync(distFolder);
  if (hadDist) renameSync(distFolder, old);
  try {
    renameSync(fresh, distFolder);
  } catch (error) {
    if (hadDist) renameSync(old, distFolder);
    throw error;
  }
  rmSync(old, { recursive: true, force: true });
};

/** A build that was killed leaves its tree; whoever holds the lock may clear it away. */
const removeLeftovers = () => {
  for (const name of readdirSync(root).filter((entry) => entry.startsWith("dist.new-"))) {
    rmSync(join(root, name), { recursive: true, force: true });
  }
};

/** @type {import("./steps.mjs").Step} */
export const distribution = {
  doing: "building dist/",

  isDone() {
    return existsSync(fingerprintFile) && readFileSync(fingerprintFile, "utf8") === fingerprint();
  },

  async run() {
    removeLeftovers();
    // Beside dist/, at the same depth: source maps hold relative paths.
    const fresh = join(root, `dist.new-${process.pid}`);
    const taken = fingerprint();
    try {
      await compile(fresh);
      copyAssets(fresh);
      if (existsSync(join(fresh, commandLine))) chmodSync(join(fresh, commandLine), 0o755);
      writeFileSync(join(fresh, ".fingerprint"), taken);
      takePlace(fresh);
    } finally {
      rmSync(fresh, { recursive: true, force: true });
    }
  },
};
