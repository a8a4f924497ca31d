/**
 * What a job is made of: the definitions that modules export and the runtime is told.
 *
 * Owns: `defineTool`, `defineDoer`, their defaults and checks, the registry by type. Does not own: what stands in the
 * journal about a submitted job (machines/job/spec.ts): a definition may change between two reloads, a spec never does.
 */
import type { z } from "zod";
import { ChildPolicy, RetryClass } from "../../machines/job/spec.ts";
import type { Json } from "../../machines/json.ts";
import { InvalidArgumentError } from "../errors.ts";
import { faultOfId, ID_BYTES_MAX } from "../journal/subjects.ts";
import type { ToolContext } from "./context.ts";
import type { DoerContext } from "./doer-context.ts";

/** ID-3. */
export const TIMEOUT_MS_DEFAULT = 30 * 60_000;
/** New attempts of a tool that is safe to retry, after the process that ran it was lost. */
export const TOOL_RETRY_BUDGET_DEFAULT = 3;
/** A doer declares nothing but children and steps: running it again costs nothing, and daemons restart often. */
export const DOER_RETRY_BUDGET_DEFAULT = 100;
export const RETRY_BUDGET_MAX = 1_000;

export interface RetryPolicy {
  /** Default: `unknown_no_automatic_retry` for a tool, `safe_to_retry` for a doer. */
  readonly class?: RetryClass;
  /** New attempts after a lost one, 0 … 1,000. Default: 3 for a tool, 100 for a doer. */
  readonly budget?: number;
}

interface CommonOptions<Input extends z.ZodType, Output extends z.ZodType> {
  /** Names the job for ever: submissions and journaled jobs refer to it. Not blank, at most 200 bytes. */
  readonly type: string;
  readonly input: Input;
  readonly output: Output;
  /** For people. Default: the type. */
  readonly displayName?: string;
  /** First part of minted ids, at most 173 bytes. Default: the type. */
  readonly idPrefix?: string;
  readonly retry?: RetryPolicy;
}

export interface ToolOptions<Input extends z.ZodType, Output extends z.ZodType>
  extends CommonOptions<Input, Output> {
  /** Per attempt, ms, > 0; null: none. Default: 30 minutes. */
  readonly timeoutMs?: number | null;
  readonly run: (
    context: ToolContext,
    input: z.output<Input>,
  ) => Promise<z.input<Output>> | z.input<Output>;
}

export interface DoerOptions<Input extends z.ZodType, Output extends z.ZodType>
  extends CommonOptions<Input, Output> {
  /** Per attempt, ms, > 0; null: none. Default: none. */
  readonly timeoutMs?: number | null;
  /** What becomes of children that are live when it ends. Default: cancel. */
  readonly childrenLeft?: ChildPolicy;
  readonly run: (
    context: DoerContext,
    input: z.output<Input>,
  ) => Promise<z.input<Output>> | z.input<Output>;
}

export interface JobDefinition<
  Input extends z.ZodType = z.ZodType,
  Output extends z.ZodType = z.ZodType,
> {
  readonly kind: "tool" | "doer";
  readonly type: string;
  readonly input: Input;
  readonly output: Output;
  readonly displayName: string;
  readonly idPrefix: string;
  readonly timeoutMs: number | null;
  readonly retryClass: RetryClass;
  readonly retryBudget: number;
  readonly childrenLeft: ChildPolicy;
  /** Runs one attempt on input that was parsed at the door. */
  readonly run: (context: ToolContext, input: Json) => Promise<unknown> | unknown;
}

/** A unit of work: it holds no children and does the effects itself. Errors: InvalidArgumentError naming every fault. */
export function defineTool<Input extends z.ZodType, Output extends z.ZodType>(
  options: ToolOptions<Input, Output>,
): JobDefinition<Input, Output> {
  return define("tool", options, {
    timeoutMs: TIMEOUT_MS_DEFAULT,
    retryClass: "unknown_no_automatic_retry",
    retryBudget: TOOL_RETRY_BUDGET_DEFAULT,
    childrenLeft: "cancel",
  });
}

/** An orchestrator: it submits children, waits for them, and is run again after a reload without running them again. */
export function defineDoer<Input extends z.ZodType, Output extends z.ZodType>(
  options: DoerOptions<Input, Output>,
): JobDefinition<Input, Output> {
  return define("doer", options, {
    timeoutMs: null,
    retryClass: "safe_to_retry",
    retryBudget: DOER_RETRY_BUDGET_DEFAULT,
    childrenLeft: options.childrenLeft ?? "cancel",
  });
}

interface Defaults {
  readonly timeoutMs: number | null;
  readonly retryClass: RetryClass;
  readonly retryBudget: number;
  readonly childrenLeft: ChildPolicy;
}

function define<Input extends z.ZodType, Output extends z.ZodType>(
  kind: "tool" | "doer",
  options: ToolOptions<Input, Output> | DoerOptions<Input, Output>,
  defaults: Defaults,
): JobDefinition<Input, Output> {
  const { type, input, output, retry = {}, timeoutMs = defaults.timeoutMs } = options;
  const retryBudget =
    retry.budget ?? (retry.class === undefined ? defaults.retryBudget : TOOL_RETRY_BUDGET_DEFAULT);
  const definition = {
    kind,
    type,
    input,
    output,
    displayName: options.displayName ?? type,
    idPrefix: options.idPrefix ?? type,
    timeoutMs,
    retryClass: retry.class ?? defaults.retryClass,
    retryBudget,
    childrenLeft: defaults.childrenLeft,
    // The door parsed the input by this very schema, and the context is of this kind: both are what `run` declares.
    run: options.run as JobDefinition["run"],
  };
  const faults = faultsOf(definition);
  if (faults.length > 0) {
    throw new InvalidArgumentError(
      `The ${kind} ${JSON.stringify(type)} is not well defined: ${faults.join("; ")}.`,
      {
        details: { type, faults },
      },
    );
  }
  return Object.freeze(definition);
}

function faultsOf(definition: JobDefinition): string[] {
  const { type, input, output, timeoutMs, retryClass, retryBudget, childrenLeft, run } = definition;
  const faults: string[] = [];
  const typeFault = faultOfId(type);
  if (typeFault !== null) faults.push(`type: ${typeFault}`);
  const prefixFault = faultOfPrefix(definition.idPrefix);
  if (prefixFault !== null) faults.push(`idPrefix: ${prefixFault}`);
  if (typeof input?.safeParse !== "function") faults.push("input: a zod schema is needed");
  if (typeof output?.safeParse !== "function") faults.push("output: a zod schema is needed");
  if (typeof run !== "function") faults.push("run: a function is needed");
  const timeoutFault = faultOfTimeout(timeoutMs);
  if (timeoutFault !== null) faults.push(timeoutFault);
  if (!RetryClass.safeParse(retryClass).success) {
    faults.push(
      `retry.class: one of ${RetryClass.options.join(", ")}; found ${String(retryClass)}`,
    );
  }
  if (!Number.isInteger(retryBudget) || retryBudget < 0 || retryBudget > RETRY_BUDGET_MAX) {
    faults.push(`retry.budget: an integer from 0 to ${RETRY_BUDGET_MAX}; found ${retryBudget}`);
  }
  if (!ChildPolicy.safeParse(childrenLeft).success) {
    faults.push(
      `childrenLeft: one of ${ChildPolicy.options.join(", ")}; found ${String(childrenLeft)}`,
    );
  }
  return faults;
}

/** A dash and a ULID: the longest tail that an id is minted with. */
const ID_TAIL_LENGTH = 27;

/** Without room for the tail every submission would be refused for an id that nobody chose. */
function faultOfPrefix(prefix: unknown): string | null {
  const fault = faultOfId(prefix);
  if (fault !== null) return fault;
  if (faultOfId(`${String(prefix)}${"x".repeat(ID_TAIL_LENGTH)}`) === null) return null;
  return `at most ${ID_BYTES_MAX - ID_TAIL_LENGTH} bytes of UTF-8, so that an id has room for its tail`;
}

/** Why a timeout cannot be used, or null when it can. */
export const faultOfTimeout = (timeoutMs: unknown): string | null =>
  timeoutMs === null || (Number.isFinite(timeoutMs) && Number(timeoutMs) > 0)
    ? null
    : `timeoutMs: a number of ms, more than 0 and finite, or null; found ${String(timeoutMs)}`;

/** The definitions a runtime was told, by type. */
export class Registry {
  readonly #byType = new Map<string, JobDefinition>();

  /** The same definition twice is one. Errors: InvalidArgumentError when another one has its type. */
  add(definition: JobDefinition): void {
    const known = this.#byType.get(definition.type);
    if (known !== undefined && known !== definition) {
      throw new InvalidArgumentError(
        `Two definitions have the type ${JSON.stringify(definition.type)}.`,
        {
          details: { type: definition.type },
        },
      );
    }
    this.#byType.set(definition.type, definition);
  }

  get(type: string): JobDefinition | undefined {
    return this.#byType.get(type);
  }

  get types(): readonly string[] {
    return [...this.#byType.keys()];
  }
}
