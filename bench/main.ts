/**
 * `npm run bench [NAME …] [-- --json] [-- --record]`: runs benchmarks and says whether they keep their budgets.
 *
 * `--json` prints one object `{name: {value, unit, budget?, within?}}` and nothing else.
 * `--record` writes the table of this run into bench/RESULTS.md.
 * Exit code 1 when a budget is not kept, 2 for a name that no benchmark has.
 */
import { parseArgs } from "node:util";
import { append } from "./append.ts";
import { fanOut, jobs, latency } from "./jobs.ts";
import { recovery, resync } from "./kills.ts";
import { type Benchmark, type Figure, isWithin, rounded } from "./measure.ts";
import { record } from "./record.ts";
import { step } from "./step.ts";
import { takeOver } from "./take-over.ts";

const ALL: readonly Benchmark[] = [step, append, jobs, latency, fanOut, resync, recovery, takeOver];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: "boolean" }, record: { type: "boolean" } },
});

const unknown = positionals.filter((name) => !ALL.some((benchmark) => benchmark.name === name));
if (unknown.length > 0) {
  console.error(
    `No benchmark is named ${unknown.join(", ")}; there are: ${ALL.map(({ name }) => name).join(", ")}.`,
  );
  process.exit(2);
}

const wanted =
  positionals.length === 0 ? ALL : ALL.filter(({ name }) => positionals.includes(name));
const figures: Record<string, Figure> = {};
for (const benchmark of wanted) {
  if (values.json !== true) console.log(`\n${benchmark.name}: ${benchmark.about}`);
  const measured = await benchmark.run();
  Object.assign(figures, measured);
  if (values.json !== true)
    for (const [name, figure] of Object.entries(measured)) console.log(lineOf(name, figure));
}
if (values.json === true)
  console.log(JSON.stringify(Object.fromEntries(Object.entries(figures).map(jsonOf))));
if (values.record === true) record(figures);
process.exitCode = Object.values(figures).some((figure) => isWithin(figure) === false) ? 1 : 0;

function jsonOf([name, figure]: [string, Figure]) {
  const within = isWithin(figure);
  const { value, unit, budget } = figure;
  return [
    name,
    { value: rounded(value), unit, ...(budget === undefined ? {} : { budget, within }) },
  ];
}

function lineOf(name: string, figure: Figure): string {
  const { budget } = figure;
  const limit =
    budget === undefined ? "" : "atMost" in budget ? `≤ ${budget.atMost}` : `≥ ${budget.atLeast}`;
  const verdict =
    budget === undefined
      ? ""
      : isWithin(figure) === true
        ? `  within ${limit}`
        : `  OUTSIDE ${limit}`;
  return `  ${name.padEnd(26)} ${String(rounded(figure.value)).padStart(9)} ${figure.unit}${verdict}`;
}
