/**
 * The server's configuration text.
 *
 * Owns: filling in `nats.conf`: values, lines a version or a durability does not want, the fingerprint.
 * Does not own: what the settings mean and who may do what (`nats.conf` itself), starting anything.
 *
 * N1. The template says everything; this code only replaces `HF_…` values and drops marked lines.
 * N2. Every value the launcher has is in the template and every plain value of the template is the launcher's: one that
 *     is missing on either side is a fault of the installation, never a silent default.
 * N3. A server gets no setting that its version refuses.
 */
import { createHash } from "node:crypto";
import { dirname, join } from "node:path";
import { ConfigError } from "../../actors/errors.ts";
import type { Durability } from "../../actors/journal/codec.ts";
import { isAtLeast, parseVersion, type ServerVersion } from "./binary/version.ts";
import { ROLES, type Role } from "./credentials.ts";
import { readIfThere } from "./folder.ts";

export interface ServerSettings {
  readonly version: ServerVersion;
  readonly durability: Durability;
  readonly port: number;
  /** The folder the server makes its `jetstream/` in. */
  readonly storeParent: string;
  readonly logFile: string;
  /** What all streams together may take, in bytes. */
  readonly fileBytesMax: number;
  readonly passwords: Readonly<Record<Role, string>>;
}

const HOST = "127.0.0.1";
const VALUE_LINE = /^(HF_[A-Z_]+):(?!\s*\{)\s*\S.*$/;
const COMMENT_LINE = /^\s*#/;
const MARK = /#@\s*(since\s+(\S+)|fsync|process)/g;
/** How many folders above this file the template may stand: two from the sources, three from `dist/`. */
const FOLDERS_UP_MAX = 4;

/** The text of a server's configuration (N1–N3). Throws `config` when template and launcher do not fit together. */
export function configurationText(template: string, settings: ServerSettings): string {
  const values = valuesOf(settings);
  const unfilled = new Set(values.keys());
  const lines: string[] = [];
  for (const line of template.split("\n")) {
    if (COMMENT_LINE.test(line)) {
      lines.push(line);
      continue;
    }
    if (!isWanted(line, settings)) continue;
    const name = VALUE_LINE.exec(line)?.[1];
    if (name === undefined) {
      lines.push(line.replace(/\s*#@.*$/, ""));
      continue;
    }
    const value = values.get(name);
    if (value === undefined) throw templateFault(`the launcher has no value for ${name}`);
    unfilled.delete(name);
    lines.push(`${name}: ${value}`);
  }
  if (unfilled.size > 0) throw templateFault(`it does not name ${[...unfilled].join(", ")}`);
  return lines.join("\n");
}

/**
 * What two configurations must share to be the same one: everything but the port, which may differ by accident.
 * Passwords are in it, so it is a hash.
 */
export function configurationFingerprint(template: string, settings: ServerSettings): string {
  return createHash("sha256")
    .update(configurationText(template, { ...settings, port: 0 }))
    .digest("hex");
}

/** `nats.conf` as it came with this installation. Throws `config` when it is not there. */
export function readTemplate(): string {
  let folder = import.meta.dirname;
  for (let up = 0; up <= FOLDERS_UP_MAX; up += 1) {
    // Beside package.json, so that a stray nats.conf in a parent folder is never taken for ours.
    if (readIfThere(join(folder, "package.json")) !== null) {
      const text = readIfThere(join(folder, "nats.conf"));
      if (text !== null) return text;
    }
    folder = dirname(folder);
  }
  throw new ConfigError(
    "nats.conf is missing from this installation of Holdfast: install it again",
    {
      details: { searchedFrom: import.meta.dirname },
    },
  );
}

function valuesOf(settings: ServerSettings): Map<string, string> {
  return new Map([
    ["HF_HOST", quoted(HOST)],
    ["HF_PORT", String(settings.port)],
    ["HF_STORE", quoted(settings.storeParent)],
    ["HF_LOG", quoted(settings.logFile)],
    ["HF_FILE_MAX", String(settings.fileBytesMax)],
    ...ROLES.map((role): [string, string] => [
      `HF_${role.toUpperCase()}_PASSWORD`,
      quoted(settings.passwords[role]),
    ]),
  ]);
}

/** A string of the server's configuration language: backslash and double quote are escaped, `$` means nothing inside. */
function quoted(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for.
  if (/[\u0000-\u001f]/.test(text)) {
    throw new ConfigError(
      `the server's configuration cannot hold the path ${JSON.stringify(text)}: give a data folder whose name` +
        " has no control character",
      { details: { text } },
    );
  }
  return `"${text.replace(/[\\"]/g, (character) => `\\${character}`)}"`;
}

function isWanted(line: string, settings: ServerSettings): boolean {
  for (const [mark, word, since] of line.matchAll(MARK)) {
    if (since === undefined) {
      if (word !== settings.durability) return false;
      continue;
    }
    const version = parseVersion(since);
    if (version === null) throw templateFault(`"${mark}" names no version`);
    if (!isAtLeast(settings.version, version)) return false;
  }
  return true;
}

const templateFault = (what: string): ConfigError =>
  new ConfigError(
    `nats.conf does not fit this version of Holdfast (${what}): restore the file that came with it`,
    { details: { what } },
  );
