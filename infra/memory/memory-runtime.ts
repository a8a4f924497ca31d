/**
 * A runtime in memory, for tests of one's own jobs: the real runtime on the memory log, on simulated time.
 *
 * Owns: starting it, starting it again on the same log as after a crash. Does not own: durability (nothing outlives the
 * process), faults of a store (infra/simulated).
 */
import type { ToolContext } from "../../actors/attempt/context.ts";
import type { JobDefinition } from "../../actors/attempt/definition.ts";
import { Runtime } from "../../actors/runtime/runtime.ts";
import type { Notice } from "../../actors/runtime/world.ts";
import { SimulatedClock, SimulatedMachine } from "../simulated/clock.ts";
import { systemAmbient } from "../system/ambient.ts";
import { systemIds } from "../system/ids.ts";
import { MemoryLog } from "./log.ts";

const PREFIX = "hf.memory.evt.0.1.";

export interface MemoryRuntimeOptions {
  readonly jobs: readonly JobDefinition[];
  /** Values that must not be journaled. */
  readonly secrets?: readonly string[];
  readonly onNotice?: (notice: Notice) => void;
}

export class MemoryRuntime {
  /** Time stands still until a test moves it. */
  readonly machine = new SimulatedMachine();
  readonly log = new MemoryLog();
  readonly #options: MemoryRuntimeOptions;
  #runtime: Runtime | null = null;

  private constructor(options: MemoryRuntimeOptions) {
    this.#options = options;
  }

  static async open(options: MemoryRuntimeOptions): Promise<MemoryRuntime> {
    const memory = new MemoryRuntime(options);
    await memory.restart();
    return memory;
  }

  /** The one that owns the log now. */
  get runtime(): Runtime {
    if (this.#runtime === null) throw new TypeError("the runtime has not started");
    return this.#runtime;
  }

  /**
   * Starts another runtime on the same log. The one before is fenced by it, as by a new process after a crash: what it ran is
   * interrupted and decided by class. `jobs` replaces what can be run.
   */
  async restart(jobs: readonly JobDefinition[] = this.#options.jobs): Promise<Runtime> {
    const { secrets, onNotice } = this.#options;
    this.#runtime = await Runtime.start({
      log: this.log.reopen(),
      clock: new SimulatedClock(this.machine),
      ids: systemIds(),
      ambient: systemAmbient<ToolContext>(),
      definitions: jobs,
      prefix: PREFIX,
      owner: "memory",
      durability: "process",
      ...(secrets === undefined ? {} : { secrets }),
      ...(onNotice === undefined ? {} : { onNotice }),
    });
    return this.#runtime;
  }
}
