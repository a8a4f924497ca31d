/**
 * A chart as a table that people read: which event leads from where to where.
 *
 * Owns: the text. It is generated from the chart alone, so that what is published is what runs.
 */
import type { Chart, ChartEvent } from "../../machines/engine/chart.ts";

interface Transition {
  readonly eventType: string;
  readonly guard?: unknown;
  readonly target: readonly { readonly key: string }[] | undefined;
  readonly actions: readonly unknown[];
}

export function transitionTable<Context, Event extends ChartEvent>(
  chart: Chart<Context, Event>,
): string {
  const rows = chart.stateValues.flatMap((from) => {
    const node: { readonly transitions: ReadonlyMap<string, readonly Transition[]> } | undefined =
      chart.machine.root.states[from];
    return [...(node?.transitions.values() ?? [])].flat().map((transition) => {
      const to = transition.target?.map(({ key }) => `\`${key}\``).join(", ") ?? "(stays)";
      const guard = transition.guard === undefined ? "" : `\`${String(transition.guard)}\``;
      return [`\`${from}\``, `\`${transition.eventType}\``, guard, to];
    });
  });
  return tableOf([["from", "event", "if", "to"], ...rows]);
}

/** The states, in document order, with what is final marked. */
export function stateTable<Context, Event extends ChartEvent>(
  chart: Chart<Context, Event>,
): string {
  const rows = chart.stateValues.map((value) => {
    const events = [...new Set(chart.machine.root.states[value]?.ownEvents ?? [])];
    const leaves = chart.engine.isFinal(value) ? "nothing: it is final" : `${events.length} events`;
    return [`\`${value}\``, leaves];
  });
  return tableOf([["state", "left by"], ...rows]);
}

/** Columns are padded, as the formatter of the tree writes them. The first row is the head. */
function tableOf(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => row[at]?.length ?? 0)),
  );
  const lineOf = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const lines = rows.map((row) => lineOf(row.map((cell, at) => cell.padEnd(widths[at] ?? 0))));
  const rule = lineOf(widths.map((width) => "-".repeat(width)));
  return [lines[0], rule, ...lines.slice(1)].join("\n");
}
