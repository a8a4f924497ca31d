/**
 * A process that takes locks: one for ever; or one five times, with a log to write in; or, with a start time and a number
 * of rounds, one after another at the same moments as its rivals, saying how often it was not alone inside.
 */
import { appendFileSync, closeSync, openSync, rmSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { acquireLock } from "../../../../infra/nats-server/exclusive-lock.ts";

const [path = "", log, startAt, rounds] = process.argv.slice(2);
/** Between two rounds' beginnings; a round takes a few. */
const ROUND_MS = 40;
const options = { purpose: "holding", waitMs: 30_000 };
if (log === undefined) {
  await acquireLock(path, options);
  process.stdout.write("held\n");
  setTimeout(() => process.exit(1), 120_000);
} else if (startAt !== undefined) {
  let notAlone = 0;
  for (let round = 0; round < Number(rounds); round += 1) {
    const moment = Number(startAt) + round * ROUND_MS;
    await pause(Math.max(0, moment - Date.now() - 4));
    while (Date.now() < moment); // The last milliseconds are spun, so that all begin at once.
    await using _lock = await acquireLock(`${path}-${round}`, options);
    if (await wasDisturbed(`${path}-${round}.inside`)) notAlone += 1;
  }
  process.stdout.write(`${notAlone}\n`);
} else {
  for (let round = 0; round < 5; round += 1) {
    await using _lock = await acquireLock(path, options);
    appendFileSync(log, "in ");
    await pause(3);
    appendFileSync(log, "out ");
  }
  process.stdout.write("done\n");
}

/** Whether somebody else was inside at the same time. */
async function wasDisturbed(mark: string): Promise<boolean> {
  try {
    closeSync(openSync(mark, "wx"));
  } catch {
    return true;
  }
  await pause(2);
  rmSync(mark, { force: true });
  return false;
}
