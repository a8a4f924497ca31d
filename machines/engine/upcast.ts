/**
 * Reads events that were written under an older version of a chart's schema.
 *
 * Owns: the chain of upcasters, one version at a time, keyed by event type. Does not own: parsing the result (the chart's
 * zod schema), what a reader does with an event nobody knows (the journal's reader).
 *
 * U1. An upcaster keyed (type, v) turns an event of version v into one of version v + 1; without one the event is unchanged.
 * U2. It may rename: the next link of the chain is looked up under the new type.
 * U3. What cannot be read is a value that says why. Nothing here throws, whatever a log holds.
 */

/** An event as it was read: only its type is known. */
export interface StoredEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** From one version to the next. Pure: no clock, no randomness; it must not change its argument. */
export type Upcaster = (event: StoredEvent) => StoredEvent;

/** event type → the version it was written under → how it looks one version later. */
export type Upcasters = Readonly<Record<string, Readonly<Record<number, Upcaster>>>>;

export type Upcast =
  /** `event` has a type the chart knows and the shape of the current version, not yet parsed. */
  { readonly kind: "event"; readonly event: StoredEvent } | UnreadableEvent;

/** Has no `type`, so that it can never be taken for an event. */
export type UnreadableEvent =
  /** The chart of this version has no such event. `eventType` is the one the chain ended at. */
  | { readonly kind: "unknown_type"; readonly eventType: string; readonly fromVersion: number }
  /** Written by a newer version than this one, or under a version that is none. */
  | { readonly kind: "unknown_version"; readonly eventType: string; readonly fromVersion: number }
  /** Not an object with a string `type`, at the start or after an upcaster. */
  | { readonly kind: "malformed"; readonly fromVersion: number }
  /** An upcaster threw: the event is damaged, or the upcaster is wrong. */
  | {
      readonly kind: "failed";
      readonly eventType: string;
      readonly fromVersion: number;
      readonly cause: unknown;
    };

export interface UpcastOptions {
  /** Version of the chart's schema now, from 1. */
  readonly version: number;
  readonly eventTypes: ReadonlySet<string>;
  readonly upcasters: Upcasters;
}

export function upcastEvent(input: unknown, fromVersion: number, options: UpcastOptions): Upcast {
  if (!isStoredEvent(input)) return { kind: "malformed", fromVersion };
  const isKnownVersion =
    Number.isInteger(fromVersion) && fromVersion >= 1 && fromVersion <= options.version;
  if (!isKnownVersion) return { kind: "unknown_version", eventType: input.type, fromVersion };

  let event: StoredEvent = input;
  for (let version = fromVersion; version < options.version; version += 1) {
    const upcaster = options.upcasters[event.type]?.[version];
    if (upcaster === undefined) continue;
    let next: unknown;
    try {
      next = upcaster(event);
    } catch (cause) {
      return { kind: "failed", eventType: event.type, fromVersion, cause };
    }
    if (!isStoredEvent(next)) return { kind: "malformed", fromVersion };
    event = next;
  }

  if (!options.eventTypes.has(event.type)) {
    return { kind: "unknown_type", eventType: event.type, fromVersion };
  }
  return { kind: "event", event };
}

function isStoredEvent(input: unknown): input is StoredEvent {
  return (
    typeof input === "object" && input !== null && "type" in input && typeof input.type === "string"
  );
}
