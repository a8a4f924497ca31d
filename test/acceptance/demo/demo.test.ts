/**
 * The demo as its user runs it: it tells the truth, it says so when it is lied to, and it leaves nothing behind.
 */
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { checksOf } from "../../../examples/demo/checks.mjs";
import { ROOT } from "../../support/tidy/source-tree.ts";
import { DemoRun } from "./demo-run.ts";
import { goodEvidence } from "./evidence.ts";

const COLUMNS = 80;
const RUN_TIMEOUT_MS = 150_000;
const GONE_WAIT_MS = 20_000;

const claims = checksOf(goodEvidence()).map(({ claim }) => claim);

async function untilAllGone(run: DemoRun): Promise<void> {
  const deadline = performance.now() + GONE_WAIT_MS;
  while (run.processes.length > 0 && performance.now() < deadline) await pause(50);
  expect(run.processes).toEqual([]);
}

describe("npm run demo", () => {
  it(
    "[TREE-6] kills its daemon in the middle, brings the workflow to its end, and finds every check to hold",
    async () => {
      await using run = new DemoRun(["--keep"]);
      expect(await run.ended(), run.stdout + run.stderr).toBe(0);
      for (const claim of claims) expect(run.stdout).toMatch(new RegExp(`^ +ok +${claim}:`, "m"));
      expect(run.stdout).not.toContain("FAILED");
      expect(run.stdout).toMatch(/^ +\$ kill -9 \d+$/m);
      expect(run.stdout).toContain("attempt 1 was lost with its process");
      expect(run.stdout).toMatch(/^ +1\.3\.1 +document\.analyse/m);

      // As it is read: in a terminal of 80 columns; piped, without colours. A path of this machine may be as long as it is.
      const lines = run.stdout
        .replaceAll(run.folder, "/tmp")
        .replaceAll(ROOT, "/holdfast/")
        .split("\n");
      expect(lines.filter((line) => [...line].length > COLUMNS)).toEqual([]);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: an escape is what must not be there.
      expect(run.stdout).not.toMatch(/\u001b/);

      // What it says under --keep is to be typed as it stands.
      const [script = ""] = /alias holdfast=[\s\S]*?late-letter .*$/m.exec(run.stdout) ?? [];
      const shell = spawnSync("bash", ["-e"], {
        input: `shopt -s expand_aliases\n${script}\n`,
        encoding: "utf8",
        cwd: ROOT,
      });
      expect(shell.status, shell.stderr).toBe(0);
      expect(shell.stdout).toContain("74 jobs: 74 completed");
      const [, daemon = "0"] = /^ +kill (\d+) /m.exec(run.stdout) ?? [];
      process.kill(Number(daemon), "SIGTERM");
      await untilAllGone(run);
    },
    RUN_TIMEOUT_MS,
  );

  it(
    "fails, and says where to look, when an attempt had its effect twice",
    async () => {
      const jobs = join(import.meta.dirname, "tampered-jobs.mjs");
      await using run = new DemoRun(["--json", "--jobs", jobs]);
      expect(await run.ended(), run.stderr).toBe(1);
      const { ok, sentence, checks, folder } = JSON.parse(run.stdout);
      expect(ok).toBe(false);
      expect(sentence).toBe("2 of 10 checks FAILED.");
      const failed = checks.filter(({ isOk }: { isOk: boolean }) => !isOk);
      expect(failed.map(({ claim }: { claim: string }) => claim)).toEqual([
        "Nothing finished ran again",
        "No attempt had its effect twice",
      ]);
      expect(run.leftovers.map((name) => join(run.folder, name))).toEqual([folder]);
      expect(run.processes).toEqual([]);
    },
    RUN_TIMEOUT_MS,
  );

  it(
    "told to stop while its daemon is dead, it ends everything and leaves nothing",
    async () => {
      await using run = new DemoRun([]);
      await run.printed("$ kill -9 ");
      run.signal("SIGINT");
      expect(await run.ended(), run.stdout + run.stderr).toBe(130);
      expect(run.stdout).toContain("Told to stop (SIGINT)");
      expect(run.leftovers).toEqual([]);
      expect(run.processes).toEqual([]);
    },
    RUN_TIMEOUT_MS,
  );
});
