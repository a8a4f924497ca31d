import { describe, expect, it } from "vitest";
import { isHoldfastError } from "../../../actors/errors.ts";
import { FAULTS_MAX, NESTING_MAX, REQUEST_BYTES_MAX } from "../../../infra/api/contract/limits.ts";
import {
  CancelRequest,
  HealthRequest,
  RecordRequest,
  ResolveRequest,
  SubmitRequest,
  WorkflowRequest,
} from "../../../infra/api/contract/requests.ts";
import { parseRequest } from "../../../infra/api/request-body.ts";

const encode = (text: string) => new TextEncoder().encode(text);
const parse = (value: unknown) => parseRequest(encode(JSON.stringify(value)), SubmitRequest);

/** The code, the text and the faults of what is refused. */
function refused(work: () => unknown) {
  try {
    work();
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    return { code: error.code, message: error.message, details: error.details };
  }
  throw new Error("it was not refused");
}

describe("the body of a request", () => {
  it("is the empty object when there is none", () => {
    expect(parseRequest(new Uint8Array(), HealthRequest)).toEqual({});
    expect(refused(() => parseRequest(new Uint8Array(), SubmitRequest)).message).toContain(
      "type: Invalid input: expected string, received undefined",
    );
  });

  it.each([
    ["no JSON", "{", "The request is not JSON"],
    ["a bare word", "nope", "The request is not JSON"],
    ["an array", "[]", "(request): Invalid input: expected object, received array"],
    ["null", "null", "(request): Invalid input: expected object, received null"],
    ["a text", '"x"', "(request): Invalid input: expected object, received string"],
  ])("is refused when it is %s", (_what, text, expected) => {
    const refusal = refused(() => parseRequest(encode(text), SubmitRequest));
    expect(refusal.code).toBe("invalid_argument");
    expect(refusal.message).toContain(expected);
  });

  it("is refused when it is no UTF-8, and never read as something else", () => {
    const body = Uint8Array.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
    expect(refused(() => parseRequest(body, SubmitRequest)).message).toContain("is not UTF-8");
  });

  it("never repeats what it could not read: there may be a secret in it", () => {
    const refusal = refused(() => parseRequest(encode('{"token": hunter2hunter2}'), SubmitRequest));
    expect(JSON.stringify(refusal)).not.toContain("hunter2");
  });

  it("is refused unread past its size, and taken up to it", () => {
    const padded = (bytes: number) => encode(`{"type":"a"${" ".repeat(bytes - 12)}}`);
    expect(parseRequest(padded(REQUEST_BYTES_MAX), SubmitRequest)).toEqual({ type: "a" });
    expect(refused(() => parseRequest(padded(REQUEST_BYTES_MAX + 1), SubmitRequest))).toMatchObject(
      {
        code: "invalid_argument",
        details: { bytes: REQUEST_BYTES_MAX + 1, bytesMax: REQUEST_BYTES_MAX },
      },
    );
  });

  it("is refused when it is too deep, whatever stands in its texts", () => {
    const nested = (depth: number) =>
      encode(`{"type":"a","input":${"[".repeat(depth)}${"]".repeat(depth)}}`);
    expect(parseRequest(nested(NESTING_MAX - 1), SubmitRequest)).toMatchObject({ type: "a" });
    expect(refused(() => parseRequest(nested(NESTING_MAX), SubmitRequest)).message).toContain(
      "deeper",
    );
    expect(refused(() => parseRequest(nested(200_000), SubmitRequest)).message).toContain("deeper");
    const text = `${"[".repeat(500)}\\"${"{".repeat(500)}`;
    expect(parseRequest(encode(`{"type":"${text}"}`), SubmitRequest).type).toHaveLength(1_001);
  });
});

describe("a request", () => {
  it("is refused with every fault and its path, unknown fields by name", () => {
    const refusal = refused(() =>
      parse({
        type: 7,
        inputs: {},
        after: ["a", 3],
        timeoutMs: -1,
        metadata: { a: 1 },
        wait: "no",
      }),
    );
    expect(refusal.details["faults"]).toEqual([
      { path: "type", message: "Invalid input: expected string, received number" },
      { path: "after.1", message: "Invalid input: expected string, received number" },
      { path: "timeoutMs", message: "Too small: expected number to be >0" },
      { path: "wait", message: "true, false, or 1 to 600000 ms" },
      { path: "inputs", message: "no such field" },
    ]);
  });

  it("lists a bounded number of faults, and cuts long names", () => {
    const fields = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`x${index}`, 1]));
    const { details, message } = refused(() => parse({ type: "a", ...fields }));
    expect(details["faults"]).toHaveLength(FAULTS_MAX);
    expect(details["dropped"]).toBe(500 - FAULTS_MAX);
    expect(message).toContain(`and ${500 - FAULTS_MAX} more`);
    const long = refused(() => parse({ type: "a", ["y".repeat(100_000)]: 1 }));
    expect(JSON.stringify(long).length).toBeLessThan(1_000);
  });

  it.each([
    ["", "an id is not blank"],
    [" \n", "an id is not blank"],
    ["\ud800", "an id is well-formed Unicode"],
    ["x".repeat(201), "at most 200 bytes of UTF-8, found 201"],
    ["😀".repeat(51), "at most 200 bytes of UTF-8, found 204"],
  ])("keeps the rule of ids wherever an id stands: %j", (id, expected) => {
    for (const request of [
      { type: "a", id },
      { type: "a", commandId: id },
      { type: "a", user: id },
      { type: "a", after: [id] },
    ]) {
      expect(refused(() => parse(request)).message).toContain(expected);
    }
    for (const schema of [RecordRequest, WorkflowRequest, CancelRequest]) {
      const body = encode(JSON.stringify({ job: id }));
      expect(refused(() => parseRequest(body, schema)).message).toContain(expected);
    }
  });

  it.each([
    [{ kind: "completed" }, "resolution.result"],
    [{ kind: "failed" }, "resolution.message"],
    [{ kind: "failed", message: " " }, "resolution.message: not blank"],
    [{ kind: "retry", now: true }, "resolution.now: no such field"],
    [{ kind: "forget" }, "resolution.kind"],
    ["retry", "resolution"],
  ])("to resolve says what is wrong with %j", (resolution, expected) => {
    const body = encode(JSON.stringify({ job: "j", resolution, reason: "seen" }));
    expect(refused(() => parseRequest(body, ResolveRequest)).message).toContain(expected);
  });

  it("for a page takes only a cursor that an answer gave", () => {
    const take = (cursor: unknown) =>
      parseRequest(encode(JSON.stringify({ job: "j", cursor })), WorkflowRequest);
    expect(take("17.3")).toEqual({ job: "j", cursor: { position: 17, offset: 3 } });
    for (const cursor of ["", "17", "-1.0", "1.2.3", 5]) {
      expect(refused(() => take(cursor)).message).toContain("cursor");
    }
  });
});
