/**
 * Random numbers of a simulated world.
 *
 * Owns: a seeded generator, drawing from it, independent streams by name. Does not own: secrets (infra/system): whoever sees
 * a few numbers can tell all the others.
 *
 * The generator is xoshiro128** (D. Blackman, S. Vigna, "Scrambled Linear Pseudorandom Number Generators", ACM Transactions on
 * Mathematical Software 47, 2021). Its state is filled as they advise, by another generator: SplitMix (G. Steele, D. Lea,
 * C. Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014) in 32 bits, with MurmurHash3's finaliser.
 *
 * R1. The same seed gives the same numbers, on every machine.
 * R2. A stream made by `fork` depends on the seed and its name alone: a draw more in one place moves nothing in another, so
 *     that a failing seed goes on failing while the code under it is looked at.
 */
import { invariant } from "../../machines/invariant.ts";

const GOLDEN_GAMMA = 0x9e3779b9;
const RANGE = 2 ** 32;

export type RandomState = readonly [number, number, number, number];

export class Random {
  readonly seed: number;
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  /** `seed`: any integer, of which 32 bits count. `state`: to begin elsewhere than the seed says; not all zero. */
  constructor(seed: number, state: RandomState = stateOf(seed)) {
    this.seed = seed >>> 0;
    [this.#a, this.#b, this.#c, this.#d] = state;
  }

  /** A generator of its own for one concern (R2). */
  fork(name: string): Random {
    let hash = this.seed;
    for (const character of name) hash = mix(hash ^ (character.codePointAt(0) ?? 0));
    return new Random(mix(hash + GOLDEN_GAMMA));
  }

  /** 32 bits, as an integer ≥ 0. */
  next(): number {
    const result = Math.imul(rotate(Math.imul(this.#b, 5), 7), 9) >>> 0;
    const shifted = this.#b << 9;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= shifted;
    this.#d = rotate(this.#d, 11);
    return result;
  }

  /** An integer, both ends included. */
  integer(min: number, max: number): number {
    invariant(max >= min, "the bounds of a draw are in order", { min, max });
    return min + Math.floor((this.next() / RANGE) * (max - min + 1));
  }

  /** True with this probability, 0 … 1. */
  chance(probability: number): boolean {
    return this.next() / RANGE < probability;
  }

  pick<Item>(items: readonly Item[]): Item {
    invariant(items.length > 0, "there is something to pick from");
    return items[this.integer(0, items.length - 1)] as Item; // The index lies in the list.
  }

  /** One of the names, each as likely as its weight says; at least one weight is positive. */
  weighted<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = Object.entries<number>(weights);
    let left = (this.next() / RANGE) * entries.reduce((sum, [, weight]) => sum + weight, 0);
    const found = entries.find(([, weight]) => {
      left -= weight;
      return left < 0;
    });
    invariant(found !== undefined, "at least one weight is positive");
    return found[0] as Name; // A key of the record; Object.entries forgets its type.
  }

  /** 128 bits as 16 bytes. */
  bytes(): Uint8Array {
    return new Uint8Array(Uint32Array.from({ length: 4 }, () => this.next()).buffer);
  }
}

const rotate = (value: number, by: number): number => (value << by) | (value >>> (32 - by));

function mix(value: number): number {
  let mixed = value ^ (value >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

function stateOf(seed: number): RandomState {
  const word = (at: number): number => mix((seed + at * GOLDEN_GAMMA) | 0);
  return [word(1), word(2), word(3), word(4)];
}
