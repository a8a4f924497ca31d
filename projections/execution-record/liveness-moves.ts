/**
 * What a move of a task's liveness record changes in its execution record.
 *
 * Owns: the liveness state with its wait, signals and diagnoses, and the state of its side effect. Does not own: where the
 * execution stands (job-moves.ts).
 *
 * M1. The state follows what the move says (`to`), whether its event is known or not.
 * M2. A wait is shown while it waits: in `external_wait`, and nowhere else (STA-3).
 */
import { LIVENESS_STATES } from "../../machines/liveness/chart.ts";
import { SideEffect, WaitKind } from "../../machines/liveness/events.ts";
import { cutText } from "../bounded-value.ts";
import { type Fields, type JournaledMove, optionIn, textIn } from "../journaled-move.ts";
import {
  type ExecutionRecord,
  type HistoryEntry,
  RECORD_BOUNDS,
  type RecordDraft,
} from "./schema.ts";

type Liveness = ExecutionRecord["liveness"];

/** Takes a move of the task's liveness into its record; `entry` is the same move with its texts cut to their bounds. */
export function applyLivenessMove(
  draft: RecordDraft,
  move: JournaledMove,
  entry: HistoryEntry,
): void {
  const { event } = move;
  draft.liveness = stand(draft.liveness, move, entry);
  if (event === null) return;
  draft.liveness = signalled(draft.liveness, event, move.at);
  const sideEffect = sideEffectAfter(draft.recovery, event);
  if (sideEffect !== draft.recovery.sideEffect) draft.recovery = { ...draft.recovery, sideEffect };
}

function stand(liveness: Liveness, move: JournaledMove, entry: HistoryEntry): Liveness {
  const { reason, evidence } = entry;
  const to = LIVENESS_STATES.find((state) => state === move.to);
  if (to === undefined) {
    const since = liveness.isKnown ? move.at : liveness.since;
    return { ...liveness, isKnown: false, reason, evidence, since, wait: null };
  }
  const isEntered = liveness.since === null || !liveness.isKnown || liveness.state !== to;
  if (!isEntered) return liveness;
  const wait = to === "external_wait" ? liveness.wait : null;
  return { ...liveness, state: to, isKnown: true, reason, evidence, since: move.at, wait };
}

/** What was seen of it, beside the state that it led to. */
function signalled(liveness: Liveness, event: Fields, at: number): Liveness {
  switch (textIn(event, "type")) {
    case "liveness.started":
      return liveness.diagnoses === 0 ? liveness : { ...liveness, diagnoses: 0 };
    case "liveness.progressSeen":
      return { ...liveness, lastProgressAt: at };
    case "liveness.diagnosisStarted":
      return { ...liveness, diagnoses: liveness.diagnoses + 1 };
    case "liveness.foundAlive":
      return { ...liveness, diagnoses: 0, lastFoundAliveAt: at };
    case "liveness.waitDeclared":
      return liveness.state === "external_wait"
        ? { ...liveness, wait: waitIn(event, at) }
        : liveness;
    default:
      return liveness;
  }
}

const waitIn = (event: Fields, declaredAt: number): Liveness["wait"] => ({
  kind: optionIn(event, "kind", WaitKind.options, "other"),
  reason: cutText(textIn(event, "reason") ?? "", RECORD_BOUNDS.reasonBytesMax),
  declaredAt,
});

function sideEffectAfter(recovery: ExecutionRecord["recovery"], event: Fields): SideEffect {
  switch (textIn(event, "type")) {
    case "liveness.foundInconclusive":
    case "liveness.ownerLost":
    case "liveness.ended":
      // What is not said is not known: a missing word is no evidence that nothing happened (RTY-6).
      return optionIn(event, "sideEffect", SideEffect.options, "unknown");
    default:
      return recovery.sideEffect;
  }
}
