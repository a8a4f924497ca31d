/**
 * The reader rule once more, naively: all messages in memory, stretch by stretch between fences.
 *
 * Owns: an opinion on a whole log that shares no code with `actors/journal/reader.ts`, to hold the two against each other.
 *
 * A stretch belongs to the writer of the fence before it. Its records are the messages of that writer; they must be numbered
 * 1, 2, 3, … and fall into groups `1/n … n/n`. Only the last group may be short. Everything else in a stretch is void.
 */
import { crc32 } from "node:zlib";
import type { StoredMessage } from "../../../../actors/journal/log.ts";

export interface NaiveGroup {
  readonly messages: readonly StoredMessage[];
  /** Positions whose body does not match its checksum. */
  readonly damaged: readonly number[];
}

export interface NaiveEpoch {
  readonly fence: number;
  readonly writer: string;
  readonly groups: readonly NaiveGroup[];
  readonly validThrough: number;
  /** How many records of a group that is not whole stand at its end. */
  readonly tornCount: number;
}

export interface NaiveVerdict {
  readonly epochs: readonly NaiveEpoch[];
  /** Positions of what is no record of the owner's. */
  readonly foreign: readonly number[];
  /** Positions of everything that is neither a fence nor in a whole group: the foreign and the torn. */
  readonly void: readonly number[];
  readonly haltedAt: number | null;
}

const VOID_RUN_MAX = 2_048;

interface Tagged {
  readonly message: StoredMessage;
  readonly writer: string;
  readonly index: number;
  readonly part: number;
  readonly parts: number;
  readonly isIntact: boolean;
}

const tags = new WeakMap<StoredMessage, Tagged | null>();

/** What a frame says of its message; looked at once, since a message never changes. */
function tag(message: StoredMessage): Tagged | null {
  const known = tags.get(message);
  if (known !== undefined) return known;
  const tagged = readTag(message);
  tags.set(message, tagged);
  return tagged;
}

function readTag(message: StoredMessage): Tagged | null {
  const words = message.frame.split(" ");
  const [version, writer = "", index, place = "", checksum] = words;
  const [part, parts] = place.split("/").map(Number);
  if (version !== "1" || words.length !== 5 || writer.length !== 22) return null;
  if (part === undefined || parts === undefined || !(part >= 1 && part <= parts)) return null;
  const isIntact = crc32(message.body) === Number.parseInt(checksum ?? "", 16);
  return { message, writer, index: Number(index), part, parts, isIntact };
}

type Kind = "fence" | "own" | "void";

/** What each message is to the writer of the fence before it. */
function kindsOf(messages: readonly StoredMessage[]): readonly Kind[] {
  let owner: string | null = null;
  return messages.map((message) => {
    const tagged = tag(message);
    if (tagged?.index === 0) owner = tagged.writer;
    if (tagged === null) return "void";
    return tagged.index === 0 ? "fence" : tagged.writer === owner ? "own" : "void";
  });
}

/** Whether `next` may follow `last` (null: the fence) among the records of one writer. */
function mayFollow(last: Tagged | null, next: Tagged): boolean {
  const isFirst = last === null || last.part === last.parts;
  const hasPlace = isFirst ? next.part === 1 : next.part === last.part + 1;
  return (
    next.index === (last?.index ?? 0) + 1 && hasPlace && (isFirst || next.parts === last.parts)
  );
}

/** Position of the first message at which reading must stop; null: none. */
function findHalt(messages: readonly StoredMessage[]): number | null {
  const kinds = kindsOf(messages);
  let last: Tagged | null = null;
  let run = 0;
  for (const [at, message] of messages.entries()) {
    const tagged = tag(message);
    run = kinds[at] === "void" ? run + 1 : 0;
    if (run > VOID_RUN_MAX) return message.sequence;
    if (kinds[at] === "void" || tagged === null) continue;
    const isGood = kinds[at] === "fence" ? tagged.isIntact : mayFollow(last, tagged);
    if (!isGood) return message.sequence;
    last = kinds[at] === "fence" ? null : tagged;
  }
  return null;
}

function readEpoch(fence: Tagged, stretch: readonly StoredMessage[]): NaiveEpoch {
  const own = stretch
    .map(tag)
    .filter((tagged) => tagged !== null && tagged.writer === fence.writer);
  const groups: NaiveGroup[] = [];
  let at = 0;
  while (at < own.length) {
    const parts = own[at]?.parts ?? 1;
    const group = own.slice(at, at + parts).filter((tagged) => tagged !== null);
    if (group.length < parts) break;
    const damaged = group.filter(({ isIntact }) => !isIntact);
    groups.push({
      messages: group.map(({ message }) => message),
      damaged: damaged.map(({ message }) => message.sequence),
    });
    at += parts;
  }
  const position = fence.message.sequence;
  const validThrough = groups.at(-1)?.messages.at(-1)?.sequence ?? position;
  const tornCount = own.length - at;
  return { fence: position, writer: fence.writer, groups, validThrough, tornCount };
}

export function readNaively(messages: readonly StoredMessage[]): NaiveVerdict {
  const haltedAt = findHalt(messages);
  const readable = messages.filter(({ sequence }) => haltedAt === null || sequence < haltedAt);
  const fences = readable.filter((message) => tag(message)?.index === 0);
  const epochs = fences.flatMap((fence, at) => {
    const tagged = tag(fence);
    const next = fences[at + 1]?.sequence ?? Number.POSITIVE_INFINITY;
    const stretch = readable.filter(({ sequence: s }) => s > fence.sequence && s < next);
    return tagged === null ? [] : [readEpoch(tagged, stretch)];
  });
  const good = new Set(epochs.flatMap(({ groups }) => groups.flatMap((group) => group.messages)));
  const rest = readable.filter((message) => !good.has(message) && !fences.includes(message));
  const kinds = kindsOf(readable);
  return {
    epochs,
    foreign: readable.filter((_, at) => kinds[at] === "void").map(({ sequence }) => sequence),
    void: rest.map(({ sequence }) => sequence),
    haltedAt,
  };
}
