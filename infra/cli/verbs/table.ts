/**
 * The verbs of `holdfast`, in the order in which the help lists them.
 *
 * Owns: the list. Does not own: any of them.
 */
import type { Verb } from "../line/verb.ts";
import { answer, cancel, resolve } from "./commands.ts";
import { doctor } from "./doctor.ts";
import { jobs } from "./jobs.ts";
import { run } from "./run.ts";
import { submit } from "./submit.ts";
import { up } from "./up.ts";
import { verify } from "./verify.ts";
import { status, trajectory, tree } from "./views.ts";

export const VERBS: readonly Verb[] = [
  up,
  submit,
  run,
  status,
  jobs,
  tree,
  trajectory,
  cancel,
  resolve,
  answer,
  verify,
  doctor,
];
