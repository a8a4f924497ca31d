/**
 * A power cut: the store as it was synced at one moment, and a server that comes up on it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { defineTool } from "../../../actors/attempt/definition.ts";
import type { Durability } from "../../../actors/journal/codec.ts";
import type { StoredMessage } from "../../../actors/journal/log.ts";
import { openJetStreamLog } from "../../../infra/jetstream/log.ts";
import { serverFolder } from "../../../infra/nats-server/folder.ts";
import { launchNatsServer } from "../../../infra/nats-server/launch.ts";
import { checkLog } from "../../../infra/verify/log-check.ts";
import { openServerSource } from "../../../infra/verify/source.ts";
import { type Call, readCalls } from "../../support/disk/calls.ts";
import { FollowedDisk, type SentAck, sentAcks } from "../../support/disk/power-cut.ts";
import { launchTraced, TRACED_FILE_BYTES_MAX, whyNoStrace } from "../../support/disk/strace.ts";
import { startRealRuntime } from "../../support/real-runtime.ts";
import { describeOnServers } from "../../support/server.ts";

const ADDRESS = { namespace: "cut", partition: 0, generation: 1 };
/** More than may go as singles, so that batches are among what is acknowledged. */
const BURST = 60;
const ONE_BY_ONE = 10;
const CUTS_EACH = 4;

const echo = defineTool({
  type: "echo",
  input: z.number(),
  output: z.number(),
  run: (_context, input) => input,
});

interface Life {
  readonly calls: readonly Call[];
  /** Where the server kept its files. */
  readonly root: string;
  readonly acks: readonly SentAck[];
  /** Of the whole log, in order. */
  readonly messages: readonly string[];
}

/** All that counts of a message, in one text. */
const textOf = ({ sequence, id, frame, subject, body }: StoredMessage): string =>
  [sequence, subject, id, frame, new TextDecoder().decode(body)].join("\n");

/** Jobs in a burst and one by one, on a server whose calls are written down. */
async function live(binary: string, durability: Durability, folder: string): Promise<Life> {
  const traced = await launchTraced(binary, durability, folder);
  await using server = traced.server;
  const log = await openJetStreamLog({ url: server.url, ...server.credentials.daemon, ...ADDRESS });
  const runtime = await startRealRuntime(log, {
    address: ADDRESS,
    definitions: [echo],
    durability,
  });
  const run = async (input: number) => (await runtime.submit(echo, input)).result();
  await Promise.all(Array.from({ length: BURST }, (_, index) => run(index)));
  for (let index = 0; index < ONE_BY_ONE; index += 1) await run(index);
  await runtime.detach();
  const messages: string[] = [];
  await log.read({ from: 1 }, (message) => messages.push(textOf(message)));
  await log.close();
  const calls = readCalls(traced.trace);
  return { calls, root: traced.store, acks: sentAcks(calls), messages };
}

/** What a server has that comes up on what a cut at that line of the trace leaves. */
async function afterCut(binary: string, durability: Durability, life: Life, line: number) {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-cut-"));
  try {
    FollowedDisk.at(life.calls, life.root, line).restore(serverFolder(folder).store);
    await using server = await launchNatsServer({
      dataDir: folder,
      durability,
      binary,
      fileBytesMax: TRACED_FILE_BYTES_MAX,
    });
    const { url, credentials } = server;
    const { namespace } = ADDRESS;
    await using source = await openServerSource({ url, login: credentials.daemon, namespace });
    const messages: string[] = [];
    await source.log.read({ from: 1 }, (message) => messages.push(textOf(message)));
    return { messages, report: await checkLog(source.log) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Some of them, evenly chosen, the last one included. */
const someOf = <Value>(all: readonly Value[]): readonly Value[] =>
  all.filter((_, index) => (index + 1) % Math.max(1, Math.floor(all.length / CUTS_EACH)) === 0);

/** The newest position that was acknowledged when the cut came. */
const acknowledgedAt = ({ acks }: Life, cut: number): number =>
  Math.max(0, ...acks.filter(({ line }) => line <= cut).map(({ sequence }) => sequence));

/** Right when an acknowledgement is sent, one call before, and at whatever call. */
function cutsOf({ acks, calls }: Life): readonly number[] {
  const first = acks[0]?.line ?? 0;
  const last = acks.at(-1)?.line ?? 0;
  const between = calls.map(({ entered }) => entered).filter((at) => at > first && at < last);
  return [
    ...someOf(acks).map(({ line }) => line),
    ...someOf(acks).map(({ line }) => line - 1),
    ...someOf(between),
  ];
}

const missing = whyNoStrace();

await describeOnServers("a power cut", ["newest"], (_version, binary) => {
  // The machine has no strace, or lets nobody trace: the title says which.
  describe.skipIf(missing !== null)(
    `by the server's calls${missing ? ` (${missing})` : ""}`,
    () => {
      const folders: string[] = [];
      const newFolder = () => {
        const folder = mkdtempSync(join(tmpdir(), "holdfast-traced-"));
        folders.push(folder);
        return folder;
      };
      let synced: Life;
      beforeAll(async () => {
        synced = await live(binary, "fsync", newFolder());
      });
      afterAll(() => {
        for (const folder of folders) rmSync(folder, { recursive: true, force: true });
      });

      it("[ES-4] in fsync mode loses nothing that was acknowledged, whenever it comes, and the log verifies", async () => {
        expect(synced.acks.at(-1)?.sequence).toBe(synced.messages.length);
        expect(synced.acks.length).toBeLessThan(synced.messages.length); // Batches are among them.
        for (const cut of cutsOf(synced)) {
          const acknowledged = acknowledgedAt(synced, cut);
          const { messages, report } = await afterCut(binary, "fsync", synced, cut);
          expect({ cut, kept: messages.length >= acknowledged }).toEqual({ cut, kept: true });
          expect(messages).toEqual(synced.messages.slice(0, messages.length));
          expect({ cut, ok: report.ok, findings: report.findings }).toMatchObject({
            cut,
            ok: true,
          });
        }
      });

      it("[ES-4] in process mode loses what was acknowledged: so the cut is one", async () => {
        const life = await live(binary, "process", newFolder());
        const cut = life.acks.at(-1)?.line ?? 0;
        const disk = FollowedDisk.at(life.calls, life.root, cut);
        const synced = disk.synced();
        const isKept = life.messages.map((text) => synced.includes(text.split("\n")[2] ?? ""));
        expect(life.messages).not.toEqual([]);
        expect(isKept.some(Boolean)).toBe(false);
      });
    },
  );
});
