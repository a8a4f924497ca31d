/**
 * A server as the rest of Holdfast sees it, launched or external.
 *
 * Owns: the shape. Does not own: how one comes to be (`launch.ts`, `external.ts`).
 */
import type { Durability } from "../../actors/journal/codec.ts";
import type { ServerVersion } from "./binary/version.ts";
import type { Credentials } from "./credentials.ts";

/** What became of a server that was to be stopped. */
export type StopOutcome =
  /** It ended by itself when it was asked to. */
  | { readonly kind: "ended" }
  /** It did not end in time and was killed. Nothing acknowledged is lost by that. */
  | { readonly kind: "killed" }
  /** It was not there any more, or its number means another process now: nothing was signalled. */
  | { readonly kind: "gone" }
  /** It was left running: another daemon uses it, or it is not ours to stop. */
  | { readonly kind: "left_running"; readonly usedBy: readonly number[] };

export interface NatsServer extends AsyncDisposable {
  readonly url: string;
  readonly version: ServerVersion;
  /** Null: an external server, which may be on another machine. */
  readonly pid: number | null;
  readonly durability: Durability;
  /** Where it keeps its streams, and what all of them together may take. Null: an external server. */
  readonly store: { readonly folder: string; readonly bytesMax: number } | null;
  readonly credentials: Credentials;
  /** It ran already: an earlier daemon of this data folder had started it. */
  readonly isAdopted: boolean;
  /** What the operator should know, one sentence each; empty as a rule. */
  readonly notices: readonly string[];
  /** Whether the process still runs. Always true for an external one: only a connection can tell. */
  isRunning(): boolean;
  /**
   * Gives the server up, and stops it when nobody else uses it. Idempotent: a second call returns the first one's
   * outcome. Bounded by the stop times. Throws `external_service` when not even SIGKILL ends it.
   */
  stop(): Promise<StopOutcome>;
}
