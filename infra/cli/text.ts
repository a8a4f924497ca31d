/**
 * Text for a terminal.
 *
 * Owns: making any text safe to print, its width, wrapping, durations and times. Pure but for the local time zone. Does not
 * own: what is printed.
 *
 * T1. What comes from outside (ids, messages, inputs) is printed with its control and direction characters spelt out: it can
 *     neither move the cursor nor make one line look like another.
 */

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** T1. */
export const printable = (text: string): string =>
  text
    .toWellFormed()
    .replace(UNSAFE, (character) => `\\u{${character.codePointAt(0)?.toString(16) ?? ""}}`);

/** The same for a message: white space of any kind is a space. */
export const oneLine = (text: string): string => printable(text.replace(/\s+/g, " ").trim());

const PLAIN_WORD = /^[\w.,:@%+/=-]+$/;

/** As a word of a command line that one can copy. */
export const shellWord = (text: string): string =>
  PLAIN_WORD.test(text) ? text : `'${printable(text).replaceAll("'", `'\\''`)}'`;

const WIDE =
  /[\p{Emoji_Presentation}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\uff01-\uff60]/u;
const NO_WIDTH = /\p{Mark}|\p{Emoji_Modifier}|\ufe0f/u;

/** Columns it takes on a terminal. */
export function widthOf(text: string): number {
  let width = 0;
  for (const character of text) {
    if (NO_WIDTH.test(character)) continue;
    width += WIDE.test(character) ? 2 : 1;
  }
  return width;
}

export const padEnd = (text: string, width: number): string =>
  text + " ".repeat(Math.max(0, width - widthOf(text)));

export const padStart = (text: string, width: number): string =>
  " ".repeat(Math.max(0, width - widthOf(text))) + text;

/** Lines of at most `width` columns; a word that is longer stands alone on a line that is longer. */
export function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && widthOf(line) + 1 + widthOf(word) > width) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");

/** `7 ms`, `1.2 s`, `42 s`, `2 min 05 s`, `3 h 07 min`, `4 d 02 h`. */
export function duration(ms: number): string {
  if (ms < SECOND_MS) return `${Math.round(ms)} ms`;
  if (ms < 10 * SECOND_MS) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  if (ms < MINUTE_MS) return `${Math.floor(ms / SECOND_MS)} s`;
  if (ms < HOUR_MS)
    return `${Math.floor(ms / MINUTE_MS)} min ${two((ms % MINUTE_MS) / SECOND_MS)} s`;
  if (ms < DAY_MS) return `${Math.floor(ms / HOUR_MS)} h ${two((ms % HOUR_MS) / MINUTE_MS)} min`;
  return `${Math.floor(ms / DAY_MS)} d ${two((ms % DAY_MS) / HOUR_MS)} h`;
}

/** `2026-11-30 20:51:38`, local. */
export function dateTime(ms: number): string {
  const date = new Date(ms);
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${timeOfDay(ms)}`;
}

/** `20:51:38`, local. */
export function timeOfDay(ms: number): string {
  const date = new Date(ms);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

const KIBIBYTE = 1_024;
const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** `16 bytes`, `3.4 MiB`. */
export function bytes(count: number): string {
  let value = count;
  let unit = 0;
  while (value >= KIBIBYTE && unit < UNITS.length - 1) {
    value /= KIBIBYTE;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${UNITS[unit]}`;
}

export const plural = (count: number, noun: string, nouns = `${noun}s`): string =>
  `${count} ${count === 1 ? noun : nouns}`;
