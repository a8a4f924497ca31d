/** A runtime on a real log, with the clock, the ids and the contexts of the system that it runs on. */
import type { JobDefinition } from "../../actors/attempt/definition.ts";
import type { Durability } from "../../actors/journal/codec.ts";
import type { RuntimeOptions } from "../../actors/runtime/options.ts";
import { Runtime } from "../../actors/runtime/runtime.ts";
import type { JetStreamLog } from "../../infra/jetstream/log.ts";
import { type PartitionAddress, partitionNames } from "../../infra/jetstream/names.ts";
import { systemAmbient } from "../../infra/system/ambient.ts";
import { systemClock } from "../../infra/system/clock.ts";
import { systemIds } from "../../infra/system/ids.ts";

export const startRealRuntime = (
  log: JetStreamLog,
  {
    address,
    ...options
  }: {
    readonly address: PartitionAddress;
    readonly definitions: readonly JobDefinition[];
    readonly durability: Durability;
    readonly owner?: string;
    readonly bounds?: NonNullable<RuntimeOptions["bounds"]>;
  },
): Promise<Runtime> =>
  Runtime.start({
    log,
    clock: systemClock,
    ids: systemIds(),
    ambient: systemAmbient(),
    prefix: `${partitionNames(address).prefix}.`,
    owner: "test",
    ...options,
  });
