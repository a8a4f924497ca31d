/**
 * The Ambient port on this machine: Node's asynchronous context.
 *
 * Owns: which job the running code belongs to, in this process. Does not own: what a context allows (actors/attempt).
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { ToolContext } from "../../actors/attempt/context.ts";
import type { Ambient } from "../../actors/ports/ambient.ts";

export function systemAmbient<Value>(): Ambient<Value> {
  const storage = new AsyncLocalStorage<Value>();
  return {
    run: (value, body) => storage.run(value, body),
    current: () => storage.getStore() ?? null,
  };
}

/** One for the whole process, so that code deep inside a job finds it without being handed the runtime. */
export const jobAmbient: Ambient<ToolContext> = systemAmbient();

/** The context of the job that the calling code runs in; null outside any job, and in code that outlived its attempt (CTX-6). */
export function currentJob(): ToolContext | null {
  const context = jobAmbient.current();
  return context === null || context.isOver ? null : context;
}
