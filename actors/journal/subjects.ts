/**
 * Subjects: where a scope's records stand in the stream, and ids as subject tokens.
 *
 * Owns: the injective encoding of any well-formed id as one token, the scopes. Does not own: stream names (infra/jetstream).
 *
 * S1. encodeToken is injective, and the identity on ids of letters, digits, `_` and `-`.
 * S2. A token never holds a dot, a wildcard, white space or a control character, whatever the id.
 */

/** Longest id, in UTF-8 bytes: an encoded one (3 characters a byte) twice in a subject stays far below the server's limit. */
export const ID_BYTES_MAX = 200;

const PLAIN = /^[A-Za-z0-9_-]+$/;
const encoder = new TextEncoder();
// A byte order mark belongs to the id like any other character.
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Why an id cannot be used, or null when it can. */
export function faultOfId(id: unknown): string | null {
  if (typeof id !== "string") return `an id is a string, found ${id === null ? "null" : typeof id}`;
  if (id.trim() === "") return "an id is not blank";
  if (!id.isWellFormed()) return "an id is well-formed Unicode (no lone surrogates)";
  if (3 * id.length <= ID_BYTES_MAX) return null; // UTF-8 takes at most three bytes for a UTF-16 unit.
  const bytes = encoder.encode(id).length;
  return bytes > ID_BYTES_MAX
    ? `an id has at most ${ID_BYTES_MAX} bytes of UTF-8, found ${bytes}`
    : null;
}

/** `=XX` for every byte that is not plain. */
export function encodeToken(id: string): string {
  if (PLAIN.test(id)) return id;
  let token = "";
  for (const byte of encoder.encode(id)) {
    const character = String.fromCharCode(byte);
    token +=
      byte < 128 && PLAIN.test(character) ? character : `=${byte.toString(16).padStart(2, "0")}`;
  }
  return token;
}

/** Null: no token of ours. */
export function decodeToken(token: string): string | null {
  if (PLAIN.test(token)) return token;
  if (token === "") return null; // No id is empty.
  const bytes: number[] = [];
  for (let at = 0; at < token.length; at += 1) {
    const character = token.charAt(at);
    if (PLAIN.test(character)) bytes.push(character.charCodeAt(0));
    else if (character === "=" && /^[0-9a-f]{2}$/.test(token.slice(at + 1, at + 3))) {
      bytes.push(Number.parseInt(token.slice(at + 1, at + 3), 16));
      at += 2;
    } else return null;
  }
  try {
    const id = decoder.decode(Uint8Array.from(bytes));
    // One id has one token: a character that is encoded without need was not encoded here.
    return encodeToken(id) === token ? id : null;
  } catch {
    return null; // Not UTF-8: nobody encoded that.
  }
}

/** Where a record stands, below the partition's prefix. */
export const taskScope = (workflow: string, job: string): string =>
  `task.${encodeToken(workflow)}.${encodeToken(job)}`;

export const workflowScopes = (workflow: string): string => `task.${encodeToken(workflow)}.>`;

export const ALL_TASKS = "task.>";

export const DISPATCHER_SCOPE = "dispatcher";

/** The ids in a task scope; null for any other scope. */
export function parseTaskScope(
  scope: string,
): { readonly workflow: string; readonly job: string } | null {
  const [kind, workflow, job, ...rest] = scope.split(".");
  if (kind !== "task" || workflow === undefined || job === undefined || rest.length > 0)
    return null;
  const ids = { workflow: decodeToken(workflow), job: decodeToken(job) };
  return ids.workflow === null || ids.job === null
    ? null
    : { workflow: ids.workflow, job: ids.job };
}
