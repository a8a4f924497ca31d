/**
 * Random damage to a log that was good, some of it under frames that hold.
 *
 * Owns: an arbitrary of lists of blows, and striking them. Does not own: what any of them comes to.
 */
import fc from "fast-check";
import { type Frame, parseFrame } from "../../../../actors/journal/frame.ts";
import type { StoredMessage } from "../../../../actors/journal/log.ts";
import {
  fenceOf,
  flipped,
  forged,
  inserted,
  isRecord,
  junk,
  type Messages,
  reframed,
  renumbered,
  rewritten,
  STRANGER,
  withBody,
  withTransition,
} from "../../../compat/planting.ts";

const KINDS = [
  "flipBody",
  "flipFrame",
  "drop",
  "lose",
  "swap",
  "repeat",
  "junk",
  "stranger",
  "fence",
  "truncate",
  "index",
  "parts",
  "subject",
  "number",
  "state",
  "event",
  "actor",
  "time",
  "nonsense",
  "replay",
] as const;

export interface Blow {
  readonly kind: (typeof KINDS)[number];
  /** Where, and what of several ways: taken modulo what there is. */
  readonly place: number;
  readonly way: number;
}

export const blows: fc.Arbitrary<readonly Blow[]> = fc.array(
  fc.record({
    kind: fc.constantFrom(...KINDS),
    place: fc.nat(1_000),
    way: fc.nat(1_000),
  }),
  { minLength: 1, maxLength: 4 },
);

const STATES = ["new", "queued", "running", "completed", "failed", "interrupted", "nowhere"];
const ACTORS = ["job:other", "liveness:other", "dispatcher:", "dispatcher:x", "account:gpu", "job"];

/** Bodies that parse, and that nobody ever wrote. */
const NONSENSE: readonly unknown[] = [
  { type: "job.submitted" },
  { type: "job.submitted", spec: null },
  { type: "job.submitted", spec: { id: 5, dependencies: 7 } },
  { type: "job.submitted", spec: { id: "x", dependencies: [null], parent: 1, key: {} } },
  { type: "job.completed" },
  { type: "job.dependencySettled", dependency: null },
  { type: "dispatcher.taken", boot: null },
  { type: "dispatcher.taken", fence: "1", boot: { id: 3, uptimeMs: "x" }, closed: 9 },
  { type: "xstate.init" },
  { type: "__proto__" },
  { type: "" },
];

const pick = <Item>(items: readonly Item[], at: number): Item => {
  const item = items[at % items.length];
  if (item === undefined) throw new Error("nothing to pick from");
  return item;
};

const isFramed = (message: StoredMessage): boolean => parseFrame(message.frame) !== null;

/** Struck one after the other; a blow that finds nothing to strike does nothing. */
export const struck = (messages: Messages, all: readonly Blow[]): StoredMessage[] =>
  all.reduce<StoredMessage[]>((log, blow) => strike(log, blow), [...messages]);

function strike(log: StoredMessage[], blow: Blow): StoredMessage[] {
  if (log.length === 0) return log;
  const at = blow.place % log.length;
  const message = pick(log, at);
  const replace = (changed: StoredMessage): StoredMessage[] => log.with(at, changed);
  switch (blow.kind) {
    case "flipBody":
      return replace(flipped(message, blow.way % Math.max(1, message.body.length)));
    case "flipFrame":
      return replace(withFlippedFrame(message, blow.way));
    case "drop":
      return renumbered(log.toSpliced(at, 1));
    case "lose":
      return log.toSpliced(at, 1);
    case "truncate":
      return log.slice(0, at);
    case "swap": {
      const other = blow.way % log.length;
      return renumbered(log.with(at, pick(log, other)).with(other, message));
    }
    case "repeat":
      return inserted(renumbered(log), (blow.way % log.length) + 1, message);
    case "junk":
      return inserted(renumbered(log), at + 1, junk());
    case "stranger":
      return isFramed(message)
        ? inserted(renumbered(log), at + 1, reframed(message, { writer: STRANGER }))
        : log;
    case "fence": {
      const writer = `fence-${blow.way}`.padEnd(22, "_");
      const fence = fenceOf(writer, blow.way % 2 === 0 ? "take" : "resync");
      return inserted(renumbered(log), at + 1, fence);
    }
    default:
      return rewrite(log, at, message, blow);
  }
}

function withFlippedFrame(message: StoredMessage, way: number): StoredMessage {
  const place = way % Math.max(1, message.frame.length);
  const letters = message.frame.split("");
  letters[place] = letters[place] === "1" ? "2" : "1";
  return { ...message, frame: letters.join("") };
}

/** Blows under a frame that holds. */
function rewrite(
  log: StoredMessage[],
  at: number,
  message: StoredMessage,
  { kind, way }: Blow,
): StoredMessage[] {
  if (!isFramed(message)) return log;
  const replace = (changed: StoredMessage): StoredMessage[] => log.with(at, changed);
  switch (kind) {
    case "index":
      return replace(reframed(message, changeOf(message, "index", way)));
    case "parts":
      return replace(reframed(message, changeOf(message, way % 2 === 0 ? "part" : "parts", way)));
    case "subject":
      return replace({ ...message, subject: pick(log, way).subject });
    case "replay":
      return replayed(log, message);
    default:
  }
  if (!isRecord(message)) return log;
  switch (kind) {
    case "number":
      return replace(
        withTransition(message, way % 2, (each) => ({ ...each, sequence: (way % 9) - 1 })),
      );
    case "state": {
      const value = pick(STATES, way);
      return replace(
        withTransition(message, way % 2, (each) =>
          way % 3 === 0 ? { ...each, from: value } : { ...each, to: value },
        ),
      );
    }
    case "event": {
      const event = pick(NONSENSE, way) as { readonly type: string };
      return replace(withTransition(message, way % 2, (each) => ({ ...each, event })));
    }
    case "actor":
      return replace(
        withTransition(message, way % 2, (each) => ({ ...each, actor: pick(ACTORS, way) })),
      );
    case "time":
      return replace(rewritten(message, (body) => ({ ...body, t: body.t + (way % 200) - 100 })));
    default:
      return replace(withBody(message, new TextEncoder().encode(pick(TEXTS, way))));
  }
}

const TEXTS = [
  "",
  "null",
  "[]",
  "{}",
  '{"v":1}',
  '{"v":2,"transitions":[]}',
  `${"[".repeat(20_000)}`,
];

function changeOf(
  message: StoredMessage,
  field: "index" | "part" | "parts",
  way: number,
): Partial<Frame> {
  const frame = parseFrame(message.frame);
  const value = Math.max(1, (frame?.[field] ?? 1) + (way % 3) - 1);
  return { [field]: value };
}

/** What a record says is said once more, by the log's owner as its next one. */
function replayed(log: StoredMessage[], message: StoredMessage): StoredMessage[] {
  const hasOwner = log.some(({ frame }) => parseFrame(frame)?.index === 0);
  if (!isRecord(message) || !hasOwner) return log;
  const body = JSON.parse(new TextDecoder().decode(message.body)) as {
    readonly transitions: readonly unknown[];
    readonly correlation: string;
  };
  const [added] = forged([...log], { scope: "task.x.x", ...body }).slice(-1);
  return added === undefined
    ? log
    : inserted(renumbered(log), log.length + 1, { ...added, subject: message.subject });
}
