/**
 * Checks of the machine: Node, a nats-server, the data folder, the disk.
 *
 * Owns: what each finds. Changes nothing: it takes no folder and starts no server. Does not own: the daemon that runs
 * (daemon-checks.ts).
 */
import { accessSync, constants, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { isHoldfastError } from "../../../actors/errors.ts";
import type { Durability } from "../../../actors/journal/codec.ts";
import { dataFolder, ownerOf } from "../../daemon/data-folder.ts";
import { DISK_RESERVE_BYTES } from "../../daemon/room.ts";
import { findNatsServer } from "../../nats-server/binary/find.ts";
import {
  capabilitiesOf,
  formatVersion,
  RECOMMENDED_VERSION,
  type ServerVersion,
  versionNeededFor,
} from "../../nats-server/binary/version.ts";
import { connectExternal } from "../../nats-server/external.ts";
import { reasonOf } from "../../nats-server/folder.ts";
import { dataDirOf, inboxPrefixOf, natsOf } from "../daemon-link.ts";
import type { Invocation } from "../line/verb.ts";
import { bytes } from "../text.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

const NODE_FLOOR = [20, 19] as const;

const GIBIBYTE = 1024 ** 3;
const DISK_WARN_BYTES = GIBIBYTE;

export function checkNode(version: string = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [floorMajor, floorMinor] = NODE_FLOOR;
  const needed = `Node ${floorMajor}.${floorMinor} or newer is needed`;
  return major > floorMajor || (major === floorMajor && minor >= floorMinor)
    ? ok("Node", `version ${version}`)
    : fail("Node", `version ${version}: ${needed}`, "install a newer Node");
}

export async function checkServer(
  invocation: Invocation,
  durability: Durability,
): Promise<Finding> {
  const nats = natsOf(invocation);
  try {
    if (nats !== undefined) {
      const inboxPrefix = inboxPrefixOf(invocation);
      const { version, url } = await connectExternal({
        url: nats,
        durability,
        ...(inboxPrefix === undefined ? {} : { inboxPrefix }),
      });
      return serverFinding(version, `at ${url}`);
    }
    const found = await findNatsServer({ durability, environment: invocation.environment });
    if (found.kind === "found") return serverFinding(found.server.version, found.server.path);
    const needed = formatVersion(versionNeededFor(durability));
    const rejected = found.rejected.map(({ path, reason }) => `${path}: ${reason}`).join("; ");
    return warn(
      "nats-server",
      `none here is ${needed} or newer, as durability ${durability} needs${rejected === "" ? "" : ` (${rejected})`}`,
      "holdfast up will try to get one; or install one, or name one with HOLDFAST_NATS_SERVER",
    );
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    return fail("nats-server", error.message, "put right what this names");
  }
}

function serverFinding(version: ServerVersion, where: string): Finding {
  const modes = capabilitiesOf(version).hasAtomicBatch ? "fsync and process" : "process only";
  const detail = `${formatVersion(version)} (durability: ${modes}) ${where}`;
  return capabilitiesOf(version).isRecommended
    ? ok("nats-server", detail)
    : warn("nats-server", detail, `${formatVersion(RECOMMENDED_VERSION)} or newer is recommended`);
}

export function checkFolder(invocation: Invocation): Finding {
  const folder = dataFolder(dataDirOf(invocation));
  const { root } = folder;
  try {
    if (statSync(root, { throwIfNoEntry: false }) === undefined) {
      accessSync(existingParent(root), constants.W_OK);
      return ok("data folder", `${root} is not there yet; holdfast up makes it`);
    }
    accessSync(root, constants.W_OK | constants.R_OK);
    const owner = ownerOf(folder);
    switch (owner.kind) {
      case "nobody":
        return ok("data folder", `${root}, owned by nobody`);
      case "alive":
        return ok("data folder", `${root}, owned by process ${owner.pid} (${owner.purpose})`);
      case "dead":
        return warn(
          "data folder",
          `${root}, left behind by process ${owner.pid}, which is gone`,
          "holdfast up takes it over",
        );
      case "unreadable":
        return fail(
          "data folder",
          `${folder.lock} is no lock of ours`,
          "delete it if no daemon uses the folder",
        );
    }
  } catch (error) {
    return fail(
      "data folder",
      `${root} cannot be used (${reasonOf(error)})`,
      "give one that this user may write, with --data",
    );
  }
}

export function checkDisk(invocation: Invocation): Finding {
  const { root } = dataFolder(dataDirOf(invocation));
  try {
    const { bavail, bsize } = statfsSync(existingParent(root));
    const free = bavail * bsize;
    const detail = `${bytes(free)} free for ${root}`;
    if (free < DISK_RESERVE_BYTES)
      return fail(
        "disk",
        detail,
        "make room: new work is refused, and a full disk stops everything",
      );
    return free < DISK_WARN_BYTES
      ? warn("disk", detail, "make room before it is full")
      : ok("disk", detail);
  } catch (error) {
    return fail(
      "disk",
      `${root} cannot be looked at (${reasonOf(error)})`,
      "give another with --data",
    );
  }
}

/** The nearest folder above that is there, the path itself included. */
function existingParent(path: string): string {
  let folder = path;
  while (statSync(folder, { throwIfNoEntry: false }) === undefined && folder !== dirname(folder)) {
    folder = dirname(folder);
  }
  return folder;
}
