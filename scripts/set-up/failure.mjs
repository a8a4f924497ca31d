// @ts-check
/** A step that could not be done: what was tried, what came instead, and what the reader can do about it. */
export class StepFailure extends Error {
  /**
   * @param {string} message
   * @param {{ readonly whatToDo: string, readonly cause?: unknown }} options
   */
  constructor(message, { whatToDo, ...options }) {
    super(message, options);
    this.name = "StepFailure";
    this.whatToDo = whatToDo;
  }
}
