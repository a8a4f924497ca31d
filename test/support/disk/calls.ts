/**
 * System calls, read from what strace wrote.
 *
 * Owns: the lines of `strace -f -xx`, calls that another thread's lines interrupt. Does not own: what a call does to files
 * (power-cut.ts).
 *
 * A call is entered at one line and has returned at another, or never. What it does happens somewhere between the two: who needs a
 * promise counts what returned, who looks for harm what was entered.
 */
import { readFileSync } from "node:fs";

export interface Call {
  readonly name: string;
  /** All of its arguments, as strace writes them. */
  readonly text: string;
  /** Every string and buffer among them. */
  readonly strings: readonly Buffer[];
  /** Number of its line in the trace, from 0. */
  readonly entered: number;
  /** Null: it had not returned when the trace ended. */
  readonly returned: number | null;
  /** -1: it failed, or has not returned. */
  readonly result: number;
}

const LINE = /^(\d+)\s+(.*)$/;
const UNFINISHED = / ?<unfinished \.\.\.>$/;
const RESUMED = /^<\.\.\. \w+ resumed>/;
const CALL = /^(\w+)\((.*)\)\s+= (-?\d+|\?)[^)]*$/s;
const CUT_CALL = /^(\w+)\((.*)$/s;
const STRING = /"((?:\\x[0-9a-f]{2})*)"/g;

/** In the order in which they were entered. */
export function readCalls(trace: string): readonly Call[] {
  const calls: Call[] = [];
  const open = new Map<string, { text: string; entered: number }>();
  const lines = readFileSync(trace, "latin1").split("\n");
  for (const [number, line] of lines.entries()) {
    const [, thread = "", rest = ""] = LINE.exec(line) ?? [];
    if (UNFINISHED.test(rest)) {
      open.set(thread, { text: rest.replace(UNFINISHED, ""), entered: number });
      continue;
    }
    const head = RESUMED.test(rest) ? open.get(thread) : undefined;
    if (head !== undefined) open.delete(thread);
    const text = (head?.text ?? "") + rest.replace(RESUMED, "");
    const call = callIn(text, head?.entered ?? number, number);
    if (call !== null) calls.push(call);
  }
  for (const { text, entered } of open.values()) {
    const call = callIn(text, entered, null);
    if (call !== null) calls.push(call);
  }
  return calls.sort((one, other) => one.entered - other.entered);
}

/** Null: no call, but a thread's end or the like. */
function callIn(text: string, entered: number, returned: number | null): Call | null {
  const whole = CALL.exec(text);
  const [, name, words] = whole ?? CUT_CALL.exec(text) ?? [];
  if (name === undefined || words === undefined) return null;
  const strings = [...words.matchAll(STRING)].map(([, hex = ""]) =>
    Buffer.from(hex.replaceAll("\\x", ""), "hex"),
  );
  const result = Number(whole?.[3] ?? Number.NaN);
  return {
    name,
    text: words.replace(STRING, '""'),
    strings,
    entered,
    returned: whole === null ? null : returned,
    result: Number.isNaN(result) ? -1 : result,
  };
}

/** What a call sent or wrote, whole. */
export const dataOf = ({ strings }: Call): Buffer => Buffer.concat(strings);
