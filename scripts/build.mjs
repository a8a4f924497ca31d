// @ts-check
/**
 * Builds dist/ from the sources, unless it was built from exactly these. The work is in set-up/distribution.mjs; like the
 * whole set-up it writes nothing to stdout.
 *
 * usage: node scripts/build.mjs
 */
import { build } from "./set-up/steps.mjs";

process.exitCode = await build();
