/**
 * The bucket of leases: its settings, created or checked.
 *
 * Owns: what makes a bucket fit to hold leases, how long a lease lives in it. Does not own: the leases (lease-store.ts), when one
 * is taken (infra/daemon/partition-lease.ts).
 *
 * B1. It is a key-value bucket as every NATS client reads one: one message a key, and the server takes away what is older than
 *     the bucket's age. No per-key time to live: the oldest server (2.9) ignores that silently and would keep a lease for ever.
 * B2. Only fields that the oldest server knows are sent; what it says it has is judged after creating too.
 * B3. It is on disk: a server that starts again must not make a living owner look gone.
 */
import { z } from "zod";
import { InvalidArgumentError, JournalError } from "../../../actors/errors.ts";
import { callApi, findOrCreateStream, findStream } from "../api.ts";
import type { ReadConnection } from "../connection.ts";
import type { Attempt } from "../errors.ts";
import type { PartitionAddress } from "../names.ts";

/** Shorter than this, and one slow round of a loaded owner looks like its end. */
export const LEASE_TTL_MS_MIN = 500;
export const LEASE_TTL_MS_MAX = 600_000;

const NANOSECONDS_PER_MS = 1_000_000;
/** The server wants it within the age; leases carry no ids, so it decides nothing. */
const DUPLICATE_WINDOW_MS = 100;
/** How the server says that there is no limit. */
const UNLIMITED = -1;
/** A lease is a few hundred bytes. */
const VALUE_BYTES_MAX = 4_096;

export interface LeaseNames {
  readonly bucket: string;
  readonly stream: string;
  readonly key: string;
  readonly subject: string;
}

export function leaseNames({ namespace, partition }: PartitionAddress): LeaseNames {
  const bucket = `hf_${namespace}_leases`;
  const key = `partition.${partition}`;
  return { bucket, stream: `KV_${bucket}`, key, subject: `$KV.${bucket}.${key}` };
}

const infoSchema = z.object({ config: z.looseObject({ max_age: z.number() }) });
type BucketConfig = z.output<typeof infoSchema>["config"];

/** What must hold; exactly these fields are sent (B2), and the age. */
const essentialSettings = ({ bucket }: LeaseNames) => ({
  subjects: [`$KV.${bucket}.>`],
  retention: "limits",
  storage: "file",
  num_replicas: 1,
  max_msgs_per_subject: 1,
  allow_direct: true,
});

const ageOf = (ttlMs: number) => ({
  max_age: ttlMs * NANOSECONDS_PER_MS,
  duplicate_window: DUPLICATE_WINDOW_MS * NANOSECONDS_PER_MS,
});

const attemptOn = ({ stream }: LeaseNames, action: string, isChange = false): Attempt => ({
  action: `${action} the bucket of leases (stream ${stream})`,
  details: { stream },
  isChange,
});

/** Errors: InvalidArgumentError. */
export function checkTtl(ttlMs: number): void {
  const isPossible = ttlMs >= LEASE_TTL_MS_MIN && ttlMs <= LEASE_TTL_MS_MAX;
  if (Number.isSafeInteger(ttlMs) && isPossible) return;
  throw new InvalidArgumentError(
    `A lease lives for a whole number of ms from ${LEASE_TTL_MS_MIN} to ${LEASE_TTL_MS_MAX}, found ${ttlMs}.`,
    { details: { faults: [{ path: "leaseTtlMs", message: `found ${ttlMs}` }] } },
  );
}

function judged(names: LeaseNames, found: BucketConfig): number {
  const wrong = Object.entries(essentialSettings(names))
    .filter(([setting, value]) => JSON.stringify(found[setting]) !== JSON.stringify(value))
    .map(([setting, expected]) => ({ setting, expected, found: found[setting] ?? null }));
  // A lease that can never lapse, or whose holder cannot give it back, is none.
  if (found.max_age <= 0) wrong.push({ setting: "max_age", expected: 1, found: found.max_age });
  if (found["deny_delete"] === true)
    wrong.push({ setting: "deny_delete", expected: false, found: true });
  if (wrong.length === 0) return found.max_age / NANOSECONDS_PER_MS;
  const list = wrong
    .map(({ setting, found: value }) => `${setting} is ${JSON.stringify(value)}`)
    .join("; ");
  throw new JournalError(
    `Stream ${names.stream} cannot hold leases: ${list}. Delete it when no daemon runs; the next one makes it again.`,
    { retry: "never", details: { outcome: "refused", stream: names.stream, differences: wrong } },
  );
}

const configOf = (names: LeaseNames, ttlMs: number) => ({
  name: names.stream,
  ...essentialSettings(names),
  ...ageOf(ttlMs),
  discard: "new",
  max_msgs: UNLIMITED,
  max_bytes: UNLIMITED,
  max_msg_size: VALUE_BYTES_MAX,
  max_consumers: UNLIMITED,
});

/**
 * Creates the bucket if there is none and checks it. Resolves with how long a lease lives in it, ms: `ttlMs` where it is new.
 * Errors: JournalError; `details.differences` lists the settings that a found bucket has otherwise.
 */
export async function ensureBucket(
  connection: ReadConnection,
  names: LeaseNames,
  ttlMs: number,
): Promise<number> {
  const { config } = await findOrCreateStream(connection, configOf(names, ttlMs), infoSchema, {
    find: attemptOn(names, "look at"),
    create: attemptOn(names, "create", true),
  });
  return judged(names, config);
}

/** Makes leases live that long from now on. Resolves with how long they do. Errors: JournalError. */
export async function setBucketTtl(
  connection: ReadConnection,
  names: LeaseNames,
  ttlMs: number,
): Promise<number> {
  const attemptToFind = attemptOn(names, "look at");
  const info = await findStream(connection, names.stream, infoSchema, attemptToFind);
  if (info === null) return ensureBucket(connection, names, ttlMs);
  const found = info.config;
  if (found.max_age === ageOf(ttlMs).max_age) return judged(names, found);
  const attempt = attemptOn(names, "change the age of", true);
  // Given back as the server told it, so that nothing else changes and nothing unknown is sent.
  const config = { ...found, ...ageOf(ttlMs) };
  const verb = `STREAM.UPDATE.${names.stream}`;
  return judged(names, (await callApi(connection, verb, config, infoSchema, attempt)).config);
}
