/** The lock between processes, with real holders that live and die. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { acquireLock } from "../../../infra/nats-server/exclusive-lock.ts";
import { readProcessIdentity } from "../../../infra/processes/identity.ts";
import { killProcess } from "../../support/server.ts";
import { firstLine, testBench } from "./fixtures.ts";

const bench = testBench();
const HOLDER = new URL("./stand-ins/lock-holder.ts", import.meta.url).pathname;
const LOCK = { purpose: "testing", waitMs: 0 };

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-lock-"));
  path = join(folder, "lock");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Another process that holds the lock until it is killed. */
async function holder(words: readonly string[] = []) {
  const child = bench.child(process.execPath, ["--import", "tsx", HOLDER, path, ...words]);
  const identity = readProcessIdentity(child.pid ?? 0);
  if (identity === null) throw new Error("no holder");
  return { child, identity, said: firstLine(child) };
}

describe("lock", () => {
  it("is held by one, and free again afterwards", async () => {
    const lock = await acquireLock(path, LOCK);
    await expect(acquireLock(path, LOCK)).rejects.toMatchObject({
      code: "ownership",
      details: { pid: process.pid, purpose: "testing" },
    });
    lock.release();
    lock.release();
    (await acquireLock(path, LOCK)).release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it("is waited for", async () => {
    const lock = await acquireLock(path, LOCK);
    const next = acquireLock(path, { purpose: "waiting", waitMs: 10_000 });
    lock.release();
    (await next).release();
  });

  it("[L3] of a living process stays, of a killed one is taken over", async () => {
    const { identity, said } = await holder();
    expect(await said).toBe("held");
    await expect(acquireLock(path, LOCK)).rejects.toMatchObject({ details: { pid: identity.pid } });
    await killProcess(identity);
    (await acquireLock(path, LOCK)).release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it("[L4] of a living process is taken over on demand, and is that one's no longer", async () => {
    const first = await acquireLock(path, LOCK);
    const second = await acquireLock(path, { ...LOCK, isTakeOver: true });
    expect([first.isHeld(), second.isHeld()]).toEqual([false, true]);
    first.release();
    expect(second.isHeld()).toBe(true);
    await expect(acquireLock(path, LOCK)).rejects.toMatchObject({ code: "ownership" });
    second.release();
    expect([second.isHeld(), readdirSync(folder)]).toEqual([false, []]);
  });

  it("[L4] of a living process goes to several that take it over, one after the other", async () => {
    const { said } = await holder();
    expect(await said).toBe("held");
    const taken = await Promise.all(
      [1, 2, 3].map(() => acquireLock(path, { ...LOCK, waitMs: 2_000, isTakeOver: true })),
    );
    expect(taken.filter((lock) => lock.isHeld())).toHaveLength(1);
    for (const lock of taken) lock.release();
    expect(readdirSync(folder)).toEqual([]);
  });

  it("[L2] of a killed holder goes to one of many who find it, one after the other", async () => {
    const dead = await holder();
    expect(await dead.said).toBe("held");
    await killProcess(dead.identity);
    const log = join(folder, "log");
    writeFileSync(log, "");
    const takers = await Promise.all([1, 2, 3, 4].map(() => holder([log])));
    for (const taker of takers) expect(await taker.said).toBe("done");
    // Each wrote "in", paused, wrote "out", 5 times: two at once would have mixed them.
    expect(readFileSync(log, "utf8")).toBe("in out ".repeat(20));
  });

  it("[L2] of killed holders are never held by two who find them at the same moment", async () => {
    const dead = await holder();
    expect(await dead.said).toBe("held");
    await killProcess(dead.identity);
    const text = readFileSync(path, "utf8");
    const rounds = 100;
    for (let round = 0; round < rounds; round += 1) writeFileSync(`${path}-${round}`, text);
    const startAt = String(Date.now() + 1_500);
    const rivals = await Promise.all(
      [1, 2, 3].map(() => holder([join(folder, "log"), startAt, String(rounds)])),
    );
    expect(await Promise.all(rivals.map(({ said }) => said))).toEqual(["0", "0", "0"]);
  });

  it("a file that is no lock is not overwritten", async () => {
    writeFileSync(path, "precious");
    await expect(acquireLock(path, LOCK)).rejects.toMatchObject({ code: "system" });
    expect(readFileSync(path, "utf8")).toBe("precious");
  });
});
