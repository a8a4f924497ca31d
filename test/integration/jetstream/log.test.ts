import { afterAll, beforeAll, describe } from "vitest";
import type { Log } from "../../../actors/journal/log.ts";
import { openJetStreamLog } from "../../../infra/jetstream/log.ts";
import { describeLogContract } from "../../contract/log.contract.ts";
import { startServer } from "./temporary-server.ts";

for (const version of ["newest", "floor"] as const) {
  describe(version, () => {
    let server: Awaited<ReturnType<typeof startServer>>;
    let partition = 0;
    beforeAll(async () => { server = await startServer(version); });
    afterAll(async () => { await server.stop(); });
    describeLogContract(version, async () => {
      partition += 1;
      const options = { url: server.url, namespace: "test", partition, generation: 1 };
      const logs: Log[] = [];
      const reopen = async () => { const log = await openJetStreamLog(options); logs.push(log); return log; };
      return {
        log: await reopen(), prefix: `hf.test.evt.${partition}.1`, reopen,
        crash: () => server.kill(), restart: () => server.start(),
        dispose: async () => { await Promise.all(logs.map((l) => l.close())); },
      };
    });
  });
}
