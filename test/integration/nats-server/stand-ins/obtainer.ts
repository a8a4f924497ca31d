/** A process that gets a server, as the set-up does, from the machine description it is told. Prints the path. */
import { obtainNatsServer } from "../../../../infra/nats-server/binary/obtain.ts";

const [suite = "", systemFolder = ""] = process.argv.slice(2);
const { path } = await obtainNatsServer({ suite, systemFolder });
process.stdout.write(`${path}\n`);
