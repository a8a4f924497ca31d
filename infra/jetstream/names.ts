/**
 * Names of one generation of a partition on the server.
 *
 * Owns: stream name, subject prefixes, what a namespace may look like. Does not own: what stands below the prefix
 * (`actors/journal/subjects.ts`).
 *
 * N1. Two different (namespace, partition, generation) never share a stream name or a subject: a namespace holds no dot, and
 *     the two numbers stand last in both.
 */
import { InvalidArgumentError } from "../../actors/errors.ts";

/** Longest namespace: the stream name becomes a folder's name. */
const NAMESPACE_LENGTH_MAX = 64;
const NAMESPACE = /^[A-Za-z0-9_-]+$/;

export interface PartitionAddress {
  /** Letters, digits, `_` and `-`; 1 … 64 of them. */
  readonly namespace: string;
  /** ≥ 0. */
  readonly partition: number;
  /** ≥ 1. */
  readonly generation: number;
}

export interface PartitionNames {
  readonly stream: string;
  /** What every stored subject starts with, without the last dot. */
  readonly prefix: string;
  /** What the same subject starts with when it is republished after storing, without the last dot. */
  readonly livePrefix: string;
}

/** Errors: InvalidArgumentError, listing every fault. */
export function partitionNames(address: PartitionAddress): PartitionNames {
  const { namespace, partition, generation } = address;
  const faults: { path: string; message: string }[] = [];
  if (!NAMESPACE.test(namespace) || namespace.length > NAMESPACE_LENGTH_MAX) {
    const message = `1 … ${NAMESPACE_LENGTH_MAX} letters, digits, _ or -, found ${JSON.stringify(namespace)}`;
    faults.push({ path: "namespace", message });
  }
  if (!Number.isSafeInteger(partition) || partition < 0) {
    faults.push({ path: "partition", message: `an integer from 0, found ${partition}` });
  }
  if (!Number.isSafeInteger(generation) || generation < 1) {
    faults.push({ path: "generation", message: `an integer from 1, found ${generation}` });
  }
  if (faults.length > 0) {
    const list = faults.map((fault) => `${fault.path}: ${fault.message}`).join("; ");
    throw new InvalidArgumentError(`No such partition can exist: ${list}.`, {
      details: { faults },
    });
  }
  return {
    stream: `HF_${namespace}_EVT_${partition}_${generation}`,
    prefix: `hf.${namespace}.evt.${partition}.${generation}`,
    livePrefix: `hf.${namespace}.live.${partition}.${generation}`,
  };
}
