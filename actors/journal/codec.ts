/**
 * The codec: records to bytes and back.
 *
 * Owns: the JSON body of a record and of a fence, its version, its size limit. Does not own: frames (frame.ts), secrets
 * (redaction.ts), what an event may hold (the charts' schemas).
 *
 * K1. decode(encode(record)) equals the record.
 * K2. decode never throws: what cannot be read is told with the reason, and the reader decides.
 * K3. A body of a newer version is not guessed at.
 */
import type { ChartEvent } from "../../machines/engine/chart.ts";

/** Version of the body's shape. Events have versions of their own (`Transition.v`). */
export const BODY_VERSION = 1;

/** Largest body of one message, bytes. Well below the server's default `max_payload` of 1 MiB. */
export const BODY_BYTES_MAX = 262_144;

/** One move of one actor. */
export interface Transition {
  /** `<chart>:<id>`. */
  readonly actor: string;
  /** Counts this actor's transitions from 1. */
  readonly sequence: number;
  readonly event: ChartEvent;
  /** Schema version of the event; absent means 1. */
  readonly v?: number | undefined;
  readonly from: string;
  readonly to: string;
  readonly reason?: string | undefined;
  readonly evidence?: Readonly<Record<string, unknown>> | undefined;
  /** The `do.*` effects this move named, in order; what they carry follows from the event. Absent means none. */
  readonly effects?: readonly string[] | undefined;
}

/** What moved in one group and one scope. */
export interface RecordBody {
  readonly v: number;
  /** Wall clock, ms since the epoch. */
  readonly at: number;
  /** Journal time, ms: never decreasing. */
  readonly t: number;
  /** The command, timer, completion or signal that made it. */
  readonly cause: string;
  /** The workflow; empty for the dispatcher's own. */
  readonly correlation: string;
  readonly transitions: readonly Transition[];
}

export type Durability = "fsync" | "process";

/** Taking a partition. Its stream sequence is the epoch. It has no journal time: that is known when the log is read. */
export interface FenceBody {
  readonly v: number;
  readonly at: number;
  readonly fence: {
    /** Who took it: a name for people. */
    readonly owner: string;
    readonly durability: Durability;
    /** `take`: another owner may have lived before. `resync`: the same owner, after a lost connection. */
    readonly kind: "take" | "resync";
  };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Bodies are written one behind the other into chunks: a buffer of its own for each costs more than the writing (measured).
 * A chunk lives as long as the last body in it.
 */
const CHUNK_BYTES = 512 * 1024;
let chunk = new Uint8Array(CHUNK_BYTES);
let used = 0;

/** The body's bytes; they are not written to again. */
export function encodeBody(body: RecordBody | FenceBody): Uint8Array {
  const text = JSON.stringify(body);
  const bytesMax = 3 * text.length; // UTF-8 takes at most three bytes for a UTF-16 unit.
  if (bytesMax > CHUNK_BYTES / 4) return encoder.encode(text);
  if (used + bytesMax > CHUNK_BYTES) {
    chunk = new Uint8Array(CHUNK_BYTES);
    used = 0;
  }
  const from = used;
  used += encoder.encodeInto(text, chunk.subarray(from)).written;
  return chunk.subarray(from, used);
}

export type Decoded =
  | { readonly kind: "record"; readonly body: RecordBody }
  | { readonly kind: "fence"; readonly body: FenceBody }
  | { readonly kind: "unreadable"; readonly reason: string };

export function decodeBody(bytes: Uint8Array): Decoded {
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(bytes));
  } catch (error) {
    return { kind: "unreadable", reason: `not JSON in UTF-8: ${String(error)}` };
  }
  if (typeof value !== "object" || value === null)
    return { kind: "unreadable", reason: "not a JSON object" };
  // The version says who wrote it, and the shape follows from it. What readers rely on is looked at: a checksum proves nothing
  // about a forger, and whoever folds must not fall over what he wrote (ES-6).
  const body = value as RecordBody & FenceBody;
  if (!Number.isSafeInteger(body.v) || body.v < 1 || body.v > BODY_VERSION) {
    return {
      kind: "unreadable",
      reason: `body version ${String(body.v)}; this reader knows up to ${BODY_VERSION}`,
    };
  }
  if (Array.isArray(body.transitions)) {
    const reason = faultOfRecord(body);
    return reason === null ? { kind: "record", body } : { kind: "unreadable", reason };
  }
  if (typeof body.fence === "object" && body.fence !== null) return { kind: "fence", body };
  return { kind: "unreadable", reason: "neither transitions nor a fence" };
}

function faultOfRecord(body: RecordBody): string | null {
  // JSON has numbers that are none here: 1e999 would be the journal's time for ever.
  if (!Number.isFinite(body.at) || !Number.isFinite(body.t)) return "a record without its times";
  if (typeof body.cause !== "string" || typeof body.correlation !== "string")
    return "a record without cause or correlation";
  return body.transitions.every(isTransition) ? null : "a transition that is none";
}

const isTransition = (value: Partial<Transition> | null): boolean =>
  typeof value === "object" &&
  value !== null &&
  typeof value.actor === "string" &&
  Number.isSafeInteger(value.sequence) &&
  typeof value.from === "string" &&
  typeof value.to === "string" &&
  typeof value.event === "object" &&
  typeof value.event?.type === "string" &&
  (value.v === undefined || Number.isSafeInteger(value.v));
