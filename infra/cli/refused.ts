/**
 * A refusal of the daemon, told.
 *
 * Owns: its words. Does not own: the decision.
 */
import type { Refusal } from "../api/contract/answers.ts";
import { EXIT } from "./exit-codes.ts";
import type { Output } from "./output.ts";
import { oneLine } from "./text.ts";

/** Writes it, and gives the exit code. */
export function tellRefusal(output: Output, refusal: Refusal): number {
  output.document(refusal);
  const advice = refusal.retry === "backoff" ? " Try again in a while." : "";
  output.tell(`refused (${refusal.code}): ${oneLine(refusal.reason)}${advice}`);
  return EXIT.refused;
}
