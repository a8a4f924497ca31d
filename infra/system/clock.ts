/**
 * The Clock port on this machine.
 *
 * Owns: wall, monotonic and boot time, wake-ups. Does not own: simulated time (infra/simulated).
 */
import { readFileSync } from "node:fs";
import { uptime } from "node:os";
import type { Clock } from "../../actors/ports/clock.ts";

export const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  uptimeMs: () => uptime() * 1_000,
  bootId: readBootId(),
  wakeIn(delayMs, wake) {
    const timer = setTimeout(wake, delayMs);
    return { cancel: () => clearTimeout(timer) };
  },
};

/** Without a boot id no two runs are taken to be on one boot: the wall clock is asked instead. */
function readBootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return `unknown-${process.pid}-${Date.now()}`; // Not Linux, or no /proc.
  }
}
