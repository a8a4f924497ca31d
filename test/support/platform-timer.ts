/**
 * The platform's timer, for the one test that is about it: whether code that a timer runs still knows its job.
 *
 * Nothing waits for time here: the timer is due at once. Everything else in unit tests goes by simulated time.
 */
import { setTimeout } from "node:timers/promises";

/** Resolves out of the platform's timer queue. */
export const afterTimer = (): Promise<void> => setTimeout(0);
