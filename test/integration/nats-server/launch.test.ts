/** Launching a real server: coming up, refusing, ports, stopping. */
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { expect, it } from "vitest";
import { formatVersion } from "../../../infra/nats-server/binary/version.ts";
import { prepareFolder, serverFolder } from "../../../infra/nats-server/folder.ts";
import { launchNatsServer } from "../../../infra/nats-server/launch.ts";
import { readRecord } from "../../../infra/nats-server/record.ts";
import { isRunning, signalProcess } from "../../../infra/processes/identity.ts";
import { describeOnServers } from "../../support/server.ts";
import { countMessages, identityOf, storeMessages, testBench } from "./fixtures.ts";

const bench = testBench();

/** Somebody else on a port. */
async function occupy(port: number): Promise<Server> {
  const server = createServer((socket) => socket.destroy());
  await new Promise<void>((listening, failed) => {
    server.once("error", failed);
    server.listen(port, "127.0.0.1", listening);
  });
  return server;
}

const portOf = (url: string): number => Number(new URL(url).port);

await describeOnServers("launching", ["newest", "floor"], (version, binary) => {
  const durability = version === "newest" ? "fsync" : "process";

  it("brings up a server that has JetStream, keeps its store, and stops", async () => {
    const dataDir = bench.dataDir();
    const first = await launchNatsServer({ dataDir, durability, binary });
    expect(first).toMatchObject({ durability, isAdopted: false });
    expect(first.isRunning()).toBe(true);
    const daemon = await bench.client(first, "daemon");
    expect(daemon.info?.version).toBe(formatVersion(first.version));
    await storeMessages(daemon, 3);
    const identity = identityOf(first);
    expect(await first.stop()).toEqual({ kind: "ended" });
    expect(isRunning(identity)).toBe(false);
    expect(first.isRunning()).toBe(false);
    expect(await first.stop()).toEqual({ kind: "ended" });

    await using second = await launchNatsServer({ dataDir, durability, binary });
    expect(second.url).toBe(first.url);
    expect(second.credentials).toEqual(first.credentials);
    expect(await countMessages(await bench.client(second, "daemon"))).toBe(3);
  });

  it("keeps secrets in closed files, out of the command line and the environment", async () => {
    const dataDir = bench.dataDir();
    await using server = await launchNatsServer({ dataDir, durability, binary });
    const folder = serverFolder(dataDir);
    for (const path of [folder.configuration, folder.credentials, folder.record]) {
      expect(statSync(path).mode & 0o777).toBe(0o600);
    }
    const password = server.credentials.daemon.password ?? "";
    expect(readFileSync(folder.configuration, "utf8")).toContain(password);
    for (const name of ["cmdline", "environ"]) {
      expect(readFileSync(`/proc/${server.pid}/${name}`, "utf8")).not.toContain(password);
    }
    expect(readFileSync(folder.record, "utf8")).not.toContain(password);
    expect(readFileSync(folder.log, "utf8")).not.toContain(password);
  });

  it("runs in a session and process group of its own", async () => {
    await using server = await launchNatsServer({ dataDir: bench.dataDir(), durability, binary });
    const stat = readFileSync(`/proc/${server.pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    expect(stat.slice(2, 4)).toEqual([String(server.pid), String(server.pid)]);
  });

  it("is refused a fixed port that is taken, and nothing is left running", async () => {
    const dataDir = bench.dataDir();
    const other = await occupy(0);
    const address = other.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    await expect(launchNatsServer({ dataDir, durability, binary, port })).rejects.toMatchObject({
      code: "config",
      details: { port, reason: "EADDRINUSE" },
    });
    expect(readRecord(serverFolder(dataDir))?.running ?? null).toBeNull();
    other.close();
  });

  it("[S5] moves to another port when its last one is taken", async () => {
    const dataDir = bench.dataDir();
    const first = await launchNatsServer({ dataDir, durability, binary });
    await first.stop();
    const other = await occupy(portOf(first.url));
    await using second = await launchNatsServer({ dataDir, durability, binary });
    expect(second.url).not.toBe(first.url);
    await bench.client(second, "daemon");
    other.close();
  });

  it("takes another port when somebody took the chosen one just before the server", async () => {
    // Stands before the real server: its first run finds the port taken, as the real one says it.
    const mark = join(bench.dataDir(), "first-run");
    const wrapper = bench.script(
      `if [ "$1" = -v ]; then exec '${binary}' -v; fi\n` +
        `if [ ! -e '${mark}' ]; then : > '${mark}'\n` +
        `  echo "[ERR] Error listening on port: bind: address already in use" >> server.log; exit 1; fi\n` +
        `exec '${binary}' "$@"`,
    );
    const dataDir = bench.dataDir();
    await using server = await launchNatsServer({ dataDir, durability, binary: wrapper });
    expect(statSync(mark).isFile()).toBe(true);
    await bench.client(server, "daemon");
  });

  it("ends a server that ignores SIGTERM with SIGKILL, and nothing stored is lost", async () => {
    const dataDir = bench.dataDir();
    const options = { dataDir, durability, binary, termWaitMs: 200 } as const;
    const server = await launchNatsServer(options);
    await storeMessages(await bench.client(server, "daemon"), 5);
    const identity = identityOf(server);
    signalProcess(identity, "SIGSTOP"); // A stopped process sees SIGKILL and no other signal.
    expect(await server.stop()).toEqual({ kind: "killed" });
    expect(isRunning(identity)).toBe(false);
    await using next = await launchNatsServer(options);
    expect(await countMessages(await bench.client(next, "daemon"))).toBe(5);
  });

  it("a server that died is replaced on the same port, with its store", async () => {
    const dataDir = bench.dataDir();
    const first = await launchNatsServer({ dataDir, durability, binary });
    await storeMessages(await bench.client(first, "daemon"), 4);
    signalProcess(identityOf(first), "SIGKILL");
    await expect.poll(() => first.isRunning()).toBe(false);
    await using second = await launchNatsServer({ dataDir, durability, binary });
    expect(second).toMatchObject({ isAdopted: false, url: first.url });
    expect(await countMessages(await bench.client(second, "daemon"))).toBe(4);
    expect(await first.stop()).toMatchObject({ kind: "left_running" });
    expect(second.isRunning()).toBe(true);
  });

  it("[S6] that never gets ready is ended, and its last words stand in the error", async () => {
    const wrapper = bench.script(
      `if [ "$1" = -v ]; then exec '${binary}' -v; fi\necho "I would rather not"; exec sleep 60`,
    );
    const dataDir = bench.dataDir();
    const launch = launchNatsServer({ dataDir, durability, binary: wrapper, readyTimeoutMs: 300 });
    await expect(launch).rejects.toMatchObject({
      code: "external_service",
      message: expect.stringMatching(/not ready in 300 ms[\s\S]*I would rather not/),
    });
    expect(readRecord(serverFolder(dataDir))?.running).toBeNull();
  });

  it("[Q3] sends no password to a port before its own server says that it listens there", async () => {
    // In the server's place: listens on its port, speaks the protocol, writes no log, keeps what it is sent.
    const kept = join(bench.dataDir(), "kept");
    const impostor =
      `const fs=require("fs");const port=/HF_PORT: (\\d+)/.exec(fs.readFileSync("server.conf","utf8"))[1];` +
      `require("net").createServer((s)=>{s.write("INFO {\\"version\\":\\"2.15.1\\",\\"max_payload\\":1000}\\r\\n");` +
      `s.on("data",(d)=>fs.appendFileSync(process.env.KEPT,d))}).listen(port,"127.0.0.1",()=>fs.writeFileSync(process.env.KEPT,""))`;
    const wrapper = bench.script(
      `if [ "$1" = -v ]; then exec '${binary}' -v; fi\n` +
        `KEPT='${kept}' exec '${process.execPath}' -e '${impostor}'`,
    );
    const dataDir = bench.dataDir();
    const launch = launchNatsServer({
      dataDir,
      durability,
      binary: wrapper,
      readyTimeoutMs: 1_000,
    });
    await expect(launch).rejects.toMatchObject({ code: "external_service" });
    expect(readFileSync(kept, "utf8")).toBe("");
  });

  it("that refuses its configuration says so in the error", async () => {
    const wrapper = bench.script(
      `if [ "$1" = -v ]; then exec '${binary}' -v; fi\n` +
        `echo 'no_such_field: 1' >> server.conf; exec '${binary}' "$@"`,
    );
    const dataDir = bench.dataDir();
    const launch = launchNatsServer({ dataDir, durability, binary: wrapper });
    await expect(launch).rejects.toMatchObject({
      code: "external_service",
      message: expect.stringContaining("no_such_field"),
    });
  });

  it("is refused a folder that cannot be written", async () => {
    const dataDir = bench.dataDir();
    const { store } = prepareFolder(dataDir);
    rmSync(store, { recursive: true });
    writeFileSync(store, "in the way");
    await expect(launchNatsServer({ dataDir, durability, binary })).rejects.toMatchObject({
      code: "config",
      message: expect.stringContaining(store),
    });
    await expect(
      launchNatsServer({ dataDir: "/proc/holdfast", durability, binary }),
    ).rejects.toMatchObject({ code: "config", message: expect.stringContaining("/proc/holdfast") });
  });

  it("options that cannot be are all named at once", async () => {
    const launch = launchNatsServer({
      dataDir: "",
      durability,
      binary,
      port: 0,
      fileBytesMax: 1.5,
    });
    await expect(launch).rejects.toMatchObject({
      code: "invalid_argument",
      message: expect.stringMatching(/dataDir.*fileBytesMax.*port/),
    });
  });

  it("keeps few of the logs that an old server rotates", async () => {
    const dataDir = bench.dataDir();
    const { log } = prepareFolder(dataDir);
    const names = [1, 2, 3, 4, 5, 6].map((day) => `${log}.2026.11.0${day}.00.00.00.000000`);
    for (const name of names) writeFileSync(name, "old");
    await using _server = await launchNatsServer({ dataDir, durability, binary });
    const kept = names.filter((name) => statSync(name, { throwIfNoEntry: false }) !== undefined);
    expect(kept).toEqual(names.slice(2));
  });
});
