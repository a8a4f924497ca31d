/**
 * What a test has to say besides that it passed: counts that a reader wants to see.
 */
export const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
};
