/**
 * Checks of the daemon that runs: whether it answers, its journal, what it set aside.
 *
 * Owns: what each finds. Does not own: the machine (machine-checks.ts).
 */
import { isHoldfastError } from "../../../actors/errors.ts";
import type { Health } from "../../api/contract/answers.ts";
import { linkToDaemon } from "../daemon-link.ts";
import type { Invocation } from "../line/verb.ts";
import { bytes, plural } from "../text.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

/** Messages not yet acknowledged at one moment: more of them is a log that does not keep up. */
const PENDING_WARN = 10_000;

export async function checkDaemon(invocation: Invocation): Promise<readonly Finding[]> {
  try {
    await using client = await linkToDaemon(invocation);
    const answer = await client.health();
    if (!answer.ok) return [fail("daemon", answer.reason, "see its log")];
    return [
      daemonFinding(answer.health),
      journalFinding(answer.health),
      roomFinding(answer.health),
      jobsFinding(answer.health),
    ];
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    return [warn("daemon", error.message, null)];
  }
}

function daemonFinding({ state, version, owner, types }: Health): Finding {
  const detail = `${version}, ${state}, ${owner}`;
  if (state !== "ready") return warn("daemon", detail, "wait until it is ready; see its log");
  return types.list.length === 0
    ? warn("daemon", `${detail}, without job types`, "start it with --jobs FILE")
    : ok("daemon", `${detail}, ${plural(types.list.length + types.dropped, "job type")}`);
}

function journalFinding(health: Health): Finding {
  const { journal, acknowledged, pendingMessages, stream, durability } = health;
  const size = stream === null ? "of an unknown size" : bytes(stream.bytes);
  const detail = `${journal}, position ${acknowledged}, ${size}, durability ${durability}`;
  if (journal !== "open") {
    return warn("journal", detail, "it waits for its server: see the daemon's log");
  }
  if (pendingMessages > PENDING_WARN) {
    return warn("journal", `${detail}, ${pendingMessages} not acknowledged`, "look at the disk");
  }
  return ok("journal", detail);
}

function roomFinding({ room }: Health): Finding {
  if (room === null) {
    return warn("room", "the store has no limit, or did not say", "give its streams a limit");
  }
  const { what, usedBytes, limitBytes, reserveBytes, isFull } = room;
  const left = bytes(Math.max(0, limitBytes - usedBytes));
  const detail = `${left} of ${bytes(limitBytes)} left (${what})`;
  return isFull
    ? fail("room", `${detail}, so new work is refused: ${bytes(reserveBytes)} are kept`, MAKE_ROOM)
    : ok("room", detail);
}

const MAKE_ROOM = "make room on the disk, or raise the limit that it names";

function jobsFinding({ liveJobs, runningJobs, leakedJobs, setAside }: Health): Finding {
  const aside = setAside.list.length + setAside.dropped;
  const detail = `${liveJobs} live, ${runningJobs} running`;
  if (aside > 0) {
    return warn(
      "jobs",
      `${detail}, ${aside} set aside: ${setAside.list[0]?.job ?? ""}: ${setAside.list[0]?.reason ?? ""}`,
      "holdfast status names them; they cannot be driven by this version",
    );
  }
  return leakedJobs > 0
    ? warn("jobs", `${detail}, ${leakedJobs} leaked`, "their code ignores its timeout: mend it")
    : ok("jobs", detail);
}
