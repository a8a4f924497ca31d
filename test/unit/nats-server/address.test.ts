/** A server's address, as people write it. */
import { describe, expect, it } from "vitest";
import { isInboxPrefix, parseAddress } from "../../../infra/nats-server/credentials.ts";

describe("a server's address", () => {
  it.each([
    ["h", "nats://h:4222", {}],
    ["127.0.0.1:14222", "nats://127.0.0.1:14222", {}],
    ["tls://h:1", "tls://h:1", {}],
    ["nats://ann@h", "nats://h:4222", { user: "ann" }],
    ["nats://a%40b:p%3Aw@h:1", "nats://h:1", { user: "a@b", password: "p:w" }],
  ])("%j is a URL without a login, and the login", (text, url, login) => {
    expect(parseAddress(text)).toEqual({ url, login: { inboxPrefix: "_INBOX", ...login } });
  });

  it("has the inbox prefix that it is given", () => {
    expect(parseAddress("h", "_INBOX_o")?.login).toEqual({ inboxPrefix: "_INBOX_o" });
  });

  it.each([
    "",
    "http://h:1",
    "nats://",
    "nats://user:pass word@",
    "nats://h:99999",
    "nats://%zz@h",
  ])("%j is none", (text) => {
    expect(parseAddress(text)).toBeNull();
  });
});

it.each([
  ["_INBOX", true],
  ["_INBOX.app", true],
  ["", false],
  ["a.", false],
  ["a b", false],
  ["a.*", false],
  [">", false],
])("an inbox prefix may be %j: %s", (text, verdict) => {
  expect(isInboxPrefix(text)).toBe(verdict);
});
