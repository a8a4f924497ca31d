/** Getting a server from a package archive: the good way, and every way it can go wrong. */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { cacheFolder } from "../../../infra/nats-server/binary/cache.ts";
import { obtainNatsServer } from "../../../infra/nats-server/binary/obtain.ts";
import { formatVersion } from "../../../infra/nats-server/binary/version.ts";
import { readProcessIdentity } from "../../../infra/processes/identity.ts";
import { killProcess } from "../../support/server.ts";
import { firstLine, testBench, until } from "./fixtures.ts";
import { archiveObstacle, type LocalArchive, startArchive } from "./stand-ins/local-archive.ts";

const bench = testBench();
const OBTAINER = new URL("./stand-ins/obtainer.ts", import.meta.url).pathname;
const SUITES = ["sid", "bookworm"];
const obstacle = archiveObstacle();

const obtain = (archive: LocalArchive, suite = "newest", lines: string[] = []) =>
  obtainNatsServer({
    suite,
    environment: archive.environment,
    systemFolder: archive.systemFolder,
    onProgress: (line) => lines.push(line),
  });

/** What is in the cache, besides notes. */
const cacheOf = (archive: LocalArchive): readonly string[] =>
  readdirSync(cacheFolder(archive.environment)).filter((name) => name !== "suites");

const isPackage = (url: string | undefined): boolean => url?.endsWith(".deb") === true;

const OTHER_WAYS = /Install nats-server[\s\S]*HOLDFAST_NATS_SERVER/;

// Without apt and its tools there is nothing to get a server with; the title says which is missing.
describe.skipIf(obstacle !== null)(`getting a server (${obstacle ?? "local archive"})`, () => {
  it("puts it into the cache, tells what it does, and leaves nothing else behind", async () => {
    await using archive = await startArchive({ version: "2.15.1", suites: SUITES });
    const lines: string[] = [];
    const server = await obtain(archive, "newest", lines);
    expect(server).toMatchObject({ isFromCache: false });
    expect(formatVersion(server.version)).toBe("2.15.1");
    expect(server.path).toBe(join(cacheFolder(archive.environment), "2.15.1", "nats-server"));
    expect(statSync(server.path).mode & 0o111).toBe(0o111);
    expect(lines).toEqual([expect.stringContaining("sid"), expect.stringContaining(server.path)]);
    expect(cacheOf(archive)).toEqual(["2.15.1"]);
  });

  it.each(["newest", "floor", "sid"])("is not asked again for %s", async (suite) => {
    await using archive = await startArchive({ version: "2.15.1", suites: SUITES });
    await obtain(archive, suite);
    const asked = archive.requests.length;
    expect(await obtain(archive, suite)).toMatchObject({ isFromCache: true });
    expect(archive.requests).toHaveLength(asked);
  });

  it("a cached one that was eaten is got again", async () => {
    await using archive = await startArchive({ version: "2.15.1", suites: SUITES });
    const { path } = await obtain(archive);
    writeFileSync(path, "");
    expect(await obtain(archive)).toMatchObject({ isFromCache: false, path });
    expect(readFileSync(path, "utf8")).toContain("2.15.1");
  });

  it("the floor comes from the machine's own suite", async () => {
    await using archive = await startArchive({ version: "2.9.10", suites: ["bookworm"] });
    expect(formatVersion((await obtain(archive, "floor")).version)).toBe("2.9.10");
    expect(archive.requests.some((url) => url.includes("/dists/sid/"))).toBe(false);
  });

  it("one below the floor is not placed", async () => {
    await using archive = await startArchive({ version: "2.8.4", suites: SUITES });
    await expect(obtain(archive, "floor")).rejects.toMatchObject({
      message: expect.stringMatching(/2\.8\.4[\s\S]*2\.9\.10/),
    });
    expect(cacheOf(archive)).toEqual([]);
  });

  it("[O2] many at once download once, and all get it", async () => {
    await using archive = await startArchive({ version: "2.15.1", suites: SUITES });
    const words = ["--import", "tsx", OBTAINER, "newest", archive.systemFolder];
    const cache = archive.environment["XDG_CACHE_HOME"] ?? "";
    const children = [1, 2, 3].map(() =>
      bench.child(process.execPath, words, { XDG_CACHE_HOME: cache }),
    );
    const paths = await Promise.all(children.map(firstLine));
    const path = join(cacheFolder(archive.environment), "2.15.1", "nats-server");
    expect(paths).toEqual([path, path, path]);
    expect(archive.requests.filter(isPackage)).toHaveLength(1);
  });

  it("[O3] a download that breaks off fails cleanly, and the next one succeeds", async () => {
    await using archive = await startArchive({ version: "2.15.1", suites: SUITES });
    archive.disturb((request, response) => {
      if (!isPackage(request.url)) return false;
      response.writeHead(200, { "Content-Length": "300000" });
      response.write("!<arch>\n");
      setTimeout(() => request.socket.destroy(), 50);
      return true;
    });
    await expect(obtain(archive)).rejects.toMatchObject({
      code: "external_service",
      message: expect.stringMatching(OTHER_WAYS),
    });
    expect(cacheOf(archive)).toEqual([]);
    archive.disturb(null);
    expect(await obtain(archive)).toMatchObject({ isFromCache: false });
  });

  it("[O3] a process killed in the middle of a download is no obstacle to the next", async () => {
    await using archive = await startArchive({ version: "2.15.1", suites: SUITES });
    archive.disturb((request) => isPackage(request.url)); // Never answered.
    const words = ["--import", "tsx", OBTAINER, "newest", archive.systemFolder];
    const child = bench.child(process.execPath, words, {
      XDG_CACHE_HOME: archive.environment["XDG_CACHE_HOME"] ?? "",
    });
    await until(() => archive.requests.some(isPackage));
    const identity = readProcessIdentity(child.pid ?? 0);
    if (identity === null) throw new Error("no obtainer");
    await killProcess(identity);
    archive.disturb(null);
    expect(await obtain(archive)).toMatchObject({ isFromCache: false });
    expect(cacheOf(archive)).toEqual(["2.15.1"]);
  });

  it("a package that was tampered with is refused", async () => {
    await using archive = await startArchive({ version: "2.15.1", suites: SUITES });
    archive.disturb((request, response) => {
      if (!isPackage(request.url)) return false;
      const path = join(archive.systemFolder, "..", decodeURIComponent(request.url ?? ""));
      const bytes = readFileSync(path);
      bytes.write("evil", bytes.length - 100);
      response.end(bytes);
      return true;
    });
    await expect(obtain(archive)).rejects.toMatchObject({ code: "external_service" });
    expect(cacheOf(archive)).toEqual([]);
  });

  it("[U3] an archive that this machine's keys do not vouch for is refused, whatever apt is told", async () => {
    await using archive = await startArchive({ version: "2.15.1", suites: SUITES });
    archive.loseKey();
    const loose = join(archive.systemFolder, "loose.conf");
    writeFileSync(
      loose,
      'Acquire::AllowInsecureRepositories "true";\nAPT::Get::AllowUnauthenticated "true";\n',
    );
    const environment = { ...archive.environment, APT_CONFIG: loose };
    const promise = obtain({ ...archive, environment });
    await expect(promise).rejects.toMatchObject({
      code: "external_service",
      retry: "never",
      details: { reason: "signature" },
      message: expect.stringContaining("debian-archive-keyring"),
    });
    expect(archive.requests.some(isPackage)).toBe(false);
  });

  it("an archive that calls itself something else is refused", async () => {
    await using archive = await startArchive({
      version: "2.15.1",
      suites: SUITES,
      origin: "Other",
    });
    await expect(obtain(archive)).rejects.toMatchObject({ details: { reason: "origin" } });
    expect(archive.requests.some(isPackage)).toBe(false);
  });

  it("a suite that the archive does not have is told so, at once", async () => {
    await using archive = await startArchive({ version: "2.15.1", suites: ["bookworm"] });
    await expect(obtain(archive, "newest")).rejects.toMatchObject({
      code: "external_service",
      retry: "never",
      details: { reason: "not_there" },
      message: expect.stringMatching(OTHER_WAYS),
    });
  });

  it("an archive that cannot be reached is told so, and may be tried again", async () => {
    const archive = await startArchive({ version: "2.15.1", suites: SUITES });
    archive.disturb((request) => {
      request.socket.destroy();
      return true;
    });
    await expect(obtain(archive)).rejects.toMatchObject({
      code: "external_service",
      retry: "backoff",
      message: expect.stringMatching(OTHER_WAYS),
    });
    await archive[Symbol.asyncDispose]();
  });

  it("[U1] nothing of the system's apt is written", async () => {
    const watched = ["/var/lib/apt/lists", "/var/cache/apt", "/var/lib/dpkg/status"];
    const times = () => watched.map((path) => (existsSync(path) ? statSync(path).mtimeMs : 0));
    const before = times();
    await using archive = await startArchive({ version: "2.15.1", suites: SUITES });
    await obtain(archive);
    expect(times()).toEqual(before);
  });
});

describe("a machine that has no archive to ask", () => {
  const machine = (files: Record<string, string>) => {
    const folder = bench.dataDir();
    mkdirSync(join(folder, "apt"));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    return {
      systemFolder: folder,
      environment: { PATH: "", XDG_CACHE_HOME: join(folder, "cache") },
    };
  };
  const debian = {
    "os-release": "ID=debian\nVERSION_CODENAME=bookworm\n",
    "apt/sources.list": "deb http://archive.example/debian bookworm main\n",
  };

  it.each<[string, Record<string, string>, RegExp]>([
    ["of another kind", { "os-release": "ID=fedora\n" }, /no Debian or Ubuntu/],
    ["without os-release", {}, /no Debian or Ubuntu/],
    ["without its own archive", { ...debian, "apt/sources.list": "" }, /none of Debian's/],
    ["without apt-get", debian, /no apt-get/],
  ])("one %s is told what to do", async (_what, files, message) => {
    const promise = obtainNatsServer({ suite: "newest", ...machine(files) });
    await expect(promise).rejects.toMatchObject({ message: expect.stringMatching(message) });
    await expect(promise).rejects.toMatchObject({ message: expect.stringMatching(OTHER_WAYS) });
  });

  it("does not matter when the cache has one", async () => {
    const { systemFolder, environment } = machine({});
    const folder = join(cacheFolder(environment), "2.13.0");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "nats-server"), "#!/bin/sh\necho nats-server: v2.13.0\n", {
      mode: 0o755,
    });
    const server = await obtainNatsServer({ suite: "newest", systemFolder, environment });
    expect(server).toMatchObject({ isFromCache: true, path: join(folder, "nats-server") });
    rmSync(folder, { recursive: true });
  });

  it("a name that is no suite is refused", async () => {
    for (const suite of ["", "sid main", "../x", "sid\nTrusted: yes"]) {
      const promise = obtainNatsServer({ suite, ...machine(debian) });
      await expect(promise).rejects.toMatchObject({ code: "invalid_argument" });
    }
  });
});
