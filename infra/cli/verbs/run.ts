/**
 * `holdfast run`: a workflow from a file, watched to its end.
 *
 * Owns: progress while it runs, the tree at its end, the exit code. Does not own: waiting (running/waiting.ts).
 */
import type { ApiClient } from "../../api/client.ts";
import type { SubmitAnswer } from "../../api/contract/answers.ts";
import { linkToDaemon } from "../daemon-link.ts";
import { EXIT } from "../exit-codes.ts";
import { CLIENT_OPTIONS, type Invocation, type Verb } from "../line/verb.ts";
import type { Output } from "../output.ts";
import { tellRefusal } from "../refused.ts";
import { renderCounts, renderTree } from "../render-tree.ts";
import { Progress } from "../running/progress.ts";
import { readRunFile } from "../running/run-file.ts";
import { submitAndWait } from "../running/waiting.ts";
import { printable, shellWord } from "../text.ts";
import { newCommandId, OUTCOME_CODES } from "./submit.ts";

/** A look at the workflow costs the daemon a read of it: the next one comes this many times later than it took. */
const LOOK_RATIO = 4;

export const run: Verb = {
  name: "run",
  summary: "submit a workflow from a file and watch it to its end",
  positionals: [{ name: "FILE" }],
  options: CLIENT_OPTIONS,
  notes: [
    'FILE is JSON, {"type": …, "input": …, "id": …, "user": …, "after": …, "metadata": …}, or a .js or .mjs module with such an object as its default export, in which `definition` may stand for the type. Without an id each run is a new job; with one, running the file again joins the job that is there.',
    "Progress goes to stderr, the job tree to stdout. The exit code tells the outcome: 0 completed, 10 failed, 11 cancelled, 12 timed out. Ctrl-C ends the watching, not the job.",
  ],
  examples: ["run import.json", "run nightly.mjs --json"],
  run: async (invocation) => {
    const { output } = invocation;
    const file = await readRunFile(invocation.words[0] ?? "");
    const isNamed = file.id !== undefined || file.commandId !== undefined;
    const request = isNamed ? file : { ...file, commandId: newCommandId(file.type) };
    const watch = new Watch(output);
    watch.leaveOnSignal(request.id ?? request.commandId ?? "");
    const answer = await submitAndWait({
      invocation,
      request,
      onPending: (client, pending) => watch.look(client, pending),
    });
    if (!answer.ok) return tellRefusal(output, answer);
    await using client = await linkToDaemon(invocation);
    // Awaited here: the connection is closed when this returns.
    return await tellRun(invocation, client, answer);
  },
};

class Watch {
  readonly #output: Output;
  readonly #progress = new Progress();
  #nextLookMs = 0;

  constructor(output: Output) {
    this.#output = output;
  }

  /** The job goes on without us. */
  leaveOnSignal(job: string): void {
    process.once("SIGINT", () => {
      this.#output.tell(`${printable(job)} goes on: holdfast status ${shellWord(job)}`);
      process.exit(EXIT.interrupted);
    });
  }

  async look(client: ApiClient, { job }: SubmitAnswer): Promise<void> {
    const startedMs = performance.now();
    if (this.#output.isJson || startedMs < this.#nextLookMs) return;
    const trajectory = await client.trajectory(job);
    const endedMs = performance.now();
    this.#nextLookMs = endedMs + LOOK_RATIO * (endedMs - startedMs);
    if (!trajectory.ok) return; // It is shown at the next look, or at the end.
    const paint = (...[style, text]: Parameters<Output["paint"]>) =>
      this.#output.paint(style, text);
    for (const line of this.#progress.look(trajectory.entries, { paint })) this.#output.note(line);
  }
}

async function tellRun(
  { output }: Invocation,
  client: ApiClient,
  answer: SubmitAnswer,
): Promise<number> {
  const tree = await client.tree(answer.job);
  output.document({ ...answer, tree });
  if (tree.ok) {
    output.lines(
      renderTree(tree.nodes, {
        columns: output.columns,
        paint: (style, text) => output.paint(style, text),
        now: Date.now(),
      }),
    );
    output.line(renderCounts(tree.nodes));
  } else output.tell(`the tree cannot be shown: ${tree.reason}`);
  const { outcome } = answer;
  if (outcome?.kind === "completed") output.line(`result: ${JSON.stringify(outcome.result)}`);
  return outcome === undefined || outcome.kind === "completed"
    ? EXIT.done
    : OUTCOME_CODES[outcome.kind];
}
