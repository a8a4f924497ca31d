/**
 * Commands that come twice under one id: decided once, answered the same (API-2).
 *
 * Owns: finding what was taken, under way or in the job's records, across reloads. Does not own: the decisions (commands.ts).
 *
 * A command's id and a digest of what it says stand in the cause of the records that it made. A refusal made none: asked again,
 * it is decided anew.
 */
import type { Json } from "../../machines/json.ts";
import { canonicalJson } from "../attempt/json-value.ts";
import { ConflictError } from "../errors.ts";
import type { World } from "../runtime/world.ts";
import { assertNoSecret } from "./secret-names.ts";
import { checkedId } from "./submission.ts";

export interface NamedCommand {
  readonly job: string;
  /** `answer`, `resolve`. */
  readonly verb: string;
  readonly commandId: string | undefined;
  /** What it says, so that another one under its id is told from it. */
  readonly content: Json;
}

export class Repeats {
  readonly #world: Pick<World, "history" | "redactor" | "ids">;
  /** By job and command id: the cause of what is under way, and its end. */
  readonly #underWay = new Map<string, { readonly cause: string; readonly done: Promise<void> }>();

  constructor(world: Pick<World, "history" | "redactor" | "ids">) {
    this.#world = world;
  }

  /**
   * Runs `decide`, which is given the cause of its turn, unless the command was taken before.
   * Errors: ConflictError when its id was given to another command on the job; what `decide` rejects with.
   */
  async once(command: NamedCommand, decide: (cause: string) => Promise<void>): Promise<void> {
    const { job, verb, commandId } = command;
    if (commandId === undefined) return decide(`${verb}:${job}`);
    assertNoSecret(this.#world, checkedId(commandId, "commandId"));
    const cause = this.#causeOf(command, commandId);
    const name = canonicalJson([job, commandId]);
    const other = this.#underWay.get(name);
    if (other !== undefined) {
      if (other.cause !== cause) throw anotherOne(job, commandId);
      return other.done;
    }
    const done = this.#unlessTaken(job, commandId, cause, decide);
    this.#underWay.set(name, { cause, done });
    try {
      await done;
    } finally {
      this.#underWay.delete(name);
    }
  }

  async #unlessTaken(
    job: string,
    commandId: string,
    cause: string,
    decide: (cause: string) => Promise<void>,
  ): Promise<void> {
    const records = await this.#world.history.recordsOfJob(job);
    const taken = records.find(({ body }) => commandIn(body.cause) === commandId);
    if (taken === undefined) return decide(cause);
    if (taken.body.cause !== cause) throw anotherOne(job, commandId);
  }

  #causeOf({ verb, content }: NamedCommand, commandId: string): string {
    const { ids, redactor } = this.#world;
    const digest = ids.digest(canonicalJson([verb, redactor.redact({ value: content })]));
    return `command:${digest}:${commandId}`;
  }
}

/** The command id in a record's cause; null: its turn was none of a named command. */
const commandIn = (cause: string): string | null =>
  /^command:[A-Za-z0-9_-]{22}:(.+)$/s.exec(cause)?.[1] ?? null;

const anotherOne = (job: string, commandId: string) =>
  new ConflictError(
    `The command id ${JSON.stringify(commandId)} belongs to another command on the job ${job}.`,
    { details: { job, commandId } },
  );
