/**
 * The Ambient port: which job the code that runs right now belongs to, through awaits, timers and emitters.
 */

export interface Ambient<Value> {
  /** Runs `body` and everything it starts with `value` as the current one. */
  run<Result>(value: Value, body: () => Result): Result;
  /** The value of the innermost `run` that this code descends from; null outside any. */
  current(): Value | null;
}
