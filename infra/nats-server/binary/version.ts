/**
 * Versions of nats-server, and what each can do.
 *
 * Owns: parsing, ordering, the floor, the recommended version, what a durability needs. Pure.
 * Does not own: running a binary (`find.ts`), the configuration text (`configuration.ts`).
 */
import type { Durability } from "../../../actors/journal/codec.ts";

export interface ServerVersion {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  /** `dev`, `RC.1`, `beta.2`; empty for a release. */
  readonly preRelease: string;
}

const version = (major: number, minor: number, patch: number): ServerVersion => ({
  major,
  minor,
  patch,
  preRelease: "",
});

/** The oldest one that everything in `process` durability was run against. */
export const FLOOR_VERSION = version(2, 9, 10);
/** Before it a replicated stream could lose acknowledged messages when the server was paused. */
export const RECOMMENDED_VERSION = version(2, 12, 3);
/** Syncing every message is worth its price only with atomic batches, and those came here. */
const FSYNC_VERSION = version(2, 12, 0);
/** The first that knows `sync_interval`. */
const SYNC_INTERVAL_VERSION = version(2, 10, 0);
const ATOMIC_BATCH_VERSION = version(2, 12, 0);

export interface ServerCapabilities {
  /** Knows `sync_interval`, so that an acknowledgement can mean "on the disk". */
  readonly hasSyncInterval: boolean;
  /** Knows atomic batches (`allow_atomic`). */
  readonly hasAtomicBatch: boolean;
  readonly isRecommended: boolean;
}

const PATTERN = /(?:^|[\s:v])(\d{1,6})\.(\d{1,6})\.(\d{1,6})(?:-([0-9A-Za-z.-]+))?(?![\w.])/;

/** The version in `nats-server: v2.12.3`, `v2.12.3` or `2.15.0-dev`; null when there is none. */
export function parseVersion(text: string): ServerVersion | null {
  const match = PATTERN.exec(text);
  if (match === null) return null;
  const [, major, minor, patch, preRelease] = match;
  return {
    major: Number(major),
    minor: Number(minor),
    patch: Number(patch),
    preRelease: preRelease ?? "",
  };
}

export function formatVersion(of: ServerVersion): string {
  const release = `${of.major}.${of.minor}.${of.patch}`;
  return of.preRelease === "" ? release : `${release}-${of.preRelease}`;
}

/** Below 0: `left` is older. A pre-release is older than its release; two of one release go by their names. */
export function compareVersions(left: ServerVersion, right: ServerVersion): number {
  const byNumber = left.major - right.major || left.minor - right.minor || left.patch - right.patch;
  if (byNumber !== 0 || left.preRelease === right.preRelease) return byNumber;
  if (left.preRelease === "") return 1;
  if (right.preRelease === "") return -1;
  return left.preRelease < right.preRelease ? -1 : 1;
}

export const isAtLeast = (of: ServerVersion, least: ServerVersion): boolean =>
  compareVersions(of, least) >= 0;

export const capabilitiesOf = (of: ServerVersion): ServerCapabilities => ({
  hasSyncInterval: isAtLeast(of, SYNC_INTERVAL_VERSION),
  hasAtomicBatch: isAtLeast(of, ATOMIC_BATCH_VERSION),
  isRecommended: isAtLeast(of, RECOMMENDED_VERSION),
});

/** The oldest version that can keep what this durability promises. */
export const versionNeededFor = (durability: Durability): ServerVersion =>
  durability === "fsync" ? FSYNC_VERSION : FLOOR_VERSION;

/** Why this version cannot be used with this durability, with the ways out; null when it can. */
export function faultOfVersion(of: ServerVersion, durability: Durability): string | null {
  if (!isAtLeast(of, FLOOR_VERSION)) {
    return (
      `version ${formatVersion(of)} is below the oldest supported one, ${formatVersion(FLOOR_VERSION)}` +
      ` (recommended: ${formatVersion(RECOMMENDED_VERSION)} or newer)`
    );
  }
  const needed = versionNeededFor(durability);
  if (isAtLeast(of, needed)) return null;
  return (
    `version ${formatVersion(of)} is too old for durability "${durability}", which needs` +
    ` ${formatVersion(needed)} or newer: give a newer server, or choose --durability process`
  );
}
