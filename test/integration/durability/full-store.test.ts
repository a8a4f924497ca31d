import { expect, it } from "vitest";
import { describeOnServers, startTestServer } from "../../support/server.ts";
import { startRig, until } from "../api/fixtures.ts";

const MEBIBYTE = 1024 ** 2;
/** The least a server is launched with. */
const STORE_BYTES = 64 * MEBIBYTE;
const FILLER_BYTES = 900 * 1024;

await describeOnServers("a full store", ["newest", "floor"], (version) => {
  it("[ES-4] refuses new work when 90 % is used, lets running work end, and takes work again when there is room", async () => {
    await using server = await startTestServer({
      version,
      durability: "process",
      fileBytesMax: STORE_BYTES,
    });
    await using rig = await startRig(server);
    await using client = await rig.client();
    expect(await client.submit({ type: "hold", input: "gate", id: "running" })).toMatchObject({
      ok: true,
    });
    const connection = await rig.connection("daemon");
    const manager = await connection.jetstreamManager();
    await manager.streams.add({ name: "FILLER", subjects: ["hf.filler"] });
    const filler = new Uint8Array(FILLER_BYTES);
    const room = async () => {
      const answer = await client.health();
      if (!answer.ok) throw new Error(answer.reason);
      return answer.health.room;
    };
    for (let used = 0; used <= 0.91 * STORE_BYTES; used += FILLER_BYTES) {
      await connection.jetstream().publish("hf.filler", filler);
    }
    expect(await room()).toMatchObject({ what: "server", limitBytes: STORE_BYTES, isFull: true });
    expect(await client.submit({ type: "echo", input: 1 })).toMatchObject({
      ok: false,
      decision: "refused",
      code: "journal",
      retry: "backoff",
      details: { reason: "store_full", what: "server" },
    });
    rig.jobs.gate("gate").open();
    const ended = await client.submit({ type: "hold", input: "gate", id: "running", wait: true });
    expect(ended).toMatchObject({ outcome: { kind: "completed", result: "gate" } });
    await manager.streams.purge("FILLER");
    await until(async () => (await room())?.isFull === false);
    expect(await client.submit({ type: "echo", input: 1, wait: true })).toMatchObject({
      outcome: { kind: "completed", result: 1 },
    });
  });
});
