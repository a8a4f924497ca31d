/** What each role may do, asked of the real server. */
import { connect, Empty, type NatsConnection } from "nats";
import { expect, it } from "vitest";
import { launchNatsServer } from "../../../infra/nats-server/launch.ts";
import type { NatsServer } from "../../../infra/nats-server/server.ts";
import { describeOnServers } from "../../support/server.ts";
import { testBench, until } from "./fixtures.ts";

const bench = testBench();

/** A journal with its live feed, a bucket of leases, and a service that answers commands and queries, as the daemon makes them. */
async function installation(server: NatsServer) {
  const daemon = await bench.client(server, "daemon");
  const manager = await daemon.jetstreamManager();
  await manager.streams.add({
    name: "HF_t_EVT_0_1",
    subjects: ["hf.t.evt.>"],
    allow_direct: true,
    republish: { src: "hf.t.evt.>", dest: "hf.t.live.>" },
  });
  await manager.streams.add({
    name: "KV_hf_t_leases",
    subjects: ["$KV.hf_t_leases.>"],
    max_msgs_per_subject: 1,
  });
  const service = await bench.client(server, "service");
  const api = await service.services.add({ name: "holdfast", version: "1.0.0" });
  for (const subject of ["hf.t.cmd.submit", "hf.t.get.jobs"]) {
    api.addEndpoint(subject.replaceAll(".", "_"), {
      subject,
      handler: (_error, message) => {
        message.respond("answer");
      },
    });
  }
  await service.flush();
  const stored = async () => (await manager.streams.info("HF_t_EVT_0_1")).state.messages;
  const leases = async () => (await manager.streams.info("KV_hf_t_leases")).state.messages;
  return { daemon, service, stored, leases };
}

/** Asks and says what came: an answer, or the refusal's code. */
async function ask(client: NatsConnection, subject: string, body = ""): Promise<string> {
  try {
    const answer = await client.request(subject, body, { timeout: 2_000 });
    return answer.string();
  } catch (error) {
    return error instanceof Error && "code" in error ? String(error.code) : String(error);
  }
}

await describeOnServers("roles", ["newest", "floor"], (version, binary) => {
  const durability = version === "newest" ? "fsync" : "process";
  const launch = () => launchNatsServer({ dataDir: bench.dataDir(), durability, binary });

  it("an operator commands and asks, an observer only asks, and both see the live feed", async () => {
    await using server = await launch();
    const { daemon } = await installation(server);
    const operator = await bench.client(server, "operator");
    const observer = await bench.client(server, "observer");
    const seen: string[] = [];
    for (const client of [operator, observer]) {
      client.subscribe("hf.*.live.>", { callback: (_error, { subject }) => seen.push(subject) });
      await client.flush();
    }
    expect(await ask(operator, "hf.t.cmd.submit")).toBe("answer");
    expect(await ask(operator, "hf.t.get.jobs")).toBe("answer");
    expect(await ask(operator, "$SRV.PING.holdfast")).toContain("holdfast");
    expect(await ask(observer, "hf.t.get.jobs")).toBe("answer");
    expect(await ask(observer, "hf.t.cmd.submit")).toBe("PERMISSIONS_VIOLATION");
    await daemon.jetstream().publish("hf.t.evt.0.1.dispatcher", Empty);
    await until(() => seen.length === 2);
    expect(seen).toEqual(["hf.t.live.0.1.dispatcher", "hf.t.live.0.1.dispatcher"]);
  });

  it.each(["service", "operator", "observer"] as const)(
    "the %s may neither write the journal nor ask JetStream for anything",
    async (role) => {
      await using server = await launch();
      const { stored, leases } = await installation(server);
      const client = await bench.client(server, role);
      for (const subject of [
        "hf.t.evt.0.1.dispatcher",
        "hf.t.live.0.1.dispatcher",
        "$KV.hf_t_records.x",
        "$KV.hf_t_leases.partition.0",
        "$JS.API.STREAM.MSG.DELETE.KV_hf_t_leases",
        "$JS.API.STREAM.UPDATE.KV_hf_t_leases",
        "$JS.API.INFO",
        "$JS.API.STREAM.DELETE.HF_t_EVT_0_1",
        "$JS.API.STREAM.PURGE.HF_t_EVT_0_1",
        "$JS.API.CONSUMER.CREATE.HF_t_EVT_0_1",
        "$JS.API.CONSUMER.DURABLE.CREATE.HF_t_EVT_0_1.c",
        "$JS.API.STREAM.MSG.GET.HF_t_EVT_0_1",
        "$JS.API.DIRECT.GET.HF_t_EVT_0_1",
      ]) {
        expect([subject, await ask(client, subject)]).toEqual([subject, "PERMISSIONS_VIOLATION"]);
      }
      expect(await stored()).toBe(0);
      expect(await leases()).toBe(0);
    },
  );

  it("an answer goes into an inbox, never where a request would have it written", async () => {
    await using server = await launch();
    const { stored, leases, daemon } = await installation(server);
    const operator = await bench.client(server, "operator");
    const observer = await bench.client(server, "observer");
    operator.publish("hf.t.cmd.submit", Empty, { reply: "hf.t.evt.by.command" });
    operator.publish("$SRV.PING", Empty, { reply: "hf.t.evt.by.ping" });
    observer.publish("hf.t.get.jobs", Empty, { reply: "hf.t.evt.by.query" });
    operator.publish("hf.t.cmd.submit", Empty, { reply: "$JS.API.STREAM.DELETE.HF_t_EVT_0_1" });
    operator.publish("hf.t.cmd.submit", Empty, { reply: "$KV.hf_t_leases.partition.0" });
    await operator.flush();
    await observer.flush();
    // The service answers in order, so when these are answered, the others have been.
    expect(await ask(operator, "hf.t.cmd.submit")).toBe("answer");
    expect(await ask(observer, "hf.t.get.jobs")).toBe("answer");
    await daemon.flush();
    expect(await stored()).toBe(0);
    expect(await leases()).toBe(0);
  });

  it("nobody reads another role's inbox or the commands", async () => {
    await using server = await launch();
    const operator = await bench.client(server, "operator");
    for (const subject of [
      "hf.*.cmd.>",
      "hf.*.evt.>",
      "_INBOX_d.>",
      "_INBOX_v.>",
      "_INBOX.>",
      ">",
    ]) {
      const error = await new Promise<unknown>((resolve) => {
        operator.subscribe(subject, { callback: (refused) => resolve(refused) });
      });
      expect([subject, error]).toEqual([
        subject,
        expect.objectContaining({ code: "PERMISSIONS_VIOLATION" }),
      ]);
    }
  });

  it("nobody comes in without a password or with another role's", async () => {
    await using server = await launch();
    const { operator } = server.credentials;
    for (const login of [{}, { user: "daemon", pass: operator.password ?? "" }]) {
      await expect(
        connect({ servers: server.url, reconnect: false, ...login }),
      ).rejects.toMatchObject({ code: "AUTHORIZATION_VIOLATION" });
    }
  });
});
