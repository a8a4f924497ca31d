/**
 * The roles of a launched server and their passwords.
 *
 * Owns: the role names, each role's inbox prefix, making the passwords once, keeping them in `credentials.json`.
 * Does not own: what each role may do (`nats.conf`), who is given which role.
 *
 * C1. Passwords are random, made once for a data folder, and never logged or put into a command line or environment.
 * C2. The file is readable by its owner alone (0600); one that was opened up is closed again.
 * C3. A file that cannot be read is never replaced: clients hold what was in it.
 */
import { randomBytes } from "node:crypto";
import { chmodSync, statSync } from "node:fs";
import type { ConnectionOptions } from "nats";
import { z } from "zod";
import { ConfigError } from "../../actors/errors.ts";
import { parseJson, readIfThere, type ServerFolder, writeWhole } from "./folder.ts";

/**
 * daemon: writes the journal, makes streams and consumers. service: answers commands and queries, and may publish
 * nowhere but into inboxes. operator: commands, queries, the live feed. observer: queries and the live feed.
 */
export const ROLES = ["daemon", "service", "operator", "observer"] as const;
export type Role = (typeof ROLES)[number];

/** What a client of a role connects with. Every role has an inbox prefix of its own and may read no other. */
export interface Login {
  readonly user?: string;
  readonly password?: string;
  readonly token?: string;
  readonly inboxPrefix: string;
}

/** What a user without restrictions may use. */
const INBOX_PREFIX_DEFAULT = "_INBOX";

/** Whether it can stand before reply subjects: plain tokens, no wildcard. */
export const isInboxPrefix = (text: string): boolean => /^[^\s.*>]+(\.[^\s.*>]+)*$/u.test(text);

/** Where a server is, and who we are there. */
export interface ServerAddress {
  readonly url: string;
  readonly login: Login;
}

/**
 * A server's address as people write it: `nats://host:port` or `tls://host:port`, name and password in it. Null: it is none.
 * Who tells of that does not repeat it: there may be a password in it.
 */
export function parseAddress(text: string, inboxPrefix?: string): ServerAddress | null {
  const full = text.includes("://") ? text : `nats://${text}`;
  const parsed = URL.canParse(full) ? new URL(full) : null;
  if (parsed === null || !/^(nats|tls):$/.test(parsed.protocol) || parsed.hostname === "")
    return null;
  const [user, password] = [parsed.username, parsed.password].map(decoded);
  if (user === null || password === null) return null;
  const port = parsed.port === "" ? "4222" : parsed.port;
  return {
    url: `${parsed.protocol}//${parsed.hostname}:${port}`,
    login: {
      inboxPrefix: inboxPrefix ?? INBOX_PREFIX_DEFAULT,
      ...(user === "" || user === undefined ? {} : { user }),
      ...(password === "" || password === undefined ? {} : { password }),
    },
  };
}

/** Null: a per cent sign with something behind it that is no byte. */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

export type Credentials = Readonly<Record<Role, Login>>;

/** A data folder's credentials, and the word by which its server is known among the machine's processes. */
export interface FolderSecrets {
  readonly roles: Readonly<Record<Role, Login & { readonly password: string }>>;
  /** Stands in the server's environment. It tells whose server it is; it opens nothing. */
  readonly tag: string;
}

export const INBOX_PREFIXES: Readonly<Record<Role, string>> = {
  daemon: "_INBOX_d",
  service: "_INBOX_s",
  operator: "_INBOX_o",
  observer: "_INBOX_v",
};

/** 192 random bits. */
const PASSWORD_BYTES = 24;
const TAG_BYTES = 16;

const passwordSchema = z.string().regex(/^[A-Za-z0-9_-]{16,256}$/);
const fileSchema = z.object({
  tag: z.string().regex(/^[0-9a-f]{16,64}$/),
  passwords: z.record(z.enum(ROLES), passwordSchema),
});

/**
 * The folder's credentials, made at the first call. The caller holds the folder's lock.
 * Throws `config` when the file is there and does not parse (C3).
 */
export function ensureCredentials(folder: ServerFolder): FolderSecrets {
  const text = readIfThere(folder.credentials);
  if (text === null) {
    const file = {
      tag: randomBytes(TAG_BYTES).toString("hex"),
      passwords: Object.fromEntries(ROLES.map((role) => [role, newPassword()])),
    };
    writeWhole(folder.credentials, `${JSON.stringify(file, null, 2)}\n`);
    return parseSecrets(file, folder.credentials);
  }
  if ((statSync(folder.credentials).mode & 0o077) !== 0) chmodSync(folder.credentials, 0o600);
  return parseSecrets(parseJson(text), folder.credentials);
}

// Letters, digits, `-` and `_` only: nothing that a configuration file or a URL would have to escape.
const newPassword = (): string => randomBytes(PASSWORD_BYTES).toString("base64url");

function parseSecrets(value: unknown, path: string): FolderSecrets {
  const parsed = fileSchema.safeParse(value);
  if (!parsed.success) {
    throw new ConfigError(
      `the credentials file ${path} cannot be read: restore it from a backup, or delete it to have` +
        " new passwords made (clients that hold the old ones must be given the new ones)",
      { details: { path, faults: parsed.error.issues.map((issue) => issue.path.join(".")) } },
    );
  }
  const { tag, passwords } = parsed.data;
  const login = (role: Role) => ({
    user: role,
    password: passwords[role],
    inboxPrefix: INBOX_PREFIXES[role],
  });
  return {
    tag,
    roles: {
      daemon: login("daemon"),
      service: login("service"),
      operator: login("operator"),
      observer: login("observer"),
    },
  };
}

/**
 * The client's options for a login: server, name and password or token, inbox prefix. A `tls://` address is never
 * spoken to in the clear, whatever the server offers.
 */
export function connectionOptions(url: string, login: Login): ConnectionOptions {
  return {
    servers: url,
    inboxPrefix: login.inboxPrefix,
    ...(url.startsWith("tls://") ? { tls: {} } : {}),
    ...(login.user === undefined ? {} : { user: login.user }),
    ...(login.password === undefined ? {} : { pass: login.password }),
    ...(login.token === undefined ? {} : { token: login.token }),
  };
}
