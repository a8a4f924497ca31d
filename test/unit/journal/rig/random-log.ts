/**
 * Logs as they may come to be, and as they may not: for holding readers against each other.
 *
 * Owns: an arbitrary of stored messages with several owners, torn groups, foreign, stale and damaged records, gaps.
 */
import fc from "fast-check";
import type { OutgoingMessage, StoredMessage } from "../../../../actors/journal/log.ts";
import { fence, junk, message, PREFIX, stored, writerNamed } from "./records.ts";

type Item =
  | { readonly kind: "fence" }
  /** `kept`: how many parts are written; `damaged`: one bit a part. */
  | {
      readonly kind: "group";
      readonly parts: number;
      readonly kept: number;
      readonly damaged: number;
    }
  | { readonly kind: "junk"; readonly count: number }
  | { readonly kind: "stale"; readonly index: number }
  | { readonly kind: "gap" }
  | { readonly kind: "brokenFence" };

const SUBJECTS = ["task.v.a", "task.v.b", "task.w.a", "account.x", "dispatcher"];
/** A checksum that no body of a test has. */
const WRONG_CHECKSUM = "ffffffff";

const group = (kept: fc.Arbitrary<number>, damaged: fc.Arbitrary<number>): fc.Arbitrary<Item> =>
  fc.record({ kind: fc.constant("group"), parts: fc.integer({ min: 1, max: 4 }), kept, damaged });

const items = (withHalts: boolean): fc.Arbitrary<Item> =>
  fc.oneof(
    { weight: 12, arbitrary: group(fc.constant(4), fc.constant(0)) },
    { weight: 2, arbitrary: group(fc.constant(4), fc.nat(15)) },
    { weight: 4, arbitrary: fc.constant<Item>({ kind: "fence" }) },
    {
      weight: 2,
      arbitrary: fc.record({ kind: fc.constant("junk"), count: fc.integer({ min: 1, max: 3 }) }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant("stale"), index: fc.nat(9) }) },
    { weight: withHalts ? 1 : 0, arbitrary: group(fc.integer({ min: 1, max: 3 }), fc.nat(15)) },
    { weight: withHalts ? 1 : 0, arbitrary: fc.constant<Item>({ kind: "gap" }) },
    { weight: withHalts ? 1 : 0, arbitrary: fc.constant<Item>({ kind: "brokenFence" }) },
  );

/** Writes items one after the other, as owners would who follow each other. */
class Script {
  readonly messages: OutgoingMessage[] = [];
  #owners = 0;
  #index = 0;
  #count = 0;

  get #writer(): string {
    return writerNamed(`w${this.#owners}`);
  }

  write(item: Item): void {
    switch (item.kind) {
      case "fence":
        this.#owners += 1;
        this.#index = 0;
        this.messages.push(fence(this.#writer, this.#owners % 2 === 0 ? "resync" : "take"));
        return;
      case "group":
        return this.#writeGroup(item.parts, Math.min(item.kept, item.parts), item.damaged);
      case "junk":
        for (let at = 0; at < item.count; at += 1) this.messages.push(junk(`junk.${this.#next()}`));
        return;
      case "stale":
        // Of an older owner, or of one that never was.
        this.messages.push(
          message({ writer: writerNamed(`w${this.#owners - 1}`), index: item.index + 1 }),
        );
        return;
      case "gap":
        this.#index += 1;
        return;
      case "brokenFence":
        this.messages.push({ ...fence(writerNamed("broken")), body: new Uint8Array([123]) });
    }
  }

  #writeGroup(parts: number, kept: number, damaged: number): void {
    for (let part = 1; part <= kept; part += 1) {
      this.#index += 1;
      const subject = PREFIX + (SUBJECTS[this.#next() % SUBJECTS.length] ?? "");
      const isDamaged = (damaged & (1 << (part - 1))) > 0;
      this.messages.push(
        message({
          writer: this.#writer,
          index: this.#index,
          part,
          parts,
          subject,
          ...(isDamaged ? { checksum: WRONG_CHECKSUM } : {}),
        }),
      );
    }
  }

  #next(): number {
    this.#count += 1;
    return this.#count;
  }
}

interface RandomLogOptions {
  /** Whether something may stand in it that must stop a reader. */
  readonly withHalts: boolean;
}

/** Logs of up to some dozen messages. Groups are torn only where a fence follows, unless `withHalts`. */
export function randomLogs({ withHalts }: RandomLogOptions): fc.Arbitrary<StoredMessage[]> {
  const torn = fc.integer({ min: 2, max: 4 }).chain((parts) =>
    group(fc.integer({ min: 1, max: parts - 1 }), fc.constant(0)).map((item) => ({
      ...item,
      parts,
    })),
  );
  const chunk = fc.oneof(
    { weight: 8, arbitrary: items(withHalts).map((item): Item[] => [item]) },
    { weight: 1, arbitrary: torn.map((item): Item[] => [item, { kind: "fence" }]) },
  );
  return fc.array(chunk, { maxLength: 25, size: "max" }).map((chunks) => {
    const script = new Script();
    for (const item of chunks.flat()) script.write(item);
    return stored(script.messages);
  });
}
