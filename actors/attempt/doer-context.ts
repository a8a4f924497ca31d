/**
 * The context of a doer: a tool's, and children, steps and waits.
 *
 * Owns: keys and ordinals of the children of one attempt. Does not own: admission of a child (door.ts), what an earlier
 * attempt left (kinship.ts, the journal).
 *
 * O2. A child is (parent, key): asked for again, by whatever attempt and in whatever order, it is the same one (TREE-6).
 * O3. An ordinal is the one first recorded. A step's ordinal is claimed by its first child: a known child's own, else one
 *     higher than every ordinal recorded or claimed so far. Only children of one step share it (TREE-3).
 */
import type { z } from "zod";
import type { Json } from "../../machines/json.ts";
import { WaitKind } from "../../machines/liveness/events.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { JobHandle } from "../jobs/handle.ts";
import { faultOfId } from "../journal/subjects.ts";
import { CancellationSignal } from "./cancellation.ts";
import { ToolContext } from "./context.ts";
import type { JobDefinition } from "./definition.ts";
import { canonicalJson, toJson } from "./json-value.ts";

export interface ChildOptions {
  /** The child's identity under this parent. Default: from its type, its input, and how often that was asked for. */
  readonly key?: string;
  /** Jobs that must have ended first. */
  readonly after?: readonly (JobHandle<unknown> | string)[];
  /** Whether it runs although one of them failed. Default: false. */
  readonly toleratesFailures?: boolean;
  /** Per attempt, ms. Default: its definition's. */
  readonly timeoutMs?: number | null;
  readonly metadata?: Readonly<Record<string, Json>>;
}

export interface WaitOptions {
  /** Default: `approval`. */
  readonly kind?: WaitKind;
  /** For people. Default: the wait's name. */
  readonly reason?: string;
}

/** A child as the door gets it: everything about it but its id is known. */
export interface ChildRequest extends Omit<ChildOptions, "key"> {
  readonly key: string;
  readonly definition: JobDefinition;
  readonly input: unknown;
  /** Of `known` when there is one, else claimed. */
  readonly ordinal: number;
}

/** What a doer's calls become; one object a runtime. */
export interface DoerPorts {
  readonly digest: (text: string) => string;
  /** Ordinal of a child of this parent that is recorded already; undefined: no such child. */
  readonly recordedOrdinal: (parent: string, key: string) => number | null | undefined;
  readonly ordinalMax: (parent: string) => number;
  /** `ask` makes the request, once and at once; what it throws refuses the child like any other fault of it. */
  readonly submitChild: (
    parent: DoerContext,
    ask: () => ChildRequest,
  ) => Promise<JobHandle<unknown>>;
  readonly recordedStep: (job: string, key: string) => Json | undefined;
  /** Resolves true when it is journaled, false when the job takes no steps any more. */
  readonly recordStep: (context: DoerContext, key: string, value: Json) => Promise<boolean>;
  /** Resolves with the answer. Rejects with the cancellation signal. */
  readonly awaitAnswer: (
    context: DoerContext,
    name: string,
    options: Required<WaitOptions>,
  ) => Promise<Json>;
}

export class DoerContext extends ToolContext {
  readonly #ports: DoerPorts;
  readonly #asked = new Set<string>();
  readonly #occurrences = new Map<string, number>();
  readonly #steps = new Map<string, Promise<Json>>();
  #step: { ordinal: number | null } | null = null;
  #claimed = 0;

  constructor(options: ConstructorParameters<typeof ToolContext>[0], ports: DoerPorts) {
    super(options);
    this.#ports = ports;
  }

  /** Keys of the children this attempt asked for. */
  get askedKeys(): ReadonlySet<string> {
    return this.#asked;
  }

  /** Begins the next step: the children submitted in it run in parallel and share its ordinal. */
  nextStep(): void {
    this.assertLive("nextStep");
    this.#step = { ordinal: null };
  }

  /** Submits one child as a step of its own. Resolves when the submission is journaled. */
  submitInStep<Input extends z.ZodType, Output extends z.ZodType>(
    definition: JobDefinition<Input, Output>,
    input: z.input<Input>,
    options: ChildOptions = {},
  ): Promise<JobHandle<z.output<Output>>> {
    this.nextStep();
    return this.submitInCurrentStep(definition, input, options);
  }

  /** Submits one child of the current step (the first one, when none was begun). Resolves when it is journaled. */
  submitInCurrentStep<Input extends z.ZodType, Output extends z.ZodType>(
    definition: JobDefinition<Input, Output>,
    input: z.input<Input>,
    options: ChildOptions = {},
  ): Promise<JobHandle<z.output<Output>>> {
    this.assertLive("submit");
    this.checkCancellation();
    const ask = (): ChildRequest => {
      const key =
        options.key === undefined ? this.#derivedKey(definition, input) : checkedKey(options.key);
      this.#asked.add(key);
      return { ...options, key, definition, input, ordinal: this.#ordinalFor(key) };
    };
    // The definition's schema types the result that the runtime keeps as JSON.
    return this.#ports.submitChild(this, ask) as Promise<JobHandle<z.output<Output>>>;
  }

  /**
   * Runs `work` once and journals its result, which must be JSON: a later attempt gets it without running `work` again.
   * A crash between the two runs it again: give `work` only effects that may happen twice.
   */
  step<Result extends Json>(key: string, work: () => Promise<Result> | Result): Promise<Result> {
    this.assertLive("step");
    const name = checkedKey(key);
    const begun = this.#steps.get(name) ?? this.#beginStep(name, work);
    return begun as Promise<Result>; // Either just computed by `work`, or what it left in an earlier attempt.
  }

  /** Waits for a word from outside (`answer`), across reloads. Nothing runs out meanwhile but the job's own timeout. */
  waitFor(name: string, options: WaitOptions = {}): Promise<Json> {
    this.assertLive("waitFor");
    this.checkCancellation();
    const checked = checkedKey(name);
    return this.#ports.awaitAnswer(this, checked, {
      kind: checkedKind(options.kind ?? "approval"),
      reason: String(options.reason ?? checked),
    });
  }

  #beginStep(key: string, work: () => Promise<Json> | Json): Promise<Json> {
    const begun = this.#runStep(key, work);
    this.#steps.set(key, begun);
    // What failed left nothing behind: asked for again, it is tried again.
    begun.catch(() => this.#steps.delete(key));
    return begun;
  }

  async #runStep(key: string, work: () => Promise<Json> | Json): Promise<Json> {
    const recorded = this.#ports.recordedStep(this.id, key);
    if (recorded !== undefined) return recorded;
    this.checkCancellation();
    const value = toJson(await work(), `the result of step ${JSON.stringify(key)}`);
    if (await this.#ports.recordStep(this, key, value)) return value;
    this.checkCancellation();
    throw new CancellationSignal(`job ${this.id} takes no steps any more`);
  }

  #derivedKey(definition: JobDefinition, input: unknown): string {
    const digest = this.#ports.digest(
      `${definition.type}\n${canonicalJson(toJson(input, "a child's input"))}`,
    );
    const occurrence = (this.#occurrences.get(digest) ?? 0) + 1;
    this.#occurrences.set(digest, occurrence);
    return `#${digest}.${occurrence}`;
  }

  #ordinalFor(key: string): number {
    this.#step ??= { ordinal: null };
    const recorded = this.#ports.recordedOrdinal(this.id, key);
    if (typeof recorded === "number") {
      this.#step.ordinal ??= recorded;
      return recorded;
    }
    this.#step.ordinal ??= Math.max(this.#claimed, this.#ports.ordinalMax(this.id)) + 1;
    this.#claimed = Math.max(this.#claimed, this.#step.ordinal);
    return this.#step.ordinal;
  }
}

/** Derived keys begin with `#`, so that no chosen key can be one. */
function checkedKey(key: string): string {
  const fault = key.startsWith("#") ? "a key does not begin with #" : faultOfId(key);
  if (fault === null) return key;
  throw new InvalidArgumentError(`The key ${JSON.stringify(key)} cannot be used: ${fault}.`, {
    details: { key, fault },
  });
}

/** What the journal takes live it must take when it is read again: an unknown kind would set the job aside then. */
function checkedKind(kind: unknown): WaitKind {
  const parsed = WaitKind.safeParse(kind);
  if (parsed.success) return parsed.data;
  throw new InvalidArgumentError(
    `A wait's kind is one of ${WaitKind.options.join(", ")}; found ${JSON.stringify(kind)}.`,
    { details: { kind: String(kind), allowed: [...WaitKind.options] } },
  );
}
