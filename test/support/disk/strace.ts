/**
 * A nats-server whose system calls are written down.
 *
 * Owns: finding strace, launching a server under it by a wrapper that stands in its place. Does not own: what the calls mean (calls.ts).
 *
 * The tracer is no parent of the server (`--daemonize`): the process that the launcher started becomes the server itself, and is
 * killed and adopted like any other. The folder's tag is kept out of the tracer's environment, or it would pass for the server.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Durability } from "../../../actors/journal/codec.ts";
import { serverFolder } from "../../../infra/nats-server/folder.ts";
import { launchNatsServer } from "../../../infra/nats-server/launch.ts";
import type { NatsServer } from "../../../infra/nats-server/server.ts";

/** Calls that change what is in files, and those that say so to a client. */
const CALLS = [
  ...["openat", "close", "write", "pwrite64", "writev", "ftruncate", "fallocate"],
  ...["fsync", "fdatasync", "sync_file_range", "msync", "syncfs"],
  ...["mkdir", "mkdirat", "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir"],
];
/** Longest string of a call that is written down whole: more than a batch of the largest records. */
const STRING_BYTES_MAX = 4 * 1024 * 1024;

/** Why calls cannot be traced here; null: they can. */
export function whyNoStrace(): string | null {
  try {
    execFileSync("strace", ["-qq", "-o", "/dev/null", "true"], { stdio: "pipe" });
    return null;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return `strace does not work here (${text.split("\n")[0]})`;
  }
}

/** What its store may take, bytes. */
export const TRACED_FILE_BYTES_MAX = 1024 ** 3;

export interface Traced {
  readonly server: NatsServer;
  /** The file that its calls are in. */
  readonly trace: string;
  /** Where it keeps its streams. */
  readonly store: string;
}

/** Launches it in a folder that is empty. */
export async function launchTraced(
  binary: string,
  durability: Durability,
  folder: string,
): Promise<Traced> {
  const trace = join(folder, "calls.trace");
  const wrapper = join(folder, "nats-server");
  const options = `--daemonize=pgroup -f -qq -xx -s ${STRING_BYTES_MAX} -e signal=none -e trace=${CALLS.join(",")}`;
  writeFileSync(
    wrapper,
    `#!/bin/sh
if [ "$1" != "-c" ]; then exec '${binary}' "$@"; fi
tag=$HOLDFAST_NATS_FOLDER_TAG
unset HOLDFAST_NATS_FOLDER_TAG
exec strace ${options} -o '${trace}' -E HOLDFAST_NATS_FOLDER_TAG="$tag" '${binary}' "$@"
`,
  );
  chmodSync(wrapper, 0o755);
  const dataDir = join(folder, "data");
  const server = await launchNatsServer({
    dataDir,
    durability,
    binary: wrapper,
    fileBytesMax: TRACED_FILE_BYTES_MAX,
  });
  return { server, trace, store: serverFolder(dataDir).store };
}
