import { afterAll, beforeAll } from "vitest";
import { describeLogContract } from "../../contract/log.contract.ts";
import { present } from "../../contract/log-fixture.ts";
import { describeOnServers, startTestServer, type TestServer } from "../../support/server.ts";
import { newPartition } from "./partition.ts";

await describeOnServers("JetStream", ["newest", "floor"], (version) => {
  let running: TestServer | null = null;
  beforeAll(async () => {
    running = await startTestServer({ version, durability: "process" });
  });
  afterAll(async () => {
    await running?.stop();
  });

  describeLogContract(`on the ${version} server`, async () => {
    const server = present(running);
    const partition = newPartition(server);
    const log = await partition.open();
    return {
      log,
      prefix: partition.names.prefix,
      reopen: () => partition.open(),
      crash: () => server.kill(),
      restart: () => server.restart(),
      dispose: async () => {
        await partition[Symbol.asyncDispose]();
      },
    };
  });
});
