/**
 * The machine's package sources, read to derive one of our own.
 *
 * Owns: parsing both forms of apt's source lists, choosing the distribution's own archive, writing an entry for another
 * suite of it. Pure. Does not own: running apt (`apt.ts`).
 *
 * A1. No archive is known to this code: its address comes from the machine, with the keys that vouch for it there.
 * A2. Nothing that weakens a signature check is carried over: of an entry's options only the keys are kept.
 * A3. Only an entry that is recognisably the distribution's own main archive is used: a third party's archive has no
 *     `sid`, and asking it for one would run into the void or, worse, into a package of the same name.
 */

/** One entry for packages, of either form. */
export interface PackageSource {
  readonly uris: readonly string[];
  readonly suites: readonly string[];
  readonly components: readonly string[];
  /** A path, a fingerprint, or a whole key of many lines; empty: the machine's trusted keys. */
  readonly signedBy: string;
}

/** A distribution we know how to ask. */
export interface Distribution {
  readonly id: string;
  /** The suite with the newest packages. */
  readonly newestSuite: string;
  /** The component nats-server is in. */
  readonly component: string;
  /** How its own archive is recognised: the last folder of the address, or the name of its keyring. */
  readonly archiveName: string;
  readonly keyringName: string;
  /** What the archive calls itself in its signed release file. */
  readonly origin: string;
}

const DISTRIBUTIONS: readonly Distribution[] = [
  {
    id: "debian",
    newestSuite: "sid",
    component: "main",
    archiveName: "debian",
    keyringName: "debian-archive",
    origin: "Debian",
  },
  {
    id: "ubuntu",
    newestSuite: "devel",
    component: "universe",
    archiveName: "ubuntu",
    keyringName: "ubuntu-archive",
    origin: "Ubuntu",
  },
];

/** What the text of os-release says this machine is: the distribution and the code name of its own suite. */
export function parseOsRelease(
  text: string,
): { readonly distribution: Distribution; readonly codename: string } | null {
  const values = new Map<string, string>();
  for (const line of text.split("\n")) {
    const match = /^([A-Z_]+)=(["']?)(.*)\2$/.exec(line.trim());
    if (match?.[1] !== undefined && match[3] !== undefined) values.set(match[1], match[3]);
  }
  const distribution = DISTRIBUTIONS.find(({ id }) => id === values.get("ID"));
  if (distribution === undefined) return null;
  // Debian's testing and unstable have no code name of their own in every release of the file.
  return { distribution, codename: values.get("VERSION_CODENAME") ?? distribution.newestSuite };
}

/** The entries of a `.list` file: `deb [options] uri suite components…`. */
export function parseListFile(text: string): readonly PackageSource[] {
  return text.split("\n").flatMap((line): PackageSource[] => {
    const match = /^\s*deb\s+(?:\[([^\]]*)\]\s*)?(.*)$/.exec(line.replace(/#.*$/, ""));
    const [uri, suite, ...components] = words(match?.[2]);
    if (uri === undefined || suite === undefined) return [];
    const signedBy = /(?:^|\s)signed-by\s*=\s*(\S+)/i.exec(match?.[1] ?? "")?.[1] ?? "";
    return [{ uris: [uri], suites: [suite], components, signedBy: signedBy.replaceAll(",", " ") }];
  });
}

/** The entries of a `.sources` file: paragraphs of `Field: value`, a value going on in indented lines. */
export function parseSourcesFile(text: string): readonly PackageSource[] {
  const withoutComments = text
    .split("\n")
    .filter((line) => !line.startsWith("#"))
    .join("\n");
  return withoutComments.split(/\n[ \t]*\n/).flatMap((paragraph): PackageSource[] => {
    const fields = fieldsOf(paragraph);
    if (!words(fields.get("types")).includes("deb")) return [];
    if (/^(no|false|0|off|without|disable)$/i.test(fields.get("enabled")?.trim() ?? "")) return [];
    return [
      {
        uris: words(fields.get("uris")),
        suites: words(fields.get("suites")),
        components: words(fields.get("components")),
        signedBy: fields.get("signed-by")?.trimEnd() ?? "",
      },
    ];
  });
}

function fieldsOf(paragraph: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  let name: string | null = null;
  for (const line of paragraph.split("\n")) {
    const match = /^([A-Za-z][A-Za-z0-9-]*):[ \t]*(.*)$/.exec(line);
    if (match?.[1] !== undefined) {
      name = match[1].toLowerCase();
      fields.set(name, match[2] ?? "");
    } else if (name !== null && /^[ \t]/.test(line)) {
      fields.set(name, `${fields.get(name) ?? ""}\n${line}`);
    }
  }
  return fields;
}

const words = (text: string | undefined): string[] =>
  (text ?? "").split(/\s+/).filter((word) => word !== "");

export interface OwnArchive {
  readonly source: PackageSource;
  /** The machine's own suite, as its sources call it. */
  readonly ownSuite: string;
}

/** Names under which a machine may follow its suite instead of by code name. */
const SUITE_ALIASES: readonly string[] = [
  "stable",
  "oldstable",
  "oldoldstable",
  "testing",
  "unstable",
  "sid",
  "devel",
];

/** The entry of the distribution's own main archive (A3); null when no entry is recognisably that. */
export function ownArchive(
  sources: readonly PackageSource[],
  machine: { readonly distribution: Distribution; readonly codename: string },
): OwnArchive | null {
  const { distribution, codename } = machine;
  // An entry that names the distribution's keyring is surer than one that leaves it to what the machine trusts, and one
  // for the machine's own code name surer than one for `sid` that was added beside it.
  const archives = sources.filter((source) => isArchiveOf(source, distribution));
  const isNamed = (source: PackageSource) => source.signedBy.includes(distribution.keyringName);
  const ranked = [...archives.filter(isNamed), ...archives.filter((source) => !isNamed(source))];
  for (const names of [[codename], SUITE_ALIASES]) {
    for (const source of ranked) {
      const ownSuite = source.suites.find((suite) => names.includes(suite));
      if (ownSuite !== undefined) return { source, ownSuite };
    }
  }
  return null;
}

function isArchiveOf(source: PackageSource, distribution: Distribution): boolean {
  if (!source.components.includes("main")) return false;
  // A folder of the address: `…/debian/`, a dated archive `…/debian/20250101T000000Z`, or a list of mirrors
  // `mirror+file:/…/debian.list`. Security updates have an archive of their own with other suites; a disc has none.
  const isNamed = source.uris.some((uri) =>
    uri
      .split("/")
      .map((part) => part.replace(/\.list$/, ""))
      .includes(distribution.archiveName),
  );
  const isOther = source.uris.some((uri) => /security/.test(uri) || uri.startsWith("cdrom:"));
  return isNamed && !isOther && isVouchedFor(source.signedBy, distribution);
}

/** Signed by the distribution's keyring, by whatever the machine trusts, or by a key that stands in the entry. */
const isVouchedFor = (signedBy: string, distribution: Distribution): boolean =>
  !signedBy.trimStart().startsWith("/") || signedBy.includes(distribution.keyringName);

/**
 * The text of a `.sources` file with one entry: the same archive and keys, another suite, the package list only.
 * `signedBy` stands for the entry's own keys when the machine has them elsewhere.
 */
export function sourceEntry(options: {
  readonly archive: OwnArchive;
  readonly suite: string;
  readonly component: string;
  readonly signedBy?: string | undefined;
}): string {
  const signedBy = options.signedBy ?? options.archive.source.signedBy;
  return [
    "Types: deb",
    `URIs: ${options.archive.source.uris.join(" ")}`,
    `Suites: ${options.suite}`,
    `Components: ${options.component}`,
    "Targets: Packages",
    ...(signedBy === "" ? [] : [`Signed-By: ${signedBy}`]),
    "",
  ].join("\n");
}
