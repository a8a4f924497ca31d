/**
 * Logs on a real server for these tests: a new partition each, and an administrator who does what Holdfast never would.
 */
import { connect, type NatsConnection } from "nats";
import type { Log } from "../../../actors/journal/log.ts";
import { type JetStreamLogOptions, openJetStreamLog } from "../../../infra/jetstream/log.ts";
import { type PartitionNames, partitionNames } from "../../../infra/jetstream/names.ts";
import { connectionOptions } from "../../../infra/nats-server/credentials.ts";
import type { TestServer } from "../../support/server.ts";

let partitions = 0;

export interface TestPartition extends AsyncDisposable {
  readonly names: PartitionNames;
  readonly options: JetStreamLogOptions;
  /** Opens a log that is closed with the partition. */
  open(changes?: Partial<JetStreamLogOptions>): Promise<Log>;
  /** Asks the JetStream API as the daemon's user; gives what it answers, errors included. */
  ask(verb: string, body?: unknown): Promise<Record<string, unknown>>;
  /** A plain connection of the daemon's user. */
  connection(): Promise<NatsConnection>;
}

export function newPartition(server: TestServer): TestPartition {
  partitions += 1;
  const address = { namespace: "test", partition: partitions, generation: 1 };
  const { daemon } = server.credentials;
  const options = { ...daemon, url: server.url, ...address };
  const logs: Log[] = [];
  const connections: NatsConnection[] = [];
  const connection = async (): Promise<NatsConnection> => {
    const opened = await connect({ ...connectionOptions(server.url, daemon), reconnect: false });
    connections.push(opened);
    return opened;
  };
  return {
    names: partitionNames(address),
    options,
    open: async (changes = {}) => {
      const log = await openJetStreamLog({ ...options, ...changes });
      logs.push(log);
      return log;
    },
    ask: async (verb, body) => {
      const asking = await connection();
      const payload = body === undefined ? "" : JSON.stringify(body);
      return (await asking.request(`$JS.API.${verb}`, payload)).json();
    },
    connection,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(logs.map((log) => log.close()));
      await Promise.all(connections.map((opened) => opened.close()));
    },
  };
}
