/**
 * Submissions: what a caller asks for, as a spec.
 *
 * Owns: checking a request against its definition, minting and checking ids, the spec that is journaled. Everything here is
 * synchronous and needs nothing but the request. Does not own: the walls that need state (door.ts).
 */

import {
  type Dependency,
  type JobSpec,
  META_CALLER,
  META_ITERATION,
} from "../../machines/job/spec.ts";
import type { Json } from "../../machines/json.ts";
import { faultOfTimeout, type JobDefinition } from "../attempt/definition.ts";
import type { ChildRequest, DoerContext } from "../attempt/doer-context.ts";
import { faultsOf } from "../attempt/execution.ts";
import { canonicalJson, toJson } from "../attempt/json-value.ts";
import { InvalidArgumentError } from "../errors.ts";
import { BODY_BYTES_MAX } from "../journal/codec.ts";
import { faultOfId } from "../journal/subjects.ts";
import type { Ids } from "../ports/ids.ts";
import { JobHandle } from "./handle.ts";

/** Dependencies of one job. */
export const DEPENDENCIES_MAX = 1_000;
/** A spec with its dependencies, bytes of JSON: a record holds it beside the first ends that the job is told of. */
export const SPEC_BYTES_MAX = BODY_BYTES_MAX - 112 * 1024;
/** Members of a caller's metadata, and the bytes of JSON they take together. */
const METADATA_BYTES_MAX = 8_192;

export interface SubmitOptions {
  /** Chosen by the caller: submitting it again is the same job (DOOR-7). Default: minted. At most 200 bytes of UTF-8. */
  readonly id?: string;
  /** Whose job it is; not blank. Default: `local`. */
  readonly user?: string;
  /** Jobs that must have ended first. */
  readonly after?: readonly (JobHandle<unknown> | string)[];
  /** Whether it runs although one of them failed. Default: false. */
  readonly toleratesFailures?: boolean;
  /** Per attempt, ms, > 0; null: none. Default: its definition's. */
  readonly timeoutMs?: number | null;
  readonly metadata?: Readonly<Record<string, Json>>;
}

/** A dependency as it was named: by a handle that knows its workflow, or by an id alone. */
export interface NamedDependency {
  readonly id: string;
  readonly workflow: string | null;
}

/** A spec but for what only state can tell: where its dependencies stand. */
export interface Submission {
  /** Without dependencies until the door knows where they stand. */
  readonly spec: JobSpec;
  readonly after: readonly NamedDependency[];
  /** Whether somebody else may know the id: then the journal is asked for it too. */
  readonly isIdChosen: boolean;
}

export function rootSubmission(
  ids: Ids,
  definition: JobDefinition,
  input: unknown,
  options: SubmitOptions,
  caller: string | null,
): Submission {
  const id = options.id ?? `${definition.idPrefix}-${ids.ulid()}`;
  const parsed = parseInput(definition, input);
  const spec = newSpec(definition, parsed, options, {
    id: checkedId(id, "id"),
    workflow: id,
    user: checkedId(options.user ?? "local", "user"),
    parent: null,
    key: null,
    digest: options.id === undefined ? null : digestOf(ids, definition, parsed),
    whenParentEnds: "keep" as const,
    metadata: checkedMetadata(options.metadata, caller === null ? {} : { [META_CALLER]: caller }),
  });
  return { spec, after: namedDependencies(options.after), isIdChosen: options.id !== undefined };
}

export function childSubmission(
  ids: Ids,
  parent: DoerContext,
  request: ChildRequest,
  whenParentEnds: JobSpec["whenParentEnds"],
): Submission {
  const { definition, key } = request;
  const parsed = parseInput(definition, request.input);
  const spec = newSpec(definition, parsed, request, {
    id: childId(ids, definition, parent.id, key),
    workflow: parent.workflow,
    user: parent.user,
    parent: parent.id,
    key,
    digest: digestOf(ids, definition, parsed),
    whenParentEnds,
    metadata: checkedMetadata(request.metadata, {
      [META_ITERATION]: request.ordinal,
      [META_CALLER]: parent.type,
    }),
  });
  // A child that no earlier attempt asked for is new: its id derives from its key, and its family is in memory.
  return { spec, after: namedDependencies(request.after), isIdChosen: false };
}

/** The id of a child follows from its parent and its key (TREE-6): two of either never have one id. */
export const childId = (ids: Ids, definition: JobDefinition, parent: string, key: string): string =>
  `${definition.idPrefix}-${ids.digest(JSON.stringify([parent, key]))}`;

/** Whether a child may have it: then it may stand in any workflow. */
export const mayBeChildId = (id: string): boolean => /-[A-Za-z0-9_-]{22}$/.test(id);

export const digestOf = (ids: Ids, definition: JobDefinition, input: Json): string =>
  ids.digest(`${definition.type}\n${canonicalJson(input)}`);

/** What tells one job from another of its definition. */
type Identity = Pick<
  JobSpec,
  "id" | "workflow" | "user" | "parent" | "key" | "digest" | "whenParentEnds" | "metadata"
>;

const NO_DEPENDENCIES: Dependency[] = [];

function newSpec(
  definition: JobDefinition,
  input: Json,
  options: Pick<SubmitOptions, "timeoutMs" | "toleratesFailures">,
  identity: Identity,
): JobSpec {
  const { type, kind, displayName, retryClass, retryBudget } = definition;
  const timeoutMs = options.timeoutMs === undefined ? definition.timeoutMs : options.timeoutMs;
  const timeoutFault = faultOfTimeout(timeoutMs);
  if (timeoutFault !== null)
    throw new InvalidArgumentError(`${timeoutFault}.`, { details: { fault: timeoutFault } });
  const toleratesFailures = options.toleratesFailures ?? false;
  if (typeof toleratesFailures !== "boolean") {
    throw new InvalidArgumentError(
      `toleratesFailures: true or false; found ${typeof toleratesFailures}.`,
    );
  }
  // One literal, not spreads: every job makes one.
  return {
    id: identity.id,
    type,
    kind,
    name: displayName,
    workflow: identity.workflow,
    user: identity.user,
    parent: identity.parent,
    key: identity.key,
    digest: identity.digest,
    input,
    dependencies: NO_DEPENDENCIES,
    toleratesFailures,
    timeoutMs,
    retryClass,
    retryBudget,
    whenParentEnds: identity.whenParentEnds,
    metadata: identity.metadata,
  };
}

/** DOOR-6: what does not parse is refused with the path of every fault. */
export function parseInput(definition: JobDefinition, input: unknown): Json {
  const parsed = definition.input.safeParse(input);
  if (parsed.success) return toJson(parsed.data, `the input of ${definition.type}`);
  const faults = faultsOf(parsed.error);
  throw new InvalidArgumentError(
    `The input of ${definition.type} does not parse: ${faults.join("; ")}.`,
    {
      details: { type: definition.type, faults },
    },
  );
}

export function checkedId(id: unknown, what: string): string {
  const fault = faultOfId(id);
  if (fault === null) return String(id);
  throw new InvalidArgumentError(`${what}: ${fault}.`, { details: { what, fault } });
}

function checkedMetadata(
  given: Readonly<Record<string, Json>> | undefined,
  own: Readonly<Record<string, Json>>,
): JobSpec["metadata"] {
  if (given === undefined) return own;
  if (typeof given !== "object" || given === null || Array.isArray(given))
    throw new InvalidArgumentError("metadata: an object of JSON values.");
  const metadata = toJson(given, "metadata");
  const text = JSON.stringify(metadata);
  // It was an object, and JSON of it is one.
  if (text.length <= METADATA_BYTES_MAX) return { ...(metadata as JobSpec["metadata"]), ...own };
  throw new InvalidArgumentError(
    `metadata: at most ${METADATA_BYTES_MAX} characters of JSON, found ${text.length}.`,
    {
      details: { length: text.length, lengthMax: METADATA_BYTES_MAX },
    },
  );
}

function namedDependencies(after: SubmitOptions["after"]): readonly NamedDependency[] {
  if (after === undefined) return [];
  if (!Array.isArray(after))
    throw new InvalidArgumentError(`after: a list of handles and ids; found ${typeof after}.`);
  if (after.length > DEPENDENCIES_MAX) {
    throw new InvalidArgumentError(
      `after: at most ${DEPENDENCIES_MAX} dependencies, found ${after.length}.`,
      {
        details: { found: after.length, max: DEPENDENCIES_MAX },
      },
    );
  }
  const named = after.map((dependency) =>
    dependency instanceof JobHandle
      ? { id: dependency.id, workflow: dependency.workflow }
      : { id: checkedId(dependency, "after"), workflow: null },
  );
  return [...new Map(named.map((dependency) => [dependency.id, dependency])).values()];
}

/** So many fit into a record beside the largest input, however long their ids: they are not measured. */
const FEW_DEPENDENCIES = 16;

/** Errors: InvalidArgumentError when the ids of its dependencies, beside its input and metadata, take more than a record has. */
export function withDependencies({ spec }: Submission, dependencies: Dependency[]): JobSpec {
  if (dependencies.length === 0) return spec;
  const whole = { ...spec, dependencies };
  if (dependencies.length <= FEW_DEPENDENCIES) return whole;
  const bytes = bytesOf(whole);
  if (bytes <= SPEC_BYTES_MAX) return whole;
  const own = bytesOf(dependencies);
  throw new InvalidArgumentError(
    `after: the ids of ${dependencies.length} dependencies take ${own} bytes, and ${bytes} with the rest of what is submitted; at most ${SPEC_BYTES_MAX} are allowed. Name fewer: a job that waits for some of them can stand for them.`,
    { details: { dependencies: dependencies.length, bytes, bytesMax: SPEC_BYTES_MAX } },
  );
}

const bytesOf = (value: object): number => encoder.encode(JSON.stringify(value)).length;

const encoder = new TextEncoder();
