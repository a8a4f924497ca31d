/**
 * The writer against its naive model: any interleaving of staging, publishing, answering, poisoning, confirming and beginning.
 */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { OutgoingMessage, PublishAnswer } from "../../../../actors/journal/log.ts";
import { JournalWriter } from "../../../../actors/journal/writer.ts";
import { markedGroup, markOf, writerNamed } from "../rig/records.ts";
import { NaiveWriter } from "./naive-writer.ts";

type Operation =
  /** `echo`: its callback stages another group, or sets a barrier. */
  | { readonly kind: "stage"; readonly parts: number; readonly echo: "none" | "group" | "barrier" }
  | { readonly kind: "barrier" }
  | { readonly kind: "publish"; readonly count: number }
  /** `which`: how far behind the last acknowledged one, or any old one. */
  | { readonly kind: "answer"; readonly which: number; readonly how: keyof typeof ANSWERS }
  /** Publishes and acknowledges everything but the last `left` messages. */
  | { readonly kind: "catchUp"; readonly groups: number; readonly left: number }
  | { readonly kind: "poison" }
  | { readonly kind: "begin"; readonly confirmed: number };

const ANSWERS = {
  good: (sequence: number): PublishAnswer => ({ kind: "stored", sequence, isDuplicate: false }),
  displaced: (sequence: number): PublishAnswer => ({
    kind: "stored",
    sequence: sequence + 1,
    isDuplicate: false,
  }),
  duplicate: (sequence: number): PublishAnswer => ({ kind: "stored", sequence, isDuplicate: true }),
  refused: (): PublishAnswer => ({ kind: "refused", code: 10070, description: "refused" }),
  unavailable: (): PublishAnswer => ({ kind: "unavailable", description: "away" }),
} as const;

const constant = <Value extends string>(value: Value) => fc.constant(value);
const operations: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: constant("stage"),
      parts: fc.integer({ min: 1, max: 5 }),
      echo: fc.constantFrom("none", "none", "none", "group", "barrier"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: constant("barrier") }) },
  {
    weight: 4,
    arbitrary: fc.record({ kind: constant("publish"), count: fc.integer({ min: 1, max: 300 }) }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: constant("answer"),
      which: fc.oneof(
        { weight: 3, arbitrary: fc.constant(0) },
        { weight: 1, arbitrary: fc.integer({ min: -3, max: 6 }) },
      ),
      how: fc.oneof(
        { weight: 20, arbitrary: constant("good") },
        {
          weight: 1,
          arbitrary: fc.constantFrom("displaced", "duplicate", "refused", "unavailable"),
        },
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: constant("catchUp"),
      groups: fc.integer({ min: 1, max: 400 }),
      left: fc.integer({ min: 0, max: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: constant("poison") }) },
  { weight: 1, arbitrary: fc.record({ kind: constant("begin"), confirmed: fc.nat(9) }) },
);

/** Writer and model side by side. */
class Pair {
  readonly writer = new JournalWriter();
  readonly model = new NaiveWriter();
  readonly #called: { readonly writer: string[]; readonly model: string[] } = {
    writer: [],
    model: [],
  };
  #count = 0;
  #fence = 0;

  step(operation: Operation): void {
    switch (operation.kind) {
      case "stage":
        this.#stage(operation.parts, operation.echo);
        break;
      case "barrier":
        this.#barrier(`barrier ${this.#name()}`);
        break;
      case "publish":
        this.#publish(operation.count);
        break;
      case "answer":
        this.#answer(this.#oldest + operation.which, operation.how);
        break;
      case "catchUp":
        this.#catchUp(operation.groups, operation.left);
        break;
      case "poison":
        this.writer.poisonWith("poisoned");
        this.model.isPoisoned = true;
        break;
      case "begin":
        this.#begin(operation.confirmed);
    }
    this.compare();
  }

  compare(): void {
    const { writer, model } = this;
    expect({
      called: this.#called.writer,
      acknowledged: writer.acknowledgedPosition,
      pending: [writer.pendingCount, writer.pendingBytes, writer.inFlightCount],
      firstIncomplete: writer.firstIncomplete,
      isPoisoned: writer.poison !== null,
    }).toEqual({
      called: this.#called.model,
      acknowledged: model.acknowledgedPosition,
      pending: [model.pendingCount, model.pendingBytes, model.inFlightCount],
      firstIncomplete: model.firstIncomplete,
      isPoisoned: model.isPoisoned,
    });
    // What was called back and found alike need not be compared again.
    this.#called.writer.length = 0;
    this.#called.model.length = 0;
  }

  get #oldest(): number {
    return this.model.acknowledgedPosition - this.#fence + 1;
  }

  #name(): string {
    this.#count += 1;
    return `g${this.#count}`;
  }

  #stage(parts: number, echo: "none" | "group" | "barrier"): void {
    const name = this.#name();
    const group = groupOf(name, parts);
    const echoed = groupOf(`${name}+`, 1);
    for (const side of ["writer", "model"] as const) {
      this.#stageOn(side, group, () => {
        this.#called[side].push(name);
        if (echo === "group")
          this.#stageOn(side, echoed, () => this.#called[side].push(`${name}+`));
        if (echo === "barrier") this[side].barrier(() => this.#called[side].push(`${name}|`));
      });
    }
  }

  #stageOn(side: "writer" | "model", group: ReturnType<typeof groupOf>, then: () => void): void {
    if (side === "writer") return this.writer.stage(group.bodies, then);
    const sizes = group.bodies.map(({ body }) => body.length);
    this.model.stage(group.name, sizes, then);
  }

  #barrier(name: string): void {
    this.writer.barrier(() => this.#called.writer.push(name));
    this.model.barrier(() => this.#called.model.push(name));
  }

  #publish(count: number): void {
    const given: unknown[] = [];
    const wanted: unknown[] = [];
    for (let left = count; left > 0; left -= 1) {
      const next = this.writer.next();
      const expected = this.model.next();
      given.push(next === null ? null : describePublish(next.index, next.message));
      wanted.push(expected === null ? null : this.#expectPublish(expected));
      if (next === null || expected === null) break;
    }
    expect(given).toEqual(wanted);
  }

  #expectPublish({ index, message }: { readonly index: number; readonly message: string }): string {
    const { writer } = this.writer;
    return `${message}: ${writer}.${index} behind ${this.#fence + index - 1} ${writer}.${index - 1}`;
  }

  #answer(index: number, how: keyof typeof ANSWERS): void {
    this.writer.answer(index, ANSWERS[how](this.#fence + index));
    this.model.answer(index, how === "good");
  }

  #catchUp(groups: number, left: number): void {
    for (let group = 0; group < groups; group += 1) this.#stage((group % 3) + 1, "none");
    while (this.model.pendingCount > left && !this.model.isPoisoned && this.#fence > 0) {
      this.#publish(100);
      const last = Math.min(
        this.model.publishedCount,
        this.#oldest + this.model.pendingCount - left - 1,
      );
      if (last < this.#oldest) return;
      for (let index = this.#oldest; index <= last; index += 1) this.#answer(index, "good");
    }
  }

  /** A resync: what the log holds is confirmed, group by group, then a new fence. */
  #begin(confirmed: number): void {
    const { boundaries } = this.model;
    const found = boundaries[confirmed % Math.max(1, boundaries.length)];
    if (found !== undefined && this.#fence > 0) {
      this.writer.poisonWith("a resync");
      this.model.isPoisoned = true;
      this.writer.confirmBelow(found);
      this.model.confirmBelow(found);
      this.compare();
    }
    this.#fence = this.model.acknowledgedPosition + 7;
    this.writer.begin(writerNamed(`w${this.#fence}`), this.#fence);
    this.model.begin(this.#fence);
  }
}

function describePublish(index: number, message: OutgoingMessage): string {
  const { id, body, expectedLastSequence, expectedLastId } = message;
  const { group, part, parts } = markOf(body) ?? {};
  expect(id.endsWith(`.${index}`)).toBe(true);
  return `${group} ${part}/${parts}: ${id} behind ${expectedLastSequence} ${expectedLastId}`;
}

const groupOf = (name: string, parts: number) => {
  const scopes = Array.from({ length: parts }, (_, at) => `task.w.${at}`);
  return { name, bodies: markedGroup(name, scopes) };
};

it("agrees with the naive model, whatever is staged, answered, poisoned and begun in any order", () => {
  fc.assert(
    fc.property(fc.array(operations, { maxLength: 120, size: "max" }), (steps) => {
      const pair = new Pair();
      for (const step of steps) pair.step(step);
    }),
    { numRuns: 60 },
  );
});
