/**
 * The project's own files, read once, as the tidy test looks at them.
 *
 * Owns: which files count, parsing them, telling code from comments and text. Does not own: what is a fault (rules.ts).
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { type ParseResult, parseSync } from "vite";

export const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** Left to right: a file imports from its own layer and from those before it. */
export const LAYERS = ["machines", "actors", "projections", "infra"];
const OTHER_FOLDERS = ["test", "bench", "examples", "scripts"];
const CODE = /\.(?:ts|mjs|js|c|h|css|html|sh)$/;
const PARSED = /\.(?:ts|mjs|js)$/;

type Comment = ParseResult["comments"][number];

export class SourceFile {
  /** From the project's root, with `/`. */
  readonly path: string;
  readonly text: string;
  readonly lines: readonly string[];
  /** Null for what is not TypeScript or JavaScript. */
  readonly parsed: ParseResult | null;

  constructor(path: string, text: string) {
    this.path = path;
    this.text = text;
    this.lines = text.replace(/\n$/, "").split("\n");
    this.parsed = PARSED.test(path) ? parseSync(path, text) : null;
  }

  get folder(): string {
    return this.path.split("/").slice(0, -1).join("/");
  }

  get layer(): string | null {
    return LAYERS.find((layer) => this.path.startsWith(`${layer}/`)) ?? null;
  }

  /** Whether it is TypeScript of the product: a layer's, or one of its two doors. */
  get isProduct(): boolean {
    const isDoor = this.path === "index.ts" || this.path === "testing.ts";
    return this.path.endsWith(".ts") && (isDoor || this.layer !== null);
  }

  get isTest(): boolean {
    return this.path.endsWith(".test.ts");
  }

  get comments(): readonly Comment[] {
    return this.parsed?.comments ?? [];
  }

  lineAt(offset: number): number {
    return this.text.slice(0, offset).split("\n").length;
  }

  /** `path:line`, as a terminal opens it. */
  at(offset: number): string {
    return `${this.path}:${this.lineAt(offset)}`;
  }

  /** Whether a comment stands on the offset's line, or ends on the line above. */
  hasReasonAt(offset: number): boolean {
    const line = this.lineAt(offset);
    return this.comments.some((comment) => {
      const [first, last] = [this.lineAt(comment.start), this.lineAt(comment.end)];
      return last === line - 1 || (first <= line && line <= last);
    });
  }

  /** The text with its comments blanked; offsets stay. */
  get code(): string {
    let code = this.text;
    for (const { start, end } of this.comments) {
      code = code.slice(0, start) + code.slice(start, end).replace(/[^\n]/g, " ") + code.slice(end);
    }
    return code;
  }
}

const filesUnder = (folder: string): readonly string[] =>
  existsSync(join(ROOT, folder))
    ? readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
        .filter((entry) => entry.isFile())
        .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)).split(sep).join("/"))
    : [];

/** Every code file of the project, its root's included, in order of path. */
export const readTree = (): readonly SourceFile[] =>
  [...readdirSync(ROOT), ...[...LAYERS, ...OTHER_FOLDERS].flatMap(filesUnder)]
    .filter((path) => CODE.test(path))
    .sort()
    .map((path) => new SourceFile(path, readFileSync(join(ROOT, path), "utf8")));
