/**
 * What a runtime is given: its ports, its definitions, and what they are checked for.
 *
 * Owns: finding what is wrong before a partition is taken, so that nobody is fenced for it. Does not own: the runtime.
 */

import type { ToolContext } from "../attempt/context.ts";
import { type JobDefinition, Registry } from "../attempt/definition.ts";
import type { Durability } from "../journal/codec.ts";
import type { Log } from "../journal/log.ts";
import { Redactor } from "../journal/redaction.ts";
import type { Ambient } from "../ports/ambient.ts";
import type { Clock } from "../ports/clock.ts";
import type { Ids } from "../ports/ids.ts";
import type { StoreBound } from "./space.ts";
import type { Notice } from "./world.ts";

export interface RuntimeOptions {
  readonly log: Log;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly ambient: Ambient<ToolContext>;
  readonly definitions: readonly JobDefinition[];
  /** Subject prefix of the partition, with its last dot: `hf.<namespace>.evt.<partition>.<generation>.` */
  readonly prefix: string;
  /** A name for people: host and process. */
  readonly owner: string;
  readonly durability: Durability;
  /** The limits that the store is under. Default: nobody can say, and nothing is refused for want of room. */
  readonly bounds?: () => Promise<readonly StoreBound[]>;
  /** Values that must not be journaled. */
  readonly secrets?: readonly string[];
  readonly onNotice?: (notice: Notice) => void;
}

/** What a runtime is given, checked. */
export interface Given {
  readonly registry: Registry;
  readonly redactor: Redactor;
  readonly notice: (notice: Notice) => void;
}

/** Errors: InvalidArgumentError for two definitions of one type, and for a secret too short to redact. */
export function givenIn({ definitions, secrets, onNotice }: RuntimeOptions): Given {
  const registry = new Registry();
  for (const definition of definitions) registry.add(definition);
  const redactor = new Redactor();
  for (const secret of secrets ?? []) redactor.register(secret);
  const notice = (told: Notice) => {
    try {
      onNotice?.(told);
    } catch (error) {
      // Whoever listens cannot stop the owner: it is told where nobody stands, loudly.
      void Promise.reject(error);
    }
  };
  return { registry, redactor, notice };
}
