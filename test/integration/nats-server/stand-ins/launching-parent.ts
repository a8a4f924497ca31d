/** A daemon's stand-in, run as a process of its own: launches the folder's server, says so, and waits to be killed. */
import { launchNatsServer } from "../../../../infra/nats-server/launch.ts";

const [dataDir = "", durability = "process", binary = ""] = process.argv.slice(2);
const server = await launchNatsServer({
  dataDir,
  durability: durability === "fsync" ? "fsync" : "process",
  binary,
});
process.stdout.write(`${JSON.stringify({ pid: server.pid, isAdopted: server.isAdopted })}\n`);
// Whoever started this ends it; a test that failed to is not waited for longer than this.
setTimeout(() => process.exit(1), 120_000);
