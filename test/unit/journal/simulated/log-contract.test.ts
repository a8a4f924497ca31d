/**
 * The simulated log, without a fault, held to the contract of every other log; time runs by itself while a test waits.
 */
import { SimulatedClock, SimulatedMachine } from "../../../../infra/simulated/clock.ts";
import { SimulatedLog } from "../../../../infra/simulated/log.ts";
import { Random } from "../../../../infra/simulated/random.ts";
import { SimulatedStore } from "../../../../infra/simulated/store.ts";
import { describeLogContract } from "../../../contract/log.contract.ts";

const describeWith = (name: string, random: Random | null): void =>
  describeLogContract(name, async () => {
    const machine = new SimulatedMachine();
    const store = await SimulatedStore.start({ machine, ...(random === null ? {} : { random }) });
    const handles: SimulatedLog[] = [];
    const open = (): SimulatedLog => {
      const log = new SimulatedLog(store, new SimulatedClock(machine));
      handles.push(log);
      return log;
    };
    let isOver = false;
    const running = (async () => {
      while (!isOver) if (!(await machine.time.step())) await machine.time.settle();
    })();
    return {
      log: open(),
      prefix: "hf.test.evt.0.1",
      reopen: () => Promise.resolve(open()),
      crash: () => Promise.resolve(store.stop("arrives")),
      restart: () => Promise.resolve(store.start()),
      dispose: async () => {
        isOver = true;
        await running;
        for (const log of handles) await log.close();
      },
    };
  });

describeWith("simulated", null);
describeWith("simulated, with drawn latencies", new Random(1));
