import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeHeaders, findAddedHeader, findHeader } from "../../../infra/jetstream/headers.ts";
import { partitionNames } from "../../../infra/jetstream/names.ts";
import { answerReader } from "../../../infra/jetstream/publish-answer.ts";
import {
  fromAddedHeaders,
  fromDelivery,
  isDelivery,
  parseDelivery,
  receive,
} from "../../../infra/jetstream/raw-message.ts";
import { present } from "../../contract/log-fixture.ts";
import { deliveryReply, makeMessage } from "./made-message.ts";

const message = { subject: "s", id: "w.2", frame: "1 w 2", body: new Uint8Array(0) };

describe("headers", () => {
  it("carry the expectations first and the frame last", () => {
    const block = encodeHeaders({ ...message, expectedLastSequence: 7, expectedLastId: "w.1" });
    expect(block.toString("utf8")).toBe(
      "NATS/1.0\r\nNats-Expected-Last-Sequence: 7\r\nNats-Expected-Last-Msg-Id: w.1\r\n" +
        "Nats-Msg-Id: w.2\r\nHoldfast-Frame: 1 w 2\r\n\r\n",
    );
    const bare = "NATS/1.0\r\nNats-Msg-Id: w.2\r\nHoldfast-Frame: 1 w 2\r\n\r\n";
    expect(encodeHeaders(message).toString("utf8")).toBe(bare);
  });

  it("give back any value that they took", () => {
    const values = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(values, values, (id, frame) => {
        const isTaken = [id, frame].every(
          (value) =>
            !/[\r\n\0]/.test(value) &&
            value.charCodeAt(0) > 32 &&
            value.charCodeAt(value.length - 1) > 32,
        );
        if (!isTaken) {
          expect(() => encodeHeaders({ ...message, id, frame })).toThrow(/^H1/);
          return;
        }
        const block = encodeHeaders({ ...message, id, frame }).toString("utf8");
        expect([findHeader(block, "Nats-Msg-Id"), findHeader(block, "Holdfast-Frame")]).toEqual([
          id,
          frame,
        ]);
      }),
    );
  });

  it("are found by their whole name, the added ones by their last place", () => {
    const block = "NATS/1.0\r\nX-Nats-Sequence: 1\r\nNats-Sequence:2\r\nNats-Sequence:  3\r\n\r\n";
    expect(findHeader(block, "Nats-Sequence")).toBe("2");
    expect(findAddedHeader(block, "Nats-Sequence")).toBe("3");
    expect([findHeader(block, "Nats-Subject"), findHeader("", "Nats-Subject")]).toEqual(["", ""]);
  });
});

describe("an answer to a publish", () => {
  const read = answerReader("S");
  const answer = (text: string) => read(makeMessage({ data: Buffer.from(text, "utf8") }));

  it.each([
    [
      "a new server's",
      '{"stream":"S","seq":12}',
      { kind: "stored", sequence: 12, isDuplicate: false },
    ],
    [
      "an old server's",
      '{"stream":"S", "seq":7}',
      { kind: "stored", sequence: 7, isDuplicate: false },
    ],
    [
      "a duplicate",
      '{"stream":"S","seq":3,"duplicate": true}',
      { kind: "stored", sequence: 3, isDuplicate: true },
    ],
    [
      "one with a domain",
      '{"stream":"S","seq":3,"domain":"d"}',
      { kind: "stored", sequence: 3, isDuplicate: false },
    ],
    [
      "a refusal that ends like an answer",
      '{"error":{"code":400,"err_code":10071,"description":"wrong"},"stream":"S","seq":0}',
      { kind: "refused", code: 10071, description: "wrong" },
    ],
    [
      "a refusal by class only",
      '{"error":{"code":503}}',
      { kind: "refused", code: 503, description: "" },
    ],
  ])("is read: %s", (_, text, expected) => {
    expect(answer(text)).toEqual(expected);
  });

  it.each([
    ["another stream's", '{"stream":"T","seq":12}'],
    ["a longer name's", '{"stream":"SS","seq":12}'],
    ["no JSON", "+OK"],
    ["JSON of another kind", "[1]"],
    ["without a sequence", '{"stream":"S"}'],
    ["without digits", '{"stream":"S","seq":}'],
    ["with a sequence beyond counting", '{"stream":"S","seq":99999999999999999999x}'],
  ])("is unavailable: %s", (_, text) => {
    expect(answer(text)).toMatchObject({ kind: "unavailable" });
  });

  it("is unavailable when it is empty, with the status", () => {
    const status = { code: 503, description: "" };
    expect(read(makeMessage({ status }))).toMatchObject({
      kind: "unavailable",
      description: expect.stringContaining("503"),
    });
  });
});

describe("a received message", () => {
  it("tells its place in the reply subject, in both forms", () => {
    const expected = { sequence: 1234, delivered: 56, pending: 789, storedAtMs: 1_796_069_512_320 };
    const tail = "1.1234.56.1796069512320294205.789";
    for (const reply of [
      `$JS.ACK.S.c.${tail}`,
      `$JS.ACK.domain.hash.S.c.${tail}`,
      `$JS.ACK._.hash.S.c.${tail}.random`,
    ]) {
      expect(parseDelivery(Buffer.from(reply))).toEqual(expected);
      expect(isDelivery(Buffer.from(reply))).toBe(true);
    }
    expect(isDelivery(Buffer.from("$JS.FC.S.c.x"))).toBe(false);
    expect(parseDelivery(Buffer.from("$JS.ACK.S.c"))).toBeNull();
  });

  it("is the same by the client's private bytes and by its accessors", () => {
    const headers = "NATS/1.0\r\nNats-Msg-Id: ä.1\r\nHoldfast-Frame: f 1\r\n\r\n";
    const block = Buffer.from(headers, "utf8");
    const reply = Buffer.from(deliveryReply(5, 1, 0));
    const bytes = {
      _rdata: Buffer.concat([block, Buffer.from("body")]),
      _msg: { hdr: block.length, subject: Buffer.from("s.ü"), reply },
    };
    const byAccessors = receive(
      makeMessage({
        subject: "s.ü",
        reply: deliveryReply(5, 1, 0),
        headers: { "Nats-Msg-Id": "ä.1", "Holdfast-Frame": "f 1" },
        data: Buffer.from("body"),
      }),
    );
    // The double has the client's private fields and nothing else: an accessor would throw.
    const byBytes = receive(bytes as unknown as Parameters<typeof receive>[0]);
    const stored = { sequence: 5, subject: "s.ü", id: "ä.1", frame: "f 1" };
    for (const received of [byAccessors, byBytes]) {
      const made = fromDelivery(received, present(parseDelivery(received.reply)));
      expect(made).toMatchObject(stored);
      expect(Buffer.from(made.body).toString("utf8")).toBe("body");
    }
  });

  it("without the server's added headers is no stored message", () => {
    const added = { "Nats-Subject": "s.a", "Nats-Sequence": "5" };
    expect(fromAddedHeaders(receive(makeMessage({ headers: added })))).toMatchObject({
      sequence: 5,
      subject: "s.a",
    });
    expect(
      fromAddedHeaders(receive(makeMessage({ headers: { "Nats-Subject": "s.a" } }))),
    ).toBeNull();
    expect(
      fromAddedHeaders(receive(makeMessage({ headers: { ...added, "Nats-Sequence": "x" } }))),
    ).toBeNull();
    expect(fromAddedHeaders(receive(makeMessage({})))).toBeNull();
  });
});

describe("names", () => {
  it("are of the documented form", () => {
    expect(partitionNames({ namespace: "main", partition: 0, generation: 3 })).toEqual({
      stream: "HF_main_EVT_0_3",
      prefix: "hf.main.evt.0.3",
      livePrefix: "hf.main.live.0.3",
    });
  });

  it.each([
    ["namespace", { namespace: "a.b", partition: 0, generation: 1 }],
    ["namespace", { namespace: "", partition: 0, generation: 1 }],
    ["namespace", { namespace: "x".repeat(65), partition: 0, generation: 1 }],
    ["partition", { namespace: "a", partition: -1, generation: 1 }],
    ["generation", { namespace: "a", partition: 0, generation: 0.5 }],
  ])("are refused with the path of the fault: %s", (path, address) => {
    const expected = { code: "invalid_argument", details: { faults: [{ path }] } };
    expect(() => partitionNames(address)).toThrow(
      expect.objectContaining({ code: "invalid_argument" }),
    );
    let thrown: unknown = null;
    try {
      partitionNames(address);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject(expected);
  });
});
