/**
 * Writes a run's figures into bench/RESULTS.md: one section a benchmark figure's run, the newest first.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { type Figure, isWithin, rounded } from "./measure.ts";

/** `npm run` starts in the project's folder. */
const FILE = "bench/RESULTS.md";
const HEAD = `# Results

Figures of single runs, newest first, each with the command that made it. The machine is shared: compare figures within a
run, not runs. How a figure is taken stands in the header of its file.
`;

export function record(figures: Readonly<Record<string, Figure>>): void {
  const before = existsSync(FILE) ? readFileSync(FILE, "utf8").slice(HEAD.length) : "";
  const names = process.argv
    .slice(2)
    .filter((argument) => argument !== "--record")
    .join(" ");
  const command = `npm run bench ${names === "" ? "" : `${names} `}-- --record`;
  const rows = Object.entries(figures).map(([name, figure]) => {
    const { budget } = figure;
    const limit =
      budget === undefined ? "" : "atMost" in budget ? `≤ ${budget.atMost}` : `≥ ${budget.atLeast}`;
    const verdict =
      budget === undefined ? "" : isWithin(figure) === true ? "within" : "**outside**";
    return `| ${name} | ${rounded(figure.value)} | ${figure.unit} | ${limit} | ${verdict} |`;
  });
  const section = `
## ${new Date().toISOString().slice(0, 16).replace("T", " ")} UTC

\`${command}\` on Node ${process.versions.node}, ${cpus().length} cores.

| figure | value | unit | budget | |
|---|---:|---|---|---|
${rows.join("\n")}
`;
  writeFileSync(FILE, HEAD + section + before);
}
