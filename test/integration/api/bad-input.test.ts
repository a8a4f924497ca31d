/** What comes in wrong, on every endpoint: a coded answer each, and nothing done that was not asked for. */
import { connect, type NatsConnection } from "nats";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { VALUE_BYTES_MAX } from "../../../actors/attempt/json-value.ts";
import type { ApiClient } from "../../../infra/api/client.ts";
import { REQUEST_BYTES_MAX } from "../../../infra/api/contract/limits.ts";
import { connectionOptions } from "../../../infra/nats-server/credentials.ts";
import { startTestServer, type TestServer } from "../../support/server.ts";
import { askRaw, type Rig, startRig } from "./fixtures.ts";

let server: TestServer;
let rig: Rig;
let client: ApiClient;
let raw: NatsConnection;

beforeAll(async () => {
  server = await startTestServer({ version: "newest", durability: "process" });
  rig = await startRig(server);
  client = await rig.client();
  raw = await rig.connection("operator");
});

afterAll(async () => {
  await rig[Symbol.asyncDispose]();
  await server.stop();
});

const subject = (endpoint: string) => `hf.${rig.namespace}.${endpoint}`;
const ask = (endpoint: string, body: string | Uint8Array) => askRaw(raw, subject(endpoint), body);

const ENDPOINTS = [
  "cmd.submit",
  "cmd.cancel",
  "cmd.resolve",
  "cmd.answer",
  "get.record",
  "get.jobs",
  "get.tree",
  "get.trajectory",
  "get.health",
];

describe.each(ENDPOINTS)("%s", (endpoint) => {
  it.each([
    ["no JSON", "{"],
    ["no object", "[1]"],
    ["no UTF-8", Uint8Array.of(0x22, 0xff, 0x22)],
    ["an unknown field", '{"typo":1}'],
    ["a nesting bomb", "[".repeat(100_000)],
    ["more than a request may take", `"${"x".repeat(REQUEST_BYTES_MAX)}"`],
  ])("answers a body that is %s with what is wrong", async (_what, body) => {
    const before = rig.runtime.health().acknowledged;
    const answer = await ask(endpoint, body);
    expect(answer).toMatchObject({ ok: false, decision: "refused", code: "invalid_argument" });
    expect(String(answer["reason"])).toMatch(/^The request /);
    expect(rig.runtime.health().acknowledged).toBe(before);
  });
});

describe("refusals", () => {
  it("name every fault with its path, and unknown fields by name", async () => {
    const answer = await ask("cmd.submit", '{"type":1,"inptu":{},"after":"x","wait":-3}');
    expect(answer["details"]).toMatchObject({
      faults: [
        { path: "type" },
        { path: "after" },
        { path: "wait" },
        { path: "inptu", message: "no such field" },
      ],
    });
  });

  it("[DOOR-6] name every fault of an input with its path", async () => {
    const answer = await client.submit({ type: "add", input: { a: "1", c: 3 } });
    expect(answer).toMatchObject({ ok: false, code: "invalid_argument" });
    expect(answer).toMatchObject({
      reason: expect.stringMatching(/a: .*b: .*Unrecognized key: "c"/),
    });
  });

  it("name the known types where one is not known", async () => {
    const answer = await client.submit({ type: "ad", input: {} });
    expect(answer).toMatchObject({ ok: false, code: "not_found" });
    expect(answer).toMatchObject({ reason: expect.stringContaining("echo, add, fail, hold") });
    for (const type of ["", "\u0000", "add ", "x".repeat(100_000)]) {
      expect(await client.submit({ type, input: {} })).toMatchObject({ ok: false });
    }
  });

  it("can be told by a client that only knows NATS services: by their headers", async () => {
    const answer = await raw.request(subject("get.record"), '{"job":"never-was"}');
    expect(answer.headers?.get("Nats-Service-Error-Code")).toBe("404");
    expect(answer.headers?.get("Nats-Service-Error")).toBe("not_found");
    const good = await raw.request(subject("get.health"));
    expect(good.headers).toBeUndefined();
  });

  it("a dependency that is not there is named", async () => {
    expect(await client.submit({ type: "echo", after: ["never-was"] })).toMatchObject({
      ok: false,
      code: "not_found",
      details: { dependency: "never-was" },
    });
    expect(await client.submit({ type: "echo", id: "self", after: ["self"] })).toMatchObject({
      ok: false,
      code: "invalid_argument",
    });
  });
});

describe("sizes", () => {
  /** JSON of exactly so many bytes. */
  const text = (bytes: number) => "x".repeat(bytes - 2);

  it("an input of nothing, of an empty text, and of exactly the limit come through whole", async () => {
    for (const input of [undefined, "", text(VALUE_BYTES_MAX - 1), text(VALUE_BYTES_MAX)]) {
      const answer = await client.submit({ type: "echo", input, wait: true });
      expect(answer).toMatchObject({ outcome: { kind: "completed", result: input ?? null } });
    }
  });

  it.each([VALUE_BYTES_MAX + 1, 300_000])(
    "an input of %i bytes is refused with its size and the limit",
    async (size) => {
      expect(await client.submit({ type: "echo", input: text(size) })).toMatchObject({
        ok: false,
        code: "invalid_argument",
        details: { bytes: size, bytesMax: VALUE_BYTES_MAX },
      });
    },
  );

  it("what the server lets nobody send is refused by the client with size and limit, and it goes on", async () => {
    for (const size of [2 * 1024 ** 2, 50 * 1024 ** 2]) {
      await expect(client.submit({ type: "echo", input: text(size) })).rejects.toMatchObject({
        code: "invalid_argument",
        details: { bytesMax: 1024 ** 2 },
      });
    }
    expect(await client.health()).toMatchObject({ ok: true });
  });

  it("a client that sends it all the same harms nobody but itself", async () => {
    const rude = await connect(connectionOptions(server.url, server.credentials.operator));
    const size = 2 * 1024 ** 2;
    await expect(rude.request(subject("cmd.submit"), text(size))).rejects.toMatchObject({
      code: "MAX_PAYLOAD_EXCEEDED",
    });
    await rude.close();
    expect(await client.health()).toMatchObject({ ok: true });
  });

  it("a result of exactly the limit is kept, and a larger one fails that job alone", async () => {
    expect(
      await client.submit({ type: "grow", input: VALUE_BYTES_MAX - 2, wait: true }),
    ).toMatchObject({
      outcome: { kind: "completed" },
    });
    expect(
      await client.submit({ type: "grow", input: VALUE_BYTES_MAX - 1, wait: true }),
    ).toMatchObject({
      outcome: {
        kind: "failed",
        error: {
          code: "invalid_argument",
          details: { bytes: VALUE_BYTES_MAX + 1, bytesMax: VALUE_BYTES_MAX },
        },
      },
    });
    expect(await client.submit({ type: "grow", input: 60_000_000, wait: true })).toMatchObject({
      outcome: { kind: "failed", error: { code: "invalid_argument" } },
    });
    expect(await client.health()).toMatchObject({ health: { state: "ready", journal: "open" } });
  });
});

describe("ids with anything in them", () => {
  const IDS = [
    "a.b",
    "a b",
    "a:b",
    "a/b",
    "../x",
    "*",
    ">",
    "123",
    "😀",
    "nul\u0000byte",
    "dot.",
    "a.*",
    "=2e",
    "line\nbreak",
    "%2e",
    "é",
    "e\u0301",
    "x".repeat(200),
  ];

  it("are taken byte for byte, and no reader of one sees another's", async () => {
    for (const [index, id] of IDS.entries()) {
      const answer = await client.submit({ type: "echo", input: index, id, user: id, wait: true });
      expect(answer).toMatchObject({ job: id, workflow: id, outcome: { result: index } });
    }
    for (const [index, id] of IDS.entries()) {
      const record = await client.record(id);
      expect(record).toMatchObject({
        ok: true,
        record: { identity: { taskId: id, workflow: id, user: id }, input: { value: index } },
      });
      const tree = await client.tree(id);
      expect(tree.ok && tree.nodes.map((node) => node.id)).toEqual([id]);
    }
    expect(rig.jobs.runs.size).toBeGreaterThanOrEqual(IDS.length);
  });

  it("are found by those ids and no others", async () => {
    for (const id of ["a", "b", "x", "dot", "a*", "nul", "line", "=2E", "*.*", "a.>"]) {
      expect(await client.record(id)).toMatchObject({ ok: false, code: "not_found" });
    }
  });

  it.each([
    ["an empty one", ""],
    ["a blank one", "  "],
    ["one of 2 KB", "x".repeat(2_048)],
    ["half of a pair", "\ud83d"],
  ])("%s is refused with the rule", async (_what, id) => {
    const answer = await ask("cmd.submit", JSON.stringify({ type: "echo", id }));
    expect(answer).toMatchObject({ ok: false, code: "invalid_argument" });
    expect(String(answer["reason"])).toMatch(/id: an id /);
  });
});
