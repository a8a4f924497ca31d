/**
 * A package archive of the test's own: signed with a key of its own, served on loopback, with a stand-in server in it.
 *
 * So the whole way (sources, signatures, download, unpacking, placing) runs without the network and can be broken at
 * every point. What it cannot show is that the real archive's keys are on this machine: `obtain.test.ts` asks that too.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Environment } from "../../../../infra/nats-server/binary/cache.ts";

/** What is done to a request before the archive answers it; true: it has been answered. */
export type Disturbance = (request: IncomingMessage, response: ServerResponse) => boolean;

export interface LocalArchive extends AsyncDisposable {
  /** Stands for `/etc`: os-release and apt's sources. */
  readonly systemFolder: string;
  /** A cache of its own. */
  readonly environment: Environment;
  /** The paths that were asked for. */
  readonly requests: string[];
  disturb(disturbance: Disturbance | null): void;
  /** Replaces the machine's keyring by one that does not hold the archive's key. */
  loseKey(): void;
}

/** Runs a tool of the system; what it printed. */
const run = (tool: string, words: readonly string[]): string =>
  execFileSync(tool, [...words], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });

/** Why no archive can be made here; null when one can. */
export function archiveObstacle(): string | null {
  for (const tool of ["apt-get", "dpkg-deb", "gpg"]) {
    try {
      run(tool, ["--version"]);
    } catch {
      return `${tool} is not installed`;
    }
  }
  return null;
}

export interface ArchiveOptions {
  /** What the stand-in server says it is. */
  readonly version: string;
  /** Default: "Debian". */
  readonly origin?: string;
  /** The suites that hold the package; the machine's own is `bookworm`. */
  readonly suites: readonly string[];
}

export async function startArchive(options: ArchiveOptions): Promise<LocalArchive> {
  const root = mkdtempSync(join(tmpdir(), "holdfast-archive-"));
  const tree = join(root, "debian");
  const keyring = join(root, "debian-archive-test.gpg");
  const gpg = makeKey(root, keyring);
  makePackage(root, tree, options.version);
  for (const suite of options.suites) makeSuite({ tree, suite, gpg, origin: options.origin });
  const requests: string[] = [];
  let disturbance: Disturbance | null = null;
  const server = createServer((request, response) => {
    requests.push(request.url ?? "");
    if (disturbance?.(request, response) === true) return;
    serve(root, request, response);
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const systemFolder = makeSystem(root, `http://127.0.0.1:${port}/debian`, keyring);
  return {
    systemFolder,
    environment: { ...process.env, XDG_CACHE_HOME: join(root, "cache") },
    requests,
    disturb: (next) => {
      disturbance = next;
    },
    loseKey: () => {
      rmSync(keyring);
      makeKey(join(root, "other"), keyring);
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
      endAgent(root);
      rmSync(root, { recursive: true, force: true });
    },
  };
}

type Gpg = (words: readonly string[]) => void;

function makeKey(root: string, keyring: string): Gpg {
  const home = join(root, "gnupg");
  mkdirSync(home, { recursive: true, mode: 0o700 });
  const gpg: Gpg = (words) => {
    run("gpg", ["--homedir", home, "--batch", "--yes", "--quiet", ...words]);
  };
  gpg([
    "--passphrase",
    "",
    "--quick-generate-key",
    "Test archive <archive@example>",
    "rsa2048",
    "sign",
    "never",
  ]);
  gpg(["--output", keyring, "--export"]);
  return gpg;
}

/** The key agent that gpg started for the folder would outlive the test. Once, at the end: one that is going refuses work. */
const endAgent = (root: string): void => {
  run("gpgconf", ["--homedir", join(root, "gnupg"), "--kill", "gpg-agent"]);
};

function makePackage(root: string, tree: string, version: string): void {
  const content = join(root, "package");
  mkdirSync(join(content, "DEBIAN"), { recursive: true });
  mkdirSync(join(content, "usr", "sbin"), { recursive: true });
  mkdirSync(join(tree, "pool"), { recursive: true });
  const control = [
    "Package: nats-server",
    `Version: ${version}-1`,
    "Architecture: all",
    "Maintainer: Test <archive@example>",
    "Description: a stand-in",
    "",
  ].join("\n");
  writeFileSync(join(content, "DEBIAN", "control"), control);
  const binary = `#!/bin/sh\necho 'nats-server: v${version}'\n# ${"x".repeat(200_000)}\n`;
  writeFileSync(join(content, "usr", "sbin", "nats-server"), binary, { mode: 0o755 });
  // Not compressed, so that half of it is a good part of the file.
  run("dpkg-deb", ["-Znone", "-b", content, join(tree, "pool")]);
  const name = readdirSync(join(tree, "pool"))[0] ?? "";
  const bytes = readFileSync(join(tree, "pool", name));
  const entry = `${control.trim()}\nFilename: pool/${name}\nSize: ${bytes.length}\nSHA256: ${sha256(bytes)}\n\n`;
  writeFileSync(join(root, "Packages"), entry);
}

function makeSuite(of: {
  readonly tree: string;
  readonly suite: string;
  readonly gpg: Gpg;
  readonly origin: string | undefined;
}): void {
  const dist = join(of.tree, "dists", of.suite);
  const list = readFileSync(join(of.tree, "..", "Packages"));
  const architecture = run("dpkg", ["--print-architecture"]).trim();
  const places = [`binary-${architecture}`, "binary-all"];
  for (const place of places) {
    mkdirSync(join(dist, "main", place), { recursive: true });
    writeFileSync(join(dist, "main", place, "Packages"), list);
  }
  const release = join(dist, "Release");
  writeFileSync(
    release,
    [
      `Origin: ${of.origin ?? "Debian"}`,
      `Suite: ${of.suite}`,
      `Codename: ${of.suite}`,
      `Date: ${new Date().toUTCString().replace("GMT", "UTC")}`,
      `Architectures: all ${architecture}`,
      "Components: main",
      "SHA256:",
      ...places.map((place) => ` ${sha256(list)} ${list.length} main/${place}/Packages`),
      "",
    ].join("\n"),
  );
  of.gpg(["--clearsign", "--output", join(dist, "InRelease"), release]);
}

function makeSystem(root: string, uri: string, keyring: string): string {
  const folder = join(root, "etc");
  mkdirSync(join(folder, "apt", "sources.list.d"), { recursive: true });
  writeFileSync(join(folder, "os-release"), "ID=debian\nVERSION_CODENAME=bookworm\n");
  writeFileSync(
    join(folder, "apt", "sources.list.d", "debian.sources"),
    `Types: deb\nURIs: ${uri}\nSuites: bookworm bookworm-updates\nComponents: main\nSigned-By: ${keyring}\n`,
  );
  return folder;
}

function serve(root: string, request: IncomingMessage, response: ServerResponse): void {
  const path = join(root, decodeURIComponent(request.url ?? ""));
  try {
    response.end(readFileSync(path));
  } catch {
    response.writeHead(404).end();
  }
}

const sha256 = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");
