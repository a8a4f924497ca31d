/**
 * The Ids port of a simulated world: the same seed mints the same ids.
 *
 * Owns: ULIDs and writer ids drawn from a generator. Does not own: digests, which are no matter of chance (infra/system).
 *
 * D1. ULIDs of one instance sort by minting, also when its clock steps back, and no two are alike; those of instances on
 *     generators of their own differ too.
 */
import type { Clock } from "../../actors/ports/clock.ts";
import type { Ids } from "../../actors/ports/ids.ts";
import { systemIds } from "../system/ids.ts";
import type { Random } from "./random.ts";

/** Crockford's base 32: no I, L, O, U. */
const DIGITS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const TIME_LENGTH = 10;
/** What tells instances apart, then a count: together the 16 characters that follow the time. */
const INSTANCE_LENGTH = 8;
const COUNT_LENGTH = 8;

export class SimulatedIds implements Ids {
  readonly digest = systemIds().digest;
  readonly #random: Random;
  readonly #clock: Pick<Clock, "wallMs">;
  readonly #instance: string;
  #lastMs = 0;
  #count = 0;

  constructor(random: Random, clock: Pick<Clock, "wallMs">) {
    this.#random = random;
    this.#clock = clock;
    const digit = (): string => DIGITS.charAt(random.integer(0, DIGITS.length - 1));
    this.#instance = Array.from({ length: INSTANCE_LENGTH }, digit).join("");
  }

  ulid(): string {
    this.#lastMs = Math.max(this.#lastMs, Math.floor(this.#clock.wallMs()));
    this.#count += 1;
    const time = inDigits(this.#lastMs, TIME_LENGTH);
    return time + this.#instance + inDigits(this.#count, COUNT_LENGTH);
  }

  writerId(): string {
    return Buffer.from(this.#random.bytes()).toString("base64url");
  }
}

function inDigits(value: number, length: number): string {
  let left = value;
  let digits = "";
  while (digits.length < length) {
    digits = DIGITS.charAt(left % DIGITS.length) + digits;
    left = Math.floor(left / DIGITS.length);
  }
  return digits;
}
