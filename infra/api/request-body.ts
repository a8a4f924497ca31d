/**
 * From the bytes of a request to what was asked.
 *
 * Owns: size, UTF-8, JSON, depth, and the fault list of a schema. Does not own: the schemas (contract/requests.ts).
 *
 * B1. Nothing is read past a bound: size before text, depth before JSON.
 * B2. Every fault is told with its path, the first FAULTS_MAX of them; a path never repeats more of the request than
 *     FAULT_TEXT_BYTES_MAX bytes.
 * B3. No body is the empty object: most queries ask for nothing in particular.
 */
import type { z } from "zod";
import { holdsProtoKey } from "../../actors/attempt/json-value.ts";
import { InvalidArgumentError } from "../../actors/errors.ts";
import { cutText } from "../../projections/bounded-value.ts";
import { FAULTS_MAX, NESTING_MAX, REQUEST_BYTES_MAX } from "./contract/limits.ts";

const FAULT_TEXT_BYTES_MAX = 200;

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Errors: InvalidArgumentError, `details.faults` lists each as {path, message}. */
export function parseRequest<Schema extends z.ZodType>(
  body: Uint8Array,
  schema: Schema,
): z.output<Schema> {
  return checkRequest(body.length === 0 ? {} : parseBody(body), schema);
}

/** The same for a request that is a value already. */
export function checkRequest<Schema extends z.ZodType>(
  value: unknown,
  schema: Schema,
): z.output<Schema> {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const all = parsed.error.issues.flatMap(faultsOf);
  const faults = all.slice(0, FAULTS_MAX);
  const list = faults.map(({ path, message }) => `${path}: ${message}`).join("; ");
  const more = all.length > faults.length ? `; and ${all.length - faults.length} more` : "";
  throw new InvalidArgumentError(`The request is not as it should be: ${list}${more}.`, {
    details: { faults, dropped: all.length - faults.length },
  });
}

interface Fault {
  readonly path: string;
  readonly message: string;
}

function faultsOf(issue: z.core.$ZodIssue): readonly Fault[] {
  const path = issue.path.map(String);
  if (issue.code !== "unrecognized_keys") return [faultAt(path, issue.message)];
  return issue.keys.map((key) => faultAt([...path, key], "no such field"));
}

const faultAt = (path: readonly string[], message: string): Fault => ({
  path: path.length === 0 ? "(request)" : cutText(path.join("."), FAULT_TEXT_BYTES_MAX),
  message: cutText(message, FAULT_TEXT_BYTES_MAX),
});

function parseBody(body: Uint8Array): unknown {
  if (body.length > REQUEST_BYTES_MAX) {
    throw new InvalidArgumentError(
      `The request takes ${body.length} bytes, at most ${REQUEST_BYTES_MAX} are allowed. Hand large data over by reference.`,
      { details: { bytes: body.length, bytesMax: REQUEST_BYTES_MAX } },
    );
  }
  if (isDeeperThan(body, NESTING_MAX)) {
    throw new InvalidArgumentError(
      `The request nests arrays and objects deeper than ${NESTING_MAX} levels.`,
      { details: { nestingMax: NESTING_MAX } },
    );
  }
  let text: string;
  let value: unknown;
  try {
    text = decoder.decode(body);
    value = JSON.parse(text);
  } catch (error) {
    // What the parser says quotes the request, which may be long or hold a secret: it is kept, and not sent anywhere.
    const what = error instanceof SyntaxError ? "JSON" : "UTF-8";
    throw new InvalidArgumentError(`The request is not ${what}: one JSON object is needed.`, {
      details: { bytes: body.length },
      cause: error,
    });
  }
  // A schema would pass over it: what was understood in part is not what was asked for. It may be spelled with escapes.
  if (MAY_NAME_PROTO.test(text) && holdsProtoKey(value)) {
    throw new InvalidArgumentError("The request has a member named __proto__, which is not kept.", {
      details: { member: "__proto__" },
    });
  }
  return value;
}

const MAY_NAME_PROTO = /__proto__|\\u/;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING: ReadonlySet<number> = new Set([0x5b, 0x7b]);
const CLOSING: ReadonlySet<number> = new Set([0x5d, 0x7d]);

/** Of a text that may be no JSON at all; then the answer means nothing, and the parser finds the fault. */
function isDeeperThan(body: Uint8Array, depthMax: number): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at] ?? 0;
    if (byte === QUOTE) isInString = !isInString;
    else if (isInString) at += byte === BACKSLASH ? 1 : 0;
    else if (OPENING.has(byte)) depth += 1;
    else if (CLOSING.has(byte)) depth -= 1;
    if (depth > depthMax) return true;
  }
  return false;
}
