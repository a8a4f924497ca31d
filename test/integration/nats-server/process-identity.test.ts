/** Process identity, against real processes. */
import { once } from "node:events";
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  findProcessesByEnvironment,
  isRunning,
  isSameProcess,
  type ProcessIdentity,
  parseProcessIdentity,
  readProcessIdentity,
  readProcessStatus,
  signalProcess,
} from "../../../infra/processes/identity.ts";
import { testBench, until } from "./fixtures.ts";

const bench = testBench();

const identityOf = (pid: number | undefined): ProcessIdentity => {
  const identity = readProcessIdentity(pid ?? 0);
  if (identity === null) throw new Error(`no process ${pid}`);
  return identity;
};

describe("identity", () => {
  it("is the same at every look, and survives being written down", () => {
    const identity = identityOf(process.pid);
    expect(readProcessIdentity(process.pid)).toEqual(identity);
    expect(parseProcessIdentity(JSON.parse(JSON.stringify(identity)))).toEqual(identity);
    expect(isSameProcess(identity)).toBe(true);
    expect(isRunning(identity)).toBe(true);
  });

  it("what was not written by us is none", () => {
    const identity = identityOf(process.pid);
    for (const value of [null, 1, {}, { ...identity, pid: -1 }, { ...identity, startTicks: 12 }]) {
      expect(parseProcessIdentity(value)).toBeNull();
    }
  });

  it("no process, no identity", () => {
    expect(readProcessIdentity(2 ** 22 + 1)).toBeNull();
  });

  it.each<[string, Partial<ProcessIdentity>]>([
    ["start time", { startTicks: "1" }],
    ["boot", { bootId: "00000000-0000-0000-0000-000000000000" }],
    ["pid namespace", { pidNamespace: "pid:[1]" }],
  ])("[P1] with another %s it is another process, and is not signalled", (_what, change) => {
    const child = bench.child("sleep", ["600"]);
    const real = identityOf(child.pid);
    const other = { ...real, ...change };
    expect(isSameProcess(other)).toBe(false);
    expect(isRunning(other)).toBe(false);
    expect(signalProcess(other, "SIGKILL")).toBe("gone");
    expect(isRunning(real)).toBe(true);
  });

  it("reads past a name with parentheses and spaces", () => {
    // The name is the program's file name, and stands unescaped in /proc/<pid>/stat.
    const program = join(bench.dataDir(), "a) R 1 (b");
    copyFileSync("/bin/sleep", program);
    chmodSync(program, 0o755);
    const child = bench.child(program, ["600"]);
    const status = readProcessStatus(child.pid ?? 0);
    expect(readFileSync(`/proc/${child.pid}/stat`, "latin1")).toContain("(a) R 1 (b)");
    expect(status?.parentPid).toBe(process.pid);
    expect(status?.state).toMatch(/^[RSD]$/);
    expect(Number(status?.identity.startTicks)).toBeGreaterThan(1000);
  });

  it("survives exec: the same process, another program", async () => {
    const nameOf = (pid: number | undefined) => readFileSync(`/proc/${pid}/comm`, "utf8").trim();
    const gate = join(bench.dataDir(), "gate");
    const child = bench.child("/bin/sh", [
      "-c",
      `while [ ! -e '${gate}' ]; do sleep 0.01; done; exec sleep 600`,
    ]);
    await until(() => nameOf(child.pid) === "sh");
    const before = identityOf(child.pid);
    writeFileSync(gate, "");
    await until(() => nameOf(child.pid) === "sleep");
    expect(isSameProcess(before)).toBe(true);
  });

  it("a process that ended is not running, whether it was reaped or not", async () => {
    // The parent never reaps: the child stays as a zombie that still has its number.
    const parent = bench.child(process.execPath, [
      "-e",
      "const c=require('child_process').spawn('sleep',['600']);console.log(c.pid);" +
        "process.kill(c.pid,'SIGKILL');for(;;);",
    ]);
    let text = "";
    parent.stdout?.on("data", (bytes: Buffer) => {
      text += bytes.toString();
    });
    await until(() => text.includes("\n"));
    const pid = Number(text);
    await until(() => readProcessStatus(pid)?.state === "Z");
    const zombie = identityOf(pid);
    expect(isSameProcess(zombie)).toBe(true);
    expect(isRunning(zombie)).toBe(false);
  });

  it("a signal reaches that process, and the next one nobody", async () => {
    const child = bench.child("sleep", ["600"]);
    const identity = identityOf(child.pid);
    expect(signalProcess(identity, "SIGTERM")).toBe("sent");
    await once(child, "exit");
    expect(signalProcess(identity, "SIGTERM")).toBe("gone");
    expect(isSameProcess(identity)).toBe(false);
  });

  it("is found by a word in its environment, and by the whole word only", () => {
    const child = bench.child("sleep", ["600"], { HOLDFAST_TEST_TAG: "abc123" });
    const found = (value: string) =>
      findProcessesByEnvironment("HOLDFAST_TEST_TAG", value).map(({ pid }) => pid);
    expect(found("abc123")).toEqual([child.pid]);
    expect(found("abc12")).toEqual([]);
    expect(found("")).toEqual([]);
  });
});
