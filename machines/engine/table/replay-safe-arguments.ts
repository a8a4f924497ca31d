/**
 * What the compiled engine calls reducers, guards and params functions with.
 *
 * Owns: one object a step, whose context moves along with the reducers. Beside `context` and `event`, XState's assign hands
 * out `spawn`, `self` and `system`; a function that takes one of them is not replay-safe, and is told so.
 */

import { InvariantError } from "../../invariant.ts";
import type { ChartEvent } from "../chart.ts";

export class ReplaySafeArguments<Context, Event extends ChartEvent> {
  context: Context;
  readonly event: Event;

  constructor(context: Context, event: Event) {
    this.context = context;
    this.event = event;
  }

  // On the prototype: they cost a step nothing.
  get spawn(): never {
    throw notReplaySafe("spawn");
  }

  get self(): never {
    throw notReplaySafe("self");
  }

  get system(): never {
    throw notReplaySafe("system");
  }
}

function notReplaySafe(name: string): InvariantError {
  return new InvariantError(`C1: not replay-safe: a chart's function took ${name}`, {});
}
