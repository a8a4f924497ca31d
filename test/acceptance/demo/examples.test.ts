/**
 * The small examples, run as their readers run them.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ROOT } from "../../support/tidy/source-tree.ts";

const TIMEOUT_MS = 60_000;

let folder = "";

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-test-examples-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

function run(program: string, args: readonly string[], input = "") {
  const ended = spawnSync(program, args, {
    cwd: ROOT,
    input,
    encoding: "utf8",
    timeout: TIMEOUT_MS,
    killSignal: "SIGKILL",
    env: { ...process.env, TMPDIR: folder },
  });
  expect(ended.status, ended.stdout + ended.stderr).toBe(0);
  return ended.stdout;
}

describe("examples", () => {
  it(
    "01-first-job: the commands of its page run the job",
    () => {
      const page = readFileSync(join(ROOT, "examples/01-first-job/README.md"), "utf8");
      const [, script = ""] = /^```sh\n([\s\S]*?)^```$/m.exec(page) ?? [];
      const said = run("bash", [], `set -e\nshopt -s expand_aliases\n${script}`);
      expect(said).toContain('"greeting": "Hello, world!"');
      expect(said).toMatch(/^first +hello \(tool\) +✓ completed$/m);
    },
    TIMEOUT_MS,
  );

  it(
    "embedding: a service takes an order without a daemon, and knows it when it is started again",
    () => {
      const service = ["examples/embedding/service.mjs", join(folder, "data")];
      const first = run(process.execPath, service);
      expect(first).toContain('{"decision":"submitted"}');
      expect(first).toContain("result { parcels: 3, grams: 1800 }");
      expect(first.match(/^1\.1 parcel\.pack COMPLETED$/gm)).toHaveLength(3);

      const second = run(process.execPath, service);
      expect(second).toContain('{"decision":"joined"}');
      expect(second).toContain("result { parcels: 3, grams: 1800 }");
    },
    TIMEOUT_MS,
  );
});
