/**
 * `holdfast/testing`: what a test of one's own jobs needs.
 *
 * Names are listed by hand. Nothing here is for production: nothing in it outlives its process.
 */
export { MemoryLog, type MemoryLogOptions } from "./infra/memory/log.ts";
export { MemoryRuntime, type MemoryRuntimeOptions } from "./infra/memory/memory-runtime.ts";
export { SimulatedClock, SimulatedMachine } from "./infra/simulated/clock.ts";
