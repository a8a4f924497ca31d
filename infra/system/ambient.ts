/**
 * The Ambient port on this machine: Node's asynchronous context.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Ambient } from "../../actors/ports/ambient.ts";

export function systemAmbient<Value>(): Ambient<Value> {
  const storage = new AsyncLocalStorage<Value>();
  return {
    run: (value, body) => storage.run(value, body),
    current: () => storage.getStore() ?? null,
  };
}
