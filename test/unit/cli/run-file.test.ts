import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { readRunFile } from "../../../infra/cli/running/run-file.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-run-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const file = (name: string, text: string): string => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

const DEFINITION =
  '{ kind: "tool", type: "add", input: s, output: s, timeoutMs: null, retryClass: "safe_to_retry", retryBudget: 3, run() {} }';

it("reads a submission from JSON, and leaves the waiting to the verb", async () => {
  const path = file("a.json", '{"type":"add","input":{"a":1},"id":"x","wait":true}');
  expect(await readRunFile(path)).toEqual({ type: "add", input: { a: 1 }, id: "x" });
});

it("reads one from a module's default export, with the definition in place of the type", async () => {
  const path = file(
    "b.mjs",
    `const s = { safeParse() {} };\nexport default { definition: ${DEFINITION}, input: 7, user: "ann" };`,
  );
  expect(await readRunFile(path)).toEqual({ type: "add", input: 7, user: "ann" });
});

it.each([
  ["none.json", null, /The file .*none\.json cannot be read: ENOENT/],
  ["c.json", '{"type":', /c\.json is not JSON/],
  ["d.json", '{"type":"add","imput":1}', /imput: no such field/],
  ["e.json", "[]", /\(request\): Invalid input/],
  ["f.mjs", "export const a = 1;", /no default export \{ definition, input \}/],
  ["g.mjs", "export default { definition: { type: 'add' } };", /`definition` is no job definition/],
  ["h.mjs", "import './missing.mjs';", /cannot be loaded/],
  ["i.txt", "x", /takes a \.json file or a \.js or \.mjs module/],
])("says what is wrong with %s", async (name, text, expected) => {
  const path = text === null ? join(folder, name) : file(name, text);
  await expect(readRunFile(path)).rejects.toThrow(expected);
});
