/**
 * What is on the disk when an acknowledgement is sent: by the server's own system calls.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Durability } from "../../../actors/journal/codec.ts";
import type { PublishAnswer } from "../../../actors/journal/log.ts";
import { openJetStreamLog } from "../../../infra/jetstream/log.ts";
import { readCalls } from "../../support/disk/calls.ts";
import { FollowedDisk, sentAcks } from "../../support/disk/power-cut.ts";
import { launchTraced, whyNoStrace } from "../../support/disk/strace.ts";
import { describeOnServers } from "../../support/server.ts";

const PREFIX = "hf.synced.evt.0.1";
const SINGLES = 20;
const BATCH = 30;

const idOf = (sequence: number): string => `writer.${String(sequence).padStart(4, "0")}!`;

const messageOf = (sequence: number) => ({
  subject: `${PREFIX}.dispatcher`,
  id: idOf(sequence),
  frame: "frame",
  body: new TextEncoder().encode(`body ${sequence}`),
});

/** Stores singles, then a batch where the server can, and reads its calls. */
async function traceStoring(binary: string, durability: Durability) {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-traced-"));
  try {
    const traced = await launchTraced(binary, durability, folder);
    await using server = traced.server;
    const { url, credentials } = server;
    const address = { namespace: "synced", partition: 0, generation: 1 };
    const log = await openJetStreamLog({ url, ...credentials.daemon, ...address });
    const answers: PublishAnswer[] = [];
    let told: () => void = () => undefined;
    const appender = await log.openAppender({
      onAnswer: (_index, answer) => {
        answers.push(answer);
        told();
      },
      onDisconnect: () => told(),
    });
    const answered = (count: number) =>
      new Promise<void>((resolve) => {
        told = () => answers.length >= count && resolve();
        told();
      });
    for (let sequence = 1; sequence <= SINGLES; sequence += 1) {
      appender.publish(messageOf(sequence), sequence);
    }
    await answered(SINGLES);
    if (appender.batchMax > 0) {
      const batch = Array.from({ length: BATCH }, (_, index) => messageOf(SINGLES + 1 + index));
      appender.publishBatch(batch, SINGLES + BATCH);
      await answered(SINGLES + 1);
    }
    await appender.close();
    await log.close();
    // Read while it runs: how it ends is no part of the proof.
    const calls = readCalls(traced.trace);
    const acks = sentAcks(calls);
    return { answers, acks, diskAt: (line: number) => FollowedDisk.at(calls, traced.store, line) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const missing = whyNoStrace();

await describeOnServers("an acknowledgement", ["newest"], (_version, binary) => {
  // The machine has no strace, or lets nobody trace: the title says which.
  describe.skipIf(missing !== null)(
    `by the server's calls${missing ? ` (${missing})` : ""}`,
    () => {
      it("[ES-4] is sent in fsync mode when every byte of its record is synced, alone and in a batch", async () => {
        const { answers, acks, diskAt } = await traceStoring(binary, "fsync");
        expect(answers.every(({ kind }) => kind === "stored")).toBe(true);
        expect(acks.at(-1)?.sequence).toBe(SINGLES + BATCH);
        expect(acks).toHaveLength(SINGLES + 1);
        for (const { line, sequence } of acks) {
          const synced = diskAt(line).synced();
          const lost = Array.from({ length: sequence }, (_, index) => index + 1).filter(
            (each) => !synced.includes(idOf(each)) || !synced.includes(`body ${each}`),
          );
          expect({ sequence, lost }).toEqual({ sequence, lost: [] });
        }
      });

      it("[ES-4] is sent in process mode when its record is written, and not synced", async () => {
        const { acks, diskAt } = await traceStoring(binary, "process");
        expect(acks.length).toBeGreaterThanOrEqual(SINGLES);
        for (const { line, sequence } of acks.slice(0, SINGLES)) {
          const disk = diskAt(line);
          expect(disk.live().includes(idOf(sequence))).toBe(true);
          expect(disk.synced().includes(idOf(sequence))).toBe(false);
        }
      });
    },
  );
});
