/** Deriving a package source of our own from the machine's. */
import { describe, expect, it } from "vitest";
import { classifyComplaint } from "../../../infra/nats-server/binary/apt.ts";
import {
  ownArchive,
  type PackageSource,
  parseListFile,
  parseOsRelease,
  parseSourcesFile,
  sourceEntry,
} from "../../../infra/nats-server/binary/apt-sources.ts";

const OS_RELEASE = `PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
VERSION_CODENAME=bookworm
ID=debian
`;
const KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg";

const DEB822 = `# made by the installer
Types: deb deb-src
# a comment in the paragraph
URIs: http://archive.example/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: ${KEYS}
Trusted: yes

Types: deb
URIs: http://archive.example/debian-security
Suites: bookworm-security
Components: main
Signed-By: ${KEYS}
`;

const machine = () => {
  const system = parseOsRelease(OS_RELEASE);
  if (system === null) throw new Error("no system");
  return system;
};

const archiveOf = (sources: readonly PackageSource[]) => ownArchive(sources, machine());

describe("os-release", () => {
  it("says which distribution and suite this is", () => {
    expect(machine()).toMatchObject({ distribution: { id: "debian" }, codename: "bookworm" });
  });

  it("of another distribution is not guessed at", () => {
    expect(parseOsRelease('ID="fedora"\nID_LIKE=debian\n')).toBeNull();
    expect(parseOsRelease("")).toBeNull();
  });
});

describe("the .sources form", () => {
  it("keeps the archive, its keys, and nothing that weakens a check", () => {
    const archive = archiveOf(parseSourcesFile(DEB822));
    expect(archive?.ownSuite).toBe("bookworm");
    if (archive === null) return;
    expect(sourceEntry({ archive, suite: "sid", component: "main" })).toBe(
      [
        "Types: deb",
        "URIs: http://archive.example/debian",
        "Suites: sid",
        "Components: main",
        "Targets: Packages",
        `Signed-By: ${KEYS}`,
        "",
      ].join("\n"),
    );
  });

  it("keeps a key that stands in the entry", () => {
    const key =
      "\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n abc\n -----END PGP PUBLIC KEY BLOCK-----";
    const archive = archiveOf(parseSourcesFile(DEB822.replace(` ${KEYS}`, key)));
    if (archive === null) throw new Error("no archive");
    expect(sourceEntry({ archive, suite: "sid", component: "main" })).toContain(
      `Signed-By: ${key}`,
    );
  });

  it("an entry that is switched off, or for sources only, is none", () => {
    expect(parseSourcesFile(`Enabled: no\n${DEB822}`)[0]?.uris).toEqual([
      "http://archive.example/debian-security",
    ]);
    expect(parseSourcesFile("Types: deb-src\nURIs: http://a.example/debian\n")).toEqual([]);
  });

  it("a list of mirrors is an archive too", () => {
    const text = DEB822.replace(
      "http://archive.example/debian\n",
      "mirror+file:/etc/apt/mirrors/debian.list\n",
    );
    expect(archiveOf(parseSourcesFile(text))?.source.uris).toEqual([
      "mirror+file:/etc/apt/mirrors/debian.list",
    ]);
  });
});

describe("the .list form", () => {
  it("is read with and without options", () => {
    const text = `# deb http://no.example/debian bookworm main
deb-src http://archive.example/debian bookworm main
deb [arch=amd64 signed-by=${KEYS} trusted=yes] http://archive.example/debian bookworm main contrib # comment
deb http://archive.example/debian bookworm-updates main
`;
    expect(parseListFile(text)).toEqual([
      {
        uris: ["http://archive.example/debian"],
        suites: ["bookworm"],
        components: ["main", "contrib"],
        signedBy: KEYS,
      },
      {
        uris: ["http://archive.example/debian"],
        suites: ["bookworm-updates"],
        components: ["main"],
        signedBy: "",
      },
    ]);
  });

  it("without keys leaves them to the machine", () => {
    const archive = archiveOf(parseListFile("deb http://archive.example/debian stable main"));
    expect(archive?.ownSuite).toBe("stable");
    if (archive === null) return;
    expect(sourceEntry({ archive, suite: "sid", component: "main" })).not.toContain("Signed-By");
  });
});

describe("[A3] which archive is the distribution's own", () => {
  it.each([
    ["a third party's", "deb http://packages.example/tool bookworm main"],
    [
      "a third party's under a familiar folder",
      "deb http://tool.example/linux/debian bookworm stable",
    ],
    [
      "a third party's with keys of its own",
      "deb [signed-by=/etc/apt/keyrings/tool.gpg] http://tool.example/debian bookworm main",
    ],
    ["security updates", "deb http://archive.example/debian-security bookworm-security main"],
    ["backports", "deb http://archive.example/debian bookworm-backports main"],
    ["a disc", "deb cdrom:[Debian 12]/debian bookworm main"],
  ])("not %s", (_what, line) => {
    expect(archiveOf(parseListFile(line))).toBeNull();
  });

  it("the one with the distribution's keyring goes before one without keys", () => {
    const archive = archiveOf(
      parseListFile(
        `deb http://first.example/debian bookworm main\n` +
          `deb [signed-by=${KEYS}] http://second.example/debian bookworm main`,
      ),
    );
    expect(archive?.source.uris).toEqual(["http://second.example/debian"]);
  });

  it("the machine's own suite goes before another one that was added", () => {
    const archive = archiveOf(
      parseListFile(
        "deb http://a.example/debian sid main\ndeb http://b.example/debian bookworm main",
      ),
    );
    expect(archive?.ownSuite).toBe("bookworm");
  });

  it("a dated archive keeps its date", () => {
    const uri = "http://snapshot.example/archive/debian/20250520T000000Z/";
    expect(archiveOf(parseListFile(`deb ${uri} bookworm main`))?.source.uris).toEqual([uri]);
  });
});

describe("what apt complains about", () => {
  it.each([
    ["signature", "W: GPG error: http://a sid InRelease: ... NO_PUBKEY 0E98404D386FA1D9"],
    ["signature", "E: The repository 'http://a sid InRelease' is not signed."],
    ["offline", "E: Failed to fetch http://a/InRelease  Could not connect to a:80 (1.2.3.4)"],
    ["offline", "Temporary failure resolving 'a'"],
    ["offline", "Connection failed [IP: 127.0.0.1 9]"],
    ["not_there", "E: The repository 'http://a nosuch Release' does not have a Release file."],
    ["not_there", "E: Unable to locate package nats-server"],
    ["disk", "E: Write error - write (28: No space left on device)"],
    ["other", "E: something new"],
  ])("%s: %s", (reason, complaint) => {
    expect(classifyComplaint(complaint)).toBe(reason);
  });
});
