/** A server that somebody else runs: used when it can be, refused with a reason when not, never stopped. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, it } from "vitest";
import { connectExternal } from "../../../infra/nats-server/external.ts";
import { launchNatsServer } from "../../../infra/nats-server/launch.ts";
import { describeOnServers, startTestServer } from "../../support/server.ts";
import { testBench, until } from "./fixtures.ts";

const bench = testBench();

/** A server with a configuration of the test's own. */
async function plainServer(binary: string, configuration: string): Promise<string> {
  const folder = join(bench.dataDir(), "plain");
  mkdirSync(folder);
  writeFileSync(
    join(folder, "c.conf"),
    `listen: "127.0.0.1:-1"\nports_file_dir: "${folder}"\n${configuration}`,
  );
  const child = bench.child(binary, ["-c", join(folder, "c.conf"), "-l", join(folder, "log")]);
  // The server writes the file in place: it is whole when it ends in a brace.
  const portsText = () => {
    const name = readdirSync(folder).find((each) => each.endsWith(".ports"));
    return name === undefined ? "" : readFileSync(join(folder, name), "utf8").trim();
  };
  await until(() => portsText().endsWith("}") || child.exitCode !== null);
  const ports = JSON.parse(portsText()) as { nats: string[] };
  return ports.nats[0] ?? "";
}

await describeOnServers("an external server", ["newest", "floor"], (version, binary) => {
  it("is used as it is, and outlives the daemon", async () => {
    await using test = await startTestServer({ version });
    const { daemon } = test.credentials;
    const external = await connectExternal({
      url: test.url,
      user: "daemon",
      password: daemon.password ?? "",
      inboxPrefix: daemon.inboxPrefix,
      durability: test.durability,
    });
    expect(external).toMatchObject({ pid: null, isAdopted: false, durability: test.durability });
    expect(external.version).toEqual(test.server.version);
    await bench.client(external, "daemon");
    expect(await external.stop()).toEqual({ kind: "left_running", usedBy: [] });
    expect(test.server.isRunning()).toBe(true);
  });

  it("takes name and password from the address, and does not keep them in it", async () => {
    const url = await plainServer(
      binary,
      'jetstream: { store_dir: "js" }\nauthorization { user: "me", password: "se cret" }',
    );
    const external = await connectExternal({
      url: url.replace("nats://", "nats://me:se%20cret@"),
      durability: "process",
    });
    expect(external.url).toBe(url);
    expect(external.credentials.daemon).toMatchObject({ user: "me", password: "se cret" });
    await bench.client(external, "service");
  });

  it("without JetStream is refused, with what to do", async () => {
    const url = await plainServer(binary, "");
    await expect(connectExternal({ url, durability: "process" })).rejects.toMatchObject({
      code: "config",
      message: expect.stringContaining("jetstream"),
    });
  });

  it("that refuses the login is an error that tells so", async () => {
    await using test = await startTestServer({ version });
    for (const login of [{}, { user: "daemon", password: "wrong" }, { token: "wrong" }]) {
      await expect(
        connectExternal({ url: test.url, durability: "process", ...login }),
      ).rejects.toMatchObject({ code: "config", message: expect.stringContaining("refuses") });
    }
  });

  it("whose user may not use JetStream is an error that tells so", async () => {
    await using test = await startTestServer({ version });
    const { user = "", password = "", inboxPrefix } = test.credentials.operator;
    await expect(
      connectExternal({ url: test.url, user, password, inboxPrefix, durability: "process" }),
    ).rejects.toMatchObject({ code: "config", message: expect.stringContaining("$JS.API") });
  });
});

await describeOnServers("an old external server", ["floor"], (_version, binary) => {
  it("is too old for fsync, and both ways out are named", async () => {
    const url = await plainServer(binary, 'jetstream: { store_dir: "js" }');
    await expect(connectExternal({ url })).rejects.toMatchObject({
      code: "config",
      message: expect.stringMatching(/2\.12\.0[\s\S]*newer server[\s\S]*--durability process/),
      details: { needed: "2.12.0" },
    });
    expect(await connectExternal({ url, durability: "process" })).toMatchObject({ pid: null });
  });

  it("a launch is refused in the same way", async () => {
    const launch = launchNatsServer({ dataDir: bench.dataDir(), durability: "fsync", binary });
    await expect(launch).rejects.toMatchObject({
      code: "config",
      message: expect.stringMatching(/2\.12\.0[\s\S]*newer server[\s\S]*--durability process/),
      details: { path: binary, needed: "2.12.0" },
    });
  });
});

await describeOnServers("a new external server", ["newest"], (_version, binary) => {
  it("cannot be asked whether it syncs, so that is said", async () => {
    const url = await plainServer(binary, 'jetstream: { store_dir: "js" }');
    const { notices } = await connectExternal({ url });
    expect(notices).toEqual([expect.stringContaining("sync_interval: always")]);
  });
});

it("where nobody answers, trying again may help", async () => {
  await expect(connectExternal({ url: "nats://127.0.0.1:1" })).rejects.toMatchObject({
    code: "external_service",
    retry: "backoff",
    details: { url: "nats://127.0.0.1:1" },
  });
});

it("one that accepts and says nothing is given up in time", async () => {
  const silent = createServer();
  await new Promise<void>((listening) => silent.listen(0, "127.0.0.1", listening));
  const address = silent.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const started = performance.now();
  await expect(connectExternal({ url: `127.0.0.1:${port}`, timeoutMs: 300 })).rejects.toMatchObject(
    { code: "external_service" },
  );
  expect(performance.now() - started).toBeLessThan(3_000);
  silent.close();
});

it.each(["", "http://host:1", "nats://", "nats://user:pass word@"])(
  "%j is no address, and is not repeated in the error",
  async (url) => {
    const error: unknown = await connectExternal({ url }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "invalid_argument" });
    expect(String(error)).not.toContain("pass word");
  },
);
