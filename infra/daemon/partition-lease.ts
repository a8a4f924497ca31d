/**
 * A daemon's lease of its partition: who may fence whom without having been told to.
 *
 * Owns: when a starter may take, renewing, giving back, what a lease says. Does not own: how one is stored
 * (infra/jetstream/leases). Safety is the journal's fence and nothing else (ES-3): a lease is courtesy. It keeps a starter
 * from ending an owner that lives.
 *
 * P1. Taken before the fence, given back after the log is closed: where there is none, nobody is ended by a fence.
 * P2. A starter takes at once what nobody has, and what a process had that is proven gone (infra/processes). Else it watches.
 *     Written again meanwhile, the holder lives, and the starter is refused with its name. Lapsed, it is free.
 * P3. The server judges what has lapsed. Ages and other machines' clocks decide nothing.
 * P4. `take over` writes over whatever is there. Its owner finds out by the fence.
 * P5. A holder writes only after its own last writing, or where there is none, and removes only its own: it never takes a lease
 *     back from a rival. While a rival has it, it goes on and looks at every turn: the fence will end it, or the rival gave up.
 * P6. What keeps a holder from renewing ends nothing. It is told once, and tried again at the next turn.
 */
import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import { z } from "zod";
import { IllegalStateError, OwnershipError } from "../../actors/errors.ts";
import type { Clock } from "../../actors/ports/clock.ts";
import type { LeaseStore, StoredLease } from "../jetstream/leases/lease-store.ts";
import { errorFields } from "../logging/notices.ts";
import { parseJson } from "../nats-server/folder.ts";
import { isProvenGone, type ProcessIdentity, parseProcessIdentity } from "../processes/identity.ts";
import { isDoneWithin } from "../system/bounded-wait.ts";

/** How long a lease lives unless it is renewed, ms. */
export const LEASE_TTL_MS_DEFAULT = 10_000;
/** It is renewed this often within its life, so that one turn that is missed ends nothing. */
const RENEWALS = 3;
/** Between two looks at another's lease, ms. */
export const LOOK_EVERY_MS = 100;
/** What the server may take beyond a lease's life to let it lapse, ms: an old one looks once a second. */
export const LAPSE_WAIT_MS = 2_000;

/** How long `close` waits for the server, ms. */
const GIVE_BACK_WAIT_MS = 2_000;

const LEASE_VERSION = 1;
const leaseSchema = z.object({
  v: z.literal(LEASE_VERSION),
  /** Of this one holder: two daemons of one process differ by it alone. */
  nonce: z.string(),
  /** A name for people: host and process. */
  owner: z.string().max(200),
  process: z.unknown().transform(parseProcessIdentity),
  /** Wall clock of the holder when it took the lease, ms since the epoch; information only (P3). */
  since: z.number().min(0).max(8.64e15),
});
type Lease = z.output<typeof leaseSchema>;

/** Null: written by a newer version, or by something else. */
const parseLease = (text: string): Lease | null =>
  leaseSchema.safeParse(parseJson(text)).data ?? null;

/** A look at a holder of whom nothing is proven. */
interface Watch {
  /** Of its writing at the first look. */
  readonly revision: number;
  readonly deadlineMs: number;
}

export interface LeaseOptions {
  readonly store: LeaseStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A name for people: host and process. */
  readonly owner: string;
  readonly process: ProcessIdentity;
  /** What is leased, for texts: "partition 0 of namespace default". */
  readonly what: string;
  /** How long it is to live from now on unless it is renewed, ms. */
  readonly ttlMs: number;
}

export class PartitionLease {
  readonly #options: LeaseOptions;
  readonly #nonce = randomUUID();
  readonly #value: string;
  /** Of our newest writing; null: there is none that stands, as far as we know. */
  #revision: number | null = null;
  #timer: { cancel(): void } | null = null;
  /** The take or the turn that is under way, which `close` waits for. */
  #work: Promise<unknown> = Promise.resolve();
  /** What keeps us from renewing, once it is told (P6); null: nothing does. */
  #told: "failing" | "lost" | null = null;
  #isClosed = false;

  constructor(options: LeaseOptions) {
    const { owner, process, clock } = options;
    this.#options = options;
    const lease: Lease = {
      v: LEASE_VERSION,
      nonce: this.#nonce,
      owner,
      process,
      since: clock.wallMs(),
    };
    this.#value = JSON.stringify(lease);
  }

  /**
   * Takes the lease and keeps it (P2, P4). At most once.
   * Errors: OwnershipError (another holder lives, or its lease does not lapse; `details.owner`), JournalError.
   */
  async take({ isTakeOver }: { readonly isTakeOver: boolean }): Promise<void> {
    const taking = isTakeOver ? this.#takeOver() : this.#takeWhenFree();
    this.#work = taking.catch(() => {
      // Told to whoever takes; `close` only waits.
    });
    await taking;
    this.#schedule();
  }

  /**
   * Gives it back, if it is still ours (P5), and closes the store. A server that is away is not waited for long: what is not given
   * back lapses, and that is told. Idempotent. Never rejects.
   */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#timer?.cancel();
    const { store, logger, what } = this.#options;
    const text = `the lease of ${what} could not be given back`;
    try {
      const isDone = await isDoneWithin(this.#giveBack(), GIVE_BACK_WAIT_MS);
      if (!isDone) logger.warn({ waitMs: GIVE_BACK_WAIT_MS }, text);
    } catch (error) {
      logger.warn(errorFields(error), text);
    }
    await store.close();
  }

  async #giveBack(): Promise<void> {
    await this.#work;
    // By what stands there: a writing whose answer was lost is ours too.
    const found = await this.#options.store.read();
    if (found !== null && this.#isOurs(found)) await this.#options.store.remove(found.revision);
  }

  async #takeOver(): Promise<void> {
    const { store, logger, what } = this.#options;
    const found = await store.read();
    if (found !== null) logger.warn({ from: nameOf(found) }, `${what} is taken over`);
    this.#revision = await store.overwrite(this.#value);
    await this.#setTtl();
  }

  async #takeWhenFree(): Promise<void> {
    const { store, clock } = this.#options;
    let watch: Watch | null = null;
    while (!this.#isClosed) {
      const found = await store.read();
      if (found === null || isOfNobody(found)) {
        this.#revision = await store.write(this.#value, found?.revision ?? null);
        if (this.#revision !== null) return this.#setTtl();
        // Somebody was quicker: the next look tells who.
      } else {
        watch ??= this.#beginWatch(found);
        this.#judge(watch, found);
        await new Promise<void>((resolve) => clock.wakeIn(LOOK_EVERY_MS, resolve));
      }
    }
    throw new IllegalStateError("The lease was given up while it was waited for.");
  }

  #beginWatch(found: StoredLease): Watch {
    const { store, clock, logger, what } = this.#options;
    const waitMs = store.ttlMs + LAPSE_WAIT_MS;
    logger.info({ holder: nameOf(found), waitMs }, `${what} has a holder: does it live?`);
    return { revision: found.revision, deadlineMs: clock.monotonicMs() + waitMs };
  }

  /** Throws when no further look can make it free. */
  #judge({ revision, deadlineMs }: Watch, found: StoredLease): void {
    const { store, clock, what } = this.#options;
    if (found.revision !== revision) throw livesError(what, found);
    if (clock.monotonicMs() > deadlineMs) throw unlapsedError(what, found, store.ttlMs);
  }

  async #setTtl(): Promise<void> {
    const { store, ttlMs } = this.#options;
    if (store.ttlMs !== ttlMs) await store.setTtl(ttlMs);
  }

  #schedule(): void {
    if (this.#isClosed) return;
    const { clock, store } = this.#options;
    this.#timer = clock.wakeIn(store.ttlMs / RENEWALS, () => {
      this.#work = this.#turn().then(() => this.#schedule());
    });
  }

  /** Never rejects (P6). */
  async #turn(): Promise<void> {
    const { store, logger, what } = this.#options;
    try {
      // Whatever it was that failed, the bucket itself may be gone.
      if (this.#told === "failing") await store.restore();
      const rival = await this.#renew();
      if (rival === null) {
        if (this.#told !== null) logger.info(`the lease of ${what} is renewed again`);
        this.#told = null;
      } else if (this.#told !== "lost") {
        this.#told = "lost";
        logger.warn({ holder: nameOf(rival) }, `another has the lease of ${what}`);
      }
    } catch (error) {
      if (this.#told !== "failing" && !this.#isClosed) {
        logger.warn(errorFields(error), `the lease of ${what} cannot be renewed`);
      }
      this.#told = "failing";
    }
  }

  /** Null: renewed; else who has it (P5). */
  async #renew(): Promise<StoredLease | null> {
    const { store } = this.#options;
    this.#revision = await store.write(this.#value, this.#revision);
    if (this.#revision !== null) return null;
    const found = await store.read();
    if (found !== null && !this.#isOurs(found)) return found;
    // It lapsed while this process or the server stood still, or the answer to our last writing was lost.
    this.#revision = await store.write(this.#value, found?.revision ?? null);
    return this.#revision === null ? await store.read() : null;
  }

  #isOurs(found: StoredLease): boolean {
    return parseLease(found.value)?.nonce === this.#nonce;
  }
}

function isOfNobody(found: StoredLease): boolean {
  const process = parseLease(found.value)?.process ?? null;
  return process !== null && isProvenGone(process);
}

function nameOf(found: StoredLease): string {
  const lease = parseLease(found.value);
  if (lease === null) return "a holder that this version cannot read";
  return `${lease.owner} (since ${new Date(lease.since).toISOString()})`;
}

const WAYS_OUT = "Stop that one first, or take over with --take-over (takeOver in code)";

function livesError(what: string, found: StoredLease): OwnershipError {
  const text = `${what} belongs to ${nameOf(found)}, which lives and renews its lease. ${WAYS_OUT}: it is fenced then, and ends.`;
  return new OwnershipError(sentence(text), { details: detailsOf(found, what) });
}

function unlapsedError(what: string, found: StoredLease, ttlMs: number): OwnershipError {
  const text = `${what} belongs to ${nameOf(found)}: it did not renew its lease of ${ttlMs} ms, and the server has not let that lapse yet. ${WAYS_OUT}.`;
  return new OwnershipError(sentence(text), { retry: "backoff", details: detailsOf(found, what) });
}

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function detailsOf(found: StoredLease, what: string) {
  const lease = parseLease(found.value);
  return {
    what,
    owner: lease?.owner ?? null,
    pid: lease?.process?.pid ?? null,
    since: lease?.since ?? null,
  };
}
