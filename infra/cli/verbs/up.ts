/**
 * `holdfast up`: a daemon in the foreground.
 *
 * Owns: its options, what is told when it is up. Does not own: the daemon (infra/daemon), signals (daemon-process.ts).
 */
import type { Durability } from "../../../actors/journal/codec.ts";
import { type Daemon, DETACH_WAIT_MS_DEFAULT } from "../../daemon/daemon.ts";
import { LEASE_TTL_MS_DEFAULT } from "../../daemon/partition-lease.ts";
import { holdfastVersion } from "../../daemon/version.ts";
import { LOG_LEVELS, type LogLevel, openLog } from "../../logging/logger.ts";
import { dataDirOf, inboxPrefixOf, natsOf } from "../daemon-link.ts";
import { superviseDaemon } from "../daemon-process.ts";
import { EXIT } from "../exit-codes.ts";
import { usage } from "../line/arguments.ts";
import { INBOX_OPTION, type Invocation, type Verb } from "../line/verb.ts";
import type { Output } from "../output.ts";
import { table } from "../render-status.ts";
import { printable } from "../text.ts";

const DURABILITIES: readonly Durability[] = ["fsync", "process"];

export const up: Verb = {
  name: "up",
  summary: "run a daemon here, until it is stopped",
  positionals: [],
  options: {
    jobs: {
      type: "string",
      value: "FILE",
      isMultiple: true,
      help: "a module whose exports are job definitions; may be given several times",
    },
    data: {
      type: "string",
      value: "DIR",
      help: "its data folder (default: $HOLDFAST_DATA, else .holdfast)",
    },
    namespace: { type: "string", value: "NS", help: "its namespace (default: default)" },
    nats: {
      type: "string",
      value: "URL",
      help: "use this server instead of an embedded one (default: $HOLDFAST_NATS)",
    },
    ...INBOX_OPTION,
    durability: {
      type: "string",
      value: "MODE",
      help: "fsync: nothing acknowledged is lost to a power cut (default); process: nothing is lost when processes are killed",
    },
    "take-over": {
      type: "boolean",
      help: "take folder and partition at once from whoever has them; a daemon that lives is fenced and ends with code 3",
    },
    "lease-ttl": {
      type: "string",
      value: "MS",
      help: `how long its lease of the partition lives unless it is renewed (default: ${LEASE_TTL_MS_DEFAULT})`,
    },
    "log-level": {
      type: "string",
      value: "LEVEL",
      help: `${LOG_LEVELS.join(", ")} (default: info)`,
    },
  },
  notes: [
    `SIGTERM, SIGINT (Ctrl-C) and SIGHUP stop it in order: nothing new is taken, code that runs gets ${DETACH_WAIT_MS_DEFAULT / 1_000} s to end, and everything else comes back when the daemon is started again. A second signal stops it at once, like a kill: nothing acknowledged is lost by that either, and an embedded server goes on for the next daemon.`,
    `A partition has one owner. Where another daemon lives that has it, or the data folder, this one is refused with that one's name and code ${EXIT.ownership}. After a crash on this machine it starts at once; after one that cannot be seen from here (another machine or container) it waits until the lease of the one before has lapsed. Whatever the lease says, the journal's fence decides: who was taken over says so and ends with code ${EXIT.fenced}. A service supervisor should not start that one again.`,
    "The log goes to stderr as JSON lines.",
  ],
  examples: [
    "up --jobs jobs.mjs",
    "up --jobs a.mjs --jobs b.mjs --data /var/lib/holdfast",
    "up --jobs jobs.mjs --take-over",
  ],
  run: async (invocation) => {
    const { output } = invocation;
    const log = openLog({ level: levelOf(invocation) });
    const nats = natsOf(invocation);
    const inboxPrefix = inboxPrefixOf(invocation);
    const namespace = invocation.text("namespace");
    const leaseTtlMs = leaseTtlOf(invocation);
    return superviseDaemon({
      options: {
        dataDir: dataDirOf(invocation),
        durability: durabilityOf(invocation),
        jobs: invocation.texts("jobs"),
        log,
        takeOver: invocation.has("take-over"),
        ...(leaseTtlMs === undefined ? {} : { leaseTtlMs }),
        ...(namespace === undefined ? {} : { namespace }),
        ...(nats === undefined
          ? {}
          : { nats: { url: nats, ...(inboxPrefix === undefined ? {} : { inboxPrefix }) } }),
      },
      output,
      logger: log.logger,
      onUp: (daemon) => tellUp(output, daemon),
    });
  },
};

export function durabilityOf(invocation: Invocation, verb = "up"): Durability {
  const text = invocation.text("durability") ?? "fsync";
  const durability = DURABILITIES.find((each) => each === text);
  if (durability !== undefined) return durability;
  throw usage({ name: verb }, `--durability is fsync or process, found ${printable(text)}`);
}

/** Whether it is possible is the daemon's to say. */
function leaseTtlOf(invocation: Invocation): number | undefined {
  const text = invocation.text("lease-ttl");
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw usage(up, `--lease-ttl is a number of milliseconds, found ${printable(text)}`);
}

function levelOf(invocation: Invocation): LogLevel {
  const text = invocation.text("log-level") ?? "info";
  const level = LOG_LEVELS.find((each) => each === text);
  if (level !== undefined) return level;
  throw usage(up, `--log-level is one of ${LOG_LEVELS.join(", ")}, found ${printable(text)}`);
}

function tellUp(output: Output, daemon: Daemon): void {
  const { namespace, dataDir, durability, url, server } = daemon;
  const version = holdfastVersion();
  const { types } = daemon.runtime.health();
  output.document({
    ok: true,
    version,
    pid: process.pid,
    namespace,
    dataDir,
    durability,
    url,
    server,
    types,
  });
  const where = server.isEmbedded ? `embedded, pid ${server.pid}` : "external";
  output.line(`holdfast ${version} is up, pid ${process.pid}`);
  output.lines(
    table(
      [
        ["namespace", namespace],
        ["data folder", printable(dataDir)],
        ["server", `nats-server ${server.version} (${where}) at ${url}`],
        ["durability", durability],
        ["job types", types.length === 0 ? NO_TYPES : types.map(printable).join(", ")],
      ],
      { columns: output.columns, paint: (style, text) => output.paint(style, text), now: 0 },
    ),
  );
  output.line("Ctrl-C stops it; what is under way comes back at the next start.");
}

const NO_TYPES = "none: nothing can be submitted (give job modules with --jobs)";
