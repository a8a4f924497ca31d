/**
 * What `holdfast` writes.
 *
 * Owns: the two modes, colour, the width. Does not own: what is written (render-*.ts, verbs/).
 *
 * O1. With `--json` exactly one JSON document goes to stdout, errors included, and nothing else.
 * O2. Without it results go to stdout, and what is told meanwhile, and errors, to stderr.
 * O3. Colour only on a terminal, and not where NO_COLOR is set.
 */
import { styleText } from "node:util";
import { invariant } from "../../machines/invariant.ts";
import { wrap } from "./text.ts";

export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

export interface OutputStream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export interface OutputOptions {
  readonly isJson: boolean;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const COLUMNS_DEFAULT = 80;
const COLUMNS_MIN = 40;

export class Output {
  readonly isJson: boolean;
  /** Columns that lines are wrapped at. */
  readonly columns: number;
  readonly #options: OutputOptions;
  readonly #isColoured: boolean;
  #hasDocument = false;

  constructor(options: OutputOptions) {
    const { stdout, environment, isJson } = options;
    this.isJson = isJson;
    this.#options = options;
    // A terminal that does not know its width says 0.
    this.columns = Math.max(COLUMNS_MIN, stdout.columns || COLUMNS_DEFAULT);
    this.#isColoured = stdout.isTTY === true && (environment["NO_COLOR"] ?? "") === "";
  }

  /** A result for people; nothing in the JSON mode. */
  line(text = ""): void {
    if (!this.isJson) this.#options.stdout.write(`${text}\n`);
  }

  lines(texts: readonly string[]): void {
    for (const text of texts) this.line(text);
  }

  /** Something to know meanwhile; nothing in the JSON mode. */
  note(text: string): void {
    if (!this.isJson) this.#options.stderr.write(`${text}\n`);
  }

  /** The same from us, in a sentence, wrapped. */
  tell(text: string): void {
    for (const line of wrap(`holdfast: ${text}`, this.columns)) this.note(line);
  }

  /** Whether the one document is written. */
  get hasDocument(): boolean {
    return this.#hasDocument;
  }

  /** The one document (O1); nothing in the mode for people. */
  document(value: object): void {
    if (!this.isJson) return;
    invariant(!this.#hasDocument, "O1: one document");
    this.#hasDocument = true;
    this.#options.stdout.write(`${JSON.stringify(value)}\n`);
  }

  /** O3. */
  paint(style: Style, text: string): string {
    return this.#isColoured ? styleText(style, text, { validateStream: false }) : text;
  }
}
