/** The folder's passwords: made once, closed to others, never replaced. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  connectionOptions,
  ensureCredentials,
  INBOX_PREFIXES,
  ROLES,
} from "../../../infra/nats-server/credentials.ts";
import { prepareFolder, type ServerFolder } from "../../../infra/nats-server/folder.ts";

const modeOf = (path: string): number => statSync(path).mode & 0o777;

let dataDir: string;
let folder: ServerFolder;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "holdfast-credentials-"));
  folder = prepareFolder(dataDir);
});
afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

describe("credentials", () => {
  it("[C2] the folder and the file are their owner's alone", () => {
    ensureCredentials(folder);
    expect(modeOf(folder.root)).toBe(0o700);
    expect(modeOf(folder.credentials)).toBe(0o600);
  });

  it("[C1] are made once", () => {
    expect(ensureCredentials(folder)).toEqual(ensureCredentials(folder));
  });

  it("[C1] are different for every role and every folder", () => {
    const other = prepareFolder(join(dataDir, "other"));
    const all = [folder, other].flatMap((each) =>
      ROLES.map((role) => ensureCredentials(each).roles[role].password),
    );
    expect(new Set(all).size).toBe(2 * ROLES.length);
    for (const password of all) expect(password).toMatch(/^[A-Za-z0-9_-]{32}$/);
  });

  it("[C2] a file that was opened up is closed again", () => {
    const before = ensureCredentials(folder);
    chmodSync(folder.credentials, 0o644);
    expect(ensureCredentials(folder)).toEqual(before);
    expect(modeOf(folder.credentials)).toBe(0o600);
  });

  it.each(["", "{", "{}", '{"tag":"00","passwords":{"daemon":"short"}}'])(
    "[C3] a file that reads %j is an error and stays as it is",
    (text) => {
      writeFileSync(folder.credentials, text);
      expect(() => ensureCredentials(folder)).toThrow(
        expect.objectContaining({ code: "config", message: expect.stringContaining("backup") }),
      );
      expect(readFileSync(folder.credentials, "utf8")).toBe(text);
    },
  );

  it("every role has an inbox of its own", () => {
    expect(new Set(Object.values(INBOX_PREFIXES)).size).toBe(ROLES.length);
  });
});

describe("connection options", () => {
  it("carry what there is and nothing else", () => {
    expect(connectionOptions("nats://h:1", { inboxPrefix: "_INBOX" })).toEqual({
      servers: "nats://h:1",
      inboxPrefix: "_INBOX",
    });
    expect(connectionOptions("nats://h:1", { inboxPrefix: "i", user: "u", password: "p" })).toEqual(
      { servers: "nats://h:1", inboxPrefix: "i", user: "u", pass: "p" },
    );
  });

  it("a tls address is never spoken to in the clear", () => {
    expect(connectionOptions("tls://h:1", { inboxPrefix: "i" })).toHaveProperty("tls");
  });
});
