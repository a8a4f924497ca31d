/** Finding a server: the order, what is refused, what is said when there is none. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Environment } from "../../../infra/nats-server/binary/cache.ts";
import { findNatsServer, type ServerSource } from "../../../infra/nats-server/binary/find.ts";
import { provideNatsServer } from "../../../infra/nats-server/binary/provide.ts";

let root: string;
let environment: Environment;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "holdfast-find-"));
  // No apt-get in this PATH: what is not found cannot be got.
  environment = { PATH: join(root, "bin"), XDG_CACHE_HOME: join(root, "cache"), HOME: root };
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** A stand-in that says a version and does nothing else; its path. */
function binary(folder: string, says: string): string {
  mkdirSync(join(root, folder), { recursive: true });
  const path = join(root, folder, "nats-server");
  writeFileSync(path, `#!/bin/sh\necho '${says}'\n`, { mode: 0o755 });
  return path;
}

const onPath = (version: string) => binary("bin", `nats-server: v${version}`);
const inCache = (version: string) =>
  binary(`cache/holdfast/nats-server/${version}`, `nats-server: v${version}`);

async function found(durability: "fsync" | "process" = "fsync") {
  const outcome = await findNatsServer({ durability, environment });
  return outcome.kind === "found" ? outcome.server : outcome.rejected;
}

const server = (path: string, source: ServerSource) => expect.objectContaining({ path, source });

describe("[D1] the order", () => {
  it("the named one goes before all others", async () => {
    const named = binary("named", "nats-server: v2.12.0");
    onPath("2.15.1");
    environment = { ...environment, HOLDFAST_NATS_SERVER: named };
    expect(await found()).toEqual(server(named, "environment"));
    const option = binary("option", "nats-server: v2.12.1");
    const outcome = await findNatsServer({ durability: "fsync", environment, binary: option });
    expect(outcome).toEqual({ kind: "found", server: server(option, "option") });
  });

  it("PATH goes before the cache, and of the cache the newest is taken", async () => {
    inCache("2.9.10");
    const newest = inCache("2.15.1");
    inCache("2.12.3");
    expect(await found()).toEqual(server(newest, "cache"));
    const path = onPath("2.12.0");
    expect(await found()).toEqual(server(path, "path"));
  });

  it("one in PATH that is too old for the durability gives way to the cache", async () => {
    const old = onPath("2.10.27");
    const cached = inCache("2.15.1");
    expect(await found("fsync")).toEqual(server(cached, "cache"));
    expect(await found("process")).toEqual(server(old, "path"));
  });

  it("an empty HOLDFAST_NATS_SERVER names none", async () => {
    environment = { ...environment, HOLDFAST_NATS_SERVER: "" };
    const path = onPath("2.12.0");
    expect(await found()).toEqual(server(path, "path"));
  });

  it("a relative folder in PATH is no place to look", async () => {
    onPath("2.12.0");
    environment = { ...environment, PATH: ":.:bin" };
    expect(await found()).toEqual([]);
  });
});

describe("[D2] a named one that cannot be used is an error", () => {
  it.each([
    ["that is not there", () => join(root, "nowhere"), /no such file/],
    ["that is a folder", () => root, /no file/],
    ["that is no program", () => binary("odd", "hello"), /no nats-server/],
    ["that fails", () => binary("odd", "'; exit 3; '"), /does not run here/],
    ["below the floor", () => binary("odd", "nats-server: v2.9.9"), /2\.9\.9.*2\.9\.10/],
    ["too old for fsync", () => binary("odd", "nats-server: v2.11.0"), /2\.11\.0.*2\.12\.0/],
  ])("one %s", async (_what, make, message) => {
    onPath("2.15.1");
    const path = make();
    environment = { ...environment, HOLDFAST_NATS_SERVER: path };
    await expect(found()).rejects.toMatchObject({
      code: "config",
      message: expect.stringMatching(message),
      details: { path, source: "environment" },
    });
  });
});

describe("[D3] when there is none", () => {
  it("all that was looked at is told, with the reason", async () => {
    const old = onPath("2.9.9");
    const eaten = inCache("2.15.1");
    writeFileSync(eaten, "");
    expect(await found()).toEqual([
      { path: old, source: "path", reason: expect.stringContaining("2.9.9") },
      { path: eaten, source: "cache", reason: expect.stringContaining("nats-server") },
    ]);
  });

  it("the error says what is needed, what was found, why none could be got, and what to do", async () => {
    const old = onPath("2.10.27");
    const provide = provideNatsServer({ durability: "fsync", environment });
    await expect(provide).rejects.toMatchObject({ code: "config" });
    const message = String(await provide.catch((error: unknown) => error));
    for (const part of [
      old,
      "2.10.27",
      "2.12.0",
      "None could be got",
      "HOLDFAST_NATS_SERVER",
      "--durability process",
    ]) {
      expect(message).toContain(part);
    }
  });

  it("nothing is got when that is not allowed", async () => {
    const provide = provideNatsServer({ durability: "fsync", environment, mayObtain: false });
    await expect(provide).rejects.toMatchObject({
      code: "config",
      message: expect.not.stringContaining("could be got:"),
    });
  });
});
