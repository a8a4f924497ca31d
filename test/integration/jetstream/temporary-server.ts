import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer } from "node:net";

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const s = createServer().listen(0, "127.0.0.1", () => {
      const a = s.address();
      s.close(() => resolve(typeof a === "object" && a !== null ? a.port : 0));
    });
  });

export async function startServer(version: "floor" | "newest", extra = "") {
  const binary = process.env[version === "floor" ? "HF_FLOOR" : "HF_NEWEST"] ?? "nats-server";
  const folder = mkdtempSync(join(tmpdir(), "hf-js-"));
  const port = await freePort();
  const conf = join(folder, "c.conf");
  writeFileSync(conf, `listen: 127.0.0.1:${port}\nmax_payload: 1MB\njetstream { store_dir: "${folder}/js", max_mem: 64M, max_file: 4G }\n${extra}\n`);
  let child: ChildProcess | null = null;
  const start = async () => {
    const log = join(folder, `log-${Date.now()}-${Math.random()}`);
    child = spawn(binary, ["-c", conf, "-l", log], { stdio: "ignore" });
    for (let t = 0; t < 500; t += 1) {
      try { if (readFileSync(log, "utf8").includes("Server is ready")) return; } catch {}
      await new Promise((r) => setTimeout(r, 10));
    }
    throw new Error("no start");
  };
  const kill = async (signal: NodeJS.Signals = "SIGKILL") => {
    const c = child; child = null;
    if (c === null || c.exitCode !== null) return;
    await new Promise<void>((r) => { c.once("exit", () => r()); c.kill(signal); });
  };
  await start();
  return { url: `nats://127.0.0.1:${port}`, kill, start, pid: () => child?.pid ?? 0, stop: async () => { await kill(); rmSync(folder, { recursive: true, force: true }); } };
}
