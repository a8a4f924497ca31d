/**
 * The stream of one generation: its settings, created or checked.
 *
 * Owns: what makes a stream fit to be a journal. Does not own: its messages.
 *
 * S1. Settings that the journal's promises rest on are compared with what the server says it has, after creating too: an old
 *     server ignores a field it does not know. A difference is an error that names each.
 * S2. Only fields that the oldest server knows are sent.
 * S3. One copy: on a replicated stream a refused chained publish loses the stream (measured, server 2.15).
 * S5. Where the server can store several messages as one (from 2.12 on), the stream allows it; whether it does is what the
 *     server says afterwards.
 * S4. The size limit is the one setting that may differ; it is changed to what is asked.
 */
import { z } from "zod";
import { JournalError } from "../../actors/errors.ts";
import type { LogInfo } from "../../actors/journal/log.ts";
import { callApi, findOrCreateStream } from "./api.ts";
import type { ReadConnection } from "./connection.ts";
import type { Attempt } from "./errors.ts";
import type { PartitionNames } from "./names.ts";

const NANOSECONDS_PER_MS = 1_000_000;
/** Ids are unique for ever, so the window decides nothing; each id in it costs the server about 190 bytes. */
const DUPLICATE_WINDOW_MS = 2_000;
/** How the server says that there is no limit. */
const UNLIMITED = -1;

const infoSchema = z.object({
  config: z.looseObject({ max_bytes: z.number() }),
  state: z.object({
    messages: z.number(),
    bytes: z.number(),
    first_seq: z.number(),
    last_seq: z.number(),
  }),
});

type StreamInfo = z.output<typeof infoSchema>;
type StreamConfig = StreamInfo["config"];

/** What must hold (S1); exactly these fields are sent (S2). */
const essentialSettings = ({ prefix, livePrefix }: PartitionNames) => ({
  subjects: [`${prefix}.>`],
  retention: "limits",
  storage: "file",
  num_replicas: 1,
  discard: "new",
  max_age: 0,
  max_msgs: UNLIMITED,
  max_msgs_per_subject: UNLIMITED,
  max_msg_size: UNLIMITED,
  max_consumers: UNLIMITED,
  duplicate_window: DUPLICATE_WINDOW_MS * NANOSECONDS_PER_MS,
  deny_delete: true,
  allow_direct: true,
  allow_rollup_hdrs: false,
  republish: { src: `${prefix}.>`, dest: `${livePrefix}.>` },
});

/** Most messages that a server takes as one. */
const BATCH_MAX = 1_000;
/** Level of the server's API from which it can (2.12). */
const ATOMIC_API_LEVEL = 2;

const accountSchema = z.object({
  api: z.object({ level: z.number().default(0) }).default({ level: 0 }),
});

/** S5, S2: the field is sent to a server that knows it. */
async function batchSettings(connection: ReadConnection): Promise<{ allow_atomic?: true }> {
  const attempt: Attempt = { action: "ask the server what it can", details: {}, isChange: false };
  const { api } = await callApi(connection, "INFO", null, accountSchema, attempt);
  return api.level >= ATOMIC_API_LEVEL ? { allow_atomic: true } : {};
}

/** Settings that must not be on; a server that does not know one does not name it. */
const FORBIDDEN_SETTINGS = [
  "sealed",
  "no_ack",
  "mirror",
  "sources",
  "subject_transform",
  "first_seq",
  "allow_msg_ttl",
  "allow_msg_counter",
  "allow_msg_schedules",
] as const;

interface SettingDifference {
  readonly setting: string;
  readonly expected: unknown;
  readonly found: unknown;
}

const isEqual = (one: unknown, other: unknown): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

const isOff = (value: unknown): boolean =>
  value === undefined || value === null || value === false || value === 0;

/** What an existing stream has that a journal cannot live with. */
function differencesOf(names: PartitionNames, found: StreamConfig): readonly SettingDifference[] {
  const wrong = Object.entries(essentialSettings(names))
    .filter(([setting, expected]) => !isEqual(found[setting], expected))
    .map(([setting, expected]) => ({ setting, expected, found: found[setting] ?? null }));
  const forbidden = FORBIDDEN_SETTINGS.filter((setting) => !isOff(found[setting])).map(
    (setting) => ({ setting, expected: "off", found: found[setting] }),
  );
  // Written after the acknowledgement: what was acknowledged would be lost with the process.
  const persistence = found.persist_mode ?? "default";
  return persistence === "default"
    ? [...wrong, ...forbidden]
    : [
        ...wrong,
        ...forbidden,
        { setting: "persist_mode", expected: "default", found: persistence },
      ];
}

function checkSettings(names: PartitionNames, found: StreamConfig): void {
  const differences = differencesOf(names, found);
  if (differences.length === 0) return;
  const list = differences
    .map(
      (one) =>
        `${one.setting} is ${JSON.stringify(one.found)}, not ${JSON.stringify(one.expected)}`,
    )
    .join("; ");
  throw new JournalError(`Stream ${names.stream} cannot be used as a journal: ${list}.`, {
    retry: "never",
    details: { outcome: "refused", stream: names.stream, differences },
  });
}

const attemptOn = (names: PartitionNames, action: string, isChange = false): Attempt => ({
  action: `${action} stream ${names.stream}`,
  details: { stream: names.stream },
  isChange,
});

const readInfo = (connection: ReadConnection, names: PartitionNames): Promise<StreamInfo> =>
  callApi(connection, `STREAM.INFO.${names.stream}`, null, infoSchema, attemptOn(names, "look at"));

/**
 * Creates the stream if there is none and checks it. Resolves with how many messages it takes as one, 0 for none. `bytesMax` in bytes; undefined: no limit, or the one that it has.
 * Errors: JournalError; `details.differences` lists the settings that a found stream has otherwise.
 */
export async function ensureStream(
  connection: ReadConnection,
  names: PartitionNames,
  bytesMax: number | undefined,
): Promise<number> {
  const batch = await batchSettings(connection);
  const asked = {
    name: names.stream,
    ...essentialSettings(names),
    ...batch,
    max_bytes: bytesMax ?? UNLIMITED,
  };
  const { config } = await findOrCreateStream(connection, asked, infoSchema, {
    find: attemptOn(names, "look at"),
    create: attemptOn(names, "create", true),
  });
  checkSettings(names, config);
  const wanted = { ...batch, ...(bytesMax === undefined ? {} : { max_bytes: bytesMax }) };
  const isAsWanted = Object.entries(wanted).every(([setting, value]) => config[setting] === value);
  if (isAsWanted) return batchMaxOf(config);
  const attempt = attemptOn(names, "change the settings of", true);
  // Given back as the server told it, so that nothing else changes and nothing unknown is sent.
  const verb = `STREAM.UPDATE.${names.stream}`;
  const changed = await callApi(connection, verb, { ...config, ...wanted }, infoSchema, attempt);
  checkSettings(names, changed.config);
  return batchMaxOf(changed.config);
}

const batchMaxOf = (config: StreamConfig): number => (config.allow_atomic === true ? BATCH_MAX : 0);

/** Errors: JournalError. */
export async function streamInfo(
  connection: ReadConnection,
  names: PartitionNames,
): Promise<LogInfo> {
  const { config, state } = await readInfo(connection, names);
  return {
    // An empty stream names 0 when it is new and the next sequence when it was emptied.
    firstSequence: state.messages === 0 ? state.last_seq + 1 : state.first_seq,
    lastSequence: state.last_seq,
    bytes: state.bytes,
    bytesMax: config.max_bytes < 0 ? null : config.max_bytes,
  };
}
