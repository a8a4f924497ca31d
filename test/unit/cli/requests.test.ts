/**
 * From command lines to what is asked, and of whom.
 */
import { describe, expect, it } from "vitest";

import { serverOf } from "../../../infra/cli/daemon-link.ts";
import { parseLine } from "../../../infra/cli/line/arguments.ts";
import type { Invocation } from "../../../infra/cli/line/verb.ts";
import { requestOf } from "../../../infra/cli/verbs/submit.ts";
import { VERBS } from "../../../infra/cli/verbs/table.ts";

const invocationOf = (
  line: readonly string[],
  environment: Invocation["environment"] = {},
): Invocation => {
  const parsed = parseLine(line, VERBS);
  if (parsed.kind !== "verb") throw new Error("no verb");
  const { words, values } = parsed;
  return {
    output: null as never, // Nothing is written here.
    environment,
    words,
    text: (option) => values.get(option)?.[0],
    texts: (option) => values.get(option) ?? [],
    has: (option) => values.has(option),
  };
};

describe("submit", () => {
  it("[ATT-1, DOOR-5] hands on dependencies, tolerance and metadata", async () => {
    const line = "submit add 1 --id x --after a --after b --tolerate-failures --metadata";
    expect(await requestOf(invocationOf([...line.split(" "), '{"t":[1]}']))).toEqual({
      type: "add",
      input: 1,
      id: "x",
      after: ["a", "b"],
      toleratesFailures: true,
      metadata: { t: [1] },
    });
  });

  it.each([
    [["--metadata", "[1]"], /metadata/],
    [["--metadata", "{"], /--metadata/],
    [["--after", " "], /after/],
  ])("refuses %j before anything is sent", async (options, reason) => {
    await expect(requestOf(invocationOf(["submit", "add", ...options]))).rejects.toThrow(reason);
  });
});

describe("status", () => {
  it("takes as many jobs as there are, and tree one", () => {
    expect(invocationOf(["status", "a", "b", "c"]).words).toEqual(["a", "b", "c"]);
    expect(invocationOf(["status"]).words).toEqual([]);
    expect(() => invocationOf(["tree", "a", "b"])).toThrow(/one word too many/);
  });
});

describe("a named server", () => {
  it("[API-4] is asked under the inbox prefix that its user may use, by option or environment", () => {
    const url = "nats://ann:secret@h:1";
    const environment = { HOLDFAST_INBOX_PREFIX: "_INBOX_e" };
    const line = ["status", "--nats", url];
    expect(serverOf(invocationOf(line, environment))?.login).toEqual({
      user: "ann",
      password: "secret",
      inboxPrefix: "_INBOX_e",
    });
    const given = serverOf(invocationOf([...line, "--inbox-prefix", "_INBOX_o"], environment));
    expect(given).toMatchObject({ url: "nats://h:1", login: { inboxPrefix: "_INBOX_o" } });
    expect(serverOf(invocationOf(line))?.login.inboxPrefix).toBe("_INBOX");
    expect(serverOf(invocationOf(["status"]))).toBeUndefined();
    for (const verb of ["up", "submit", "status", "verify", "doctor", "cancel"])
      expect(VERBS.find(({ name }) => name === verb)?.options).toHaveProperty("inbox-prefix");
  });

  it("that is none, or has a prefix that is none, is refused, and its password is not repeated", () => {
    const wrong = () => serverOf(invocationOf(["status", "--nats", "http://ann:secret@h"]));
    expect(wrong).toThrow(/address of a NATS server/);
    expect(wrong).not.toThrow(/secret/);
    const prefix = ["status", "--nats", "h", "--inbox-prefix", "a.>"];
    expect(() => serverOf(invocationOf(prefix))).toThrow(/inbox prefix/);
  });
});
