/**
 * The tree of states as a chart's text gives it, before XState has seen it.
 *
 * Owns: reading untrusted configuration into nodes, and finding what a target means. Does not own: judging it (lint.ts).
 *
 * The lint reads this and not XState's own tree, because XState throws at the first wrong target, and a person who writes a
 * chart wants all faults at once.
 */

export type Fields = Readonly<Record<string, unknown>>;

export type OutlineKind = "leaf" | "compound" | "parallel" | "final" | "history";

export interface OutlineNode {
  readonly key: string;
  /** Keys from the root, which itself has none. */
  readonly path: readonly string[];
  readonly parent: OutlineNode | null;
  readonly kind: OutlineKind;
  /** The configuration as written. */
  readonly fields: Fields;
  readonly children: ReadonlyMap<string, OutlineNode>;
}

export interface Outline {
  readonly root: OutlineNode;
  /** What `#id` may start with: the chart's id, and every `id` a state gives itself. */
  readonly ids: ReadonlyMap<string, OutlineNode>;
}

export function outlineOf(chartId: string, config: unknown): Outline {
  const ids = new Map<string, OutlineNode>();
  const root = readNode({ key: chartId, parent: null, config, ids });
  ids.set(chartId, root);
  return { root, ids };
}

interface NodeSource {
  readonly key: string;
  readonly parent: OutlineNode | null;
  readonly config: unknown;
  readonly ids: Map<string, OutlineNode>;
}

function readNode(source: NodeSource): OutlineNode {
  const fields = fieldsOf(source.config) ?? {};
  const children = new Map<string, OutlineNode>();
  const node: OutlineNode = {
    key: source.key,
    path: source.parent === null ? [] : [...source.parent.path, source.key],
    parent: source.parent,
    kind: kindOf(fields),
    fields,
    children,
  };
  if (typeof fields["id"] === "string") source.ids.set(fields["id"], node);
  for (const [key, config] of Object.entries(fieldsOf(fields["states"]) ?? {})) {
    children.set(key, readNode({ key, parent: node, config, ids: source.ids }));
  }
  return node;
}

function kindOf(fields: Fields): OutlineKind {
  const type = fields["type"];
  if (type === "parallel" || type === "final" || type === "history") return type;
  if (Object.keys(fieldsOf(fields["states"]) ?? {}).length > 0) return "compound";
  return fields["history"] ? "history" : "leaf";
}

/** Every node, parents before their children. */
export function* nodesOf(node: OutlineNode): Generator<OutlineNode> {
  yield node;
  for (const child of node.children.values()) yield* nodesOf(child);
}

/** The states that are active before the first event: the root, and down its initial children. */
export function* initialNodesOf(node: OutlineNode): Generator<OutlineNode> {
  yield node;
  if (node.kind === "parallel") {
    for (const child of node.children.values()) yield* initialNodesOf(child);
    return;
  }
  const initial = initialChildOf(node);
  if (initial !== null) yield* initialNodesOf(initial);
}

/** Null: there is none of that name, or none is named. */
export function initialChildOf(node: OutlineNode): OutlineNode | null {
  const written = node.fields["initial"];
  const key = fieldsOf(written)?.["target"] ?? written;
  return typeof key === "string" ? (node.children.get(key) ?? null) : null;
}

/** Null: nothing stands there. */
export function resolveTarget(
  outline: Outline,
  node: OutlineNode,
  target: string,
): OutlineNode | null {
  if (target.startsWith("#")) {
    const [id, ...rest] = target.slice(1).split(".");
    return descend(outline.ids.get(id ?? ""), rest);
  }
  if (target.startsWith(".")) return descend(node, target.slice(1).split("."));
  return node.parent === null ? null : descend(node.parent, target.split("."));
}

function descend(from: OutlineNode | undefined, keys: readonly string[]): OutlineNode | null {
  let node = from;
  for (const key of keys) node = node?.children.get(key);
  return node ?? null;
}

/** How many state values a subtree has: regions multiply, alternatives add. */
export function countValues(node: OutlineNode): number {
  const counts = [...node.children.values()].map(countValues);
  if (counts.length === 0) return 1;
  return node.kind === "parallel"
    ? counts.reduce((product, count) => product * count, 1)
    : counts.reduce((sum, count) => sum + count, 0);
}

/** The value as an object with fields; undefined for anything else, functions and arrays included. */
export function fieldsOf(value: unknown): Fields | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  // An object that is neither null nor an array can be read field by field; each field is still unknown.
  return value as Fields;
}

/** XState's rule: nothing, one, or many. */
export function listOf(value: unknown): readonly unknown[] {
  if (value === undefined || value === null) return [];
  return Array.isArray(value) ? value : [value];
}
