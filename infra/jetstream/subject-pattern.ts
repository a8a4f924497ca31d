/**
 * Subject patterns: what `*` (one token) and `>` (one or more tokens, last) match.
 *
 * Owns: matching, containment, narrowing to a stream's own subjects. Pure; the in-memory log matches by the same code.
 * Does not own: which patterns a consumer is created with (reading/filter-plan.ts).
 *
 * P1. A wildcard is a whole token: `a*` is a literal.
 */
import { invariant } from "../../machines/invariant.ts";

/** Patterns of one read. */
const PATTERNS_MAX = 64;

const tokensOf = (pattern: string): readonly string[] => pattern.split(".");

const isWildcard = (token: string): boolean => token === "*" || token === ">";

/** Whether the pattern matches one subject only. */
export const isLiteral = (pattern: string): boolean => !tokensOf(pattern).some(isWildcard);

/** Why a pattern cannot be one, or null when it can. */
export function faultOfPattern(pattern: string): string | null {
  const tokens = tokensOf(pattern);
  if (tokens.includes("")) return "a token is empty";
  if (/[\s\0]/.test(pattern)) return "white space stands in it";
  const rest = tokens.indexOf(">");
  return rest === -1 || rest === tokens.length - 1 ? null : "`>` stands before the last token";
}

/** Patterns come from code, never from a user: a bad one, or too many, is a programmer error. */
export function checkPatterns(patterns: readonly string[]): void {
  invariant(patterns.length <= PATTERNS_MAX, "a read has at most 64 patterns", {
    count: patterns.length,
  });
  for (const pattern of patterns) {
    const fault = faultOfPattern(pattern);
    invariant(fault === null, "a pattern can match a subject", { pattern, fault });
  }
}

/** Whether every subject that `inner` matches is matched by `outer`. */
export function contains(outer: string, inner: string): boolean {
  const outerTokens = tokensOf(outer);
  const innerTokens = tokensOf(inner);
  for (const [at, token] of outerTokens.entries()) {
    const other = innerTokens[at];
    if (other === undefined) return false;
    if (token === ">") return true;
    if (other === ">" || (token !== "*" && token !== other)) return false;
  }
  return outerTokens.length === innerTokens.length;
}

/** Whether some subject is matched by both. */
export function overlaps(one: string, other: string): boolean {
  const oneTokens = tokensOf(one);
  const otherTokens = tokensOf(other);
  for (const [at, token] of oneTokens.entries()) {
    const against = otherTokens[at];
    if (against === undefined) return false;
    if (token === ">" || against === ">") return true;
    if (token !== against && !isWildcard(token) && !isWildcard(against)) return false;
  }
  return oneTokens.length === otherTokens.length;
}

/** The part of a pattern that lies in `prefix.>`, as a pattern; null when there is none. */
export function narrowTo(prefix: string, pattern: string): string | null {
  const tokens = tokensOf(pattern);
  for (const [at, expected] of tokensOf(prefix).entries()) {
    const token = tokens[at];
    if (token === ">") return `${prefix}.>`;
    if (token !== "*" && token !== expected) return null;
  }
  const below = tokens.slice(tokensOf(prefix).length);
  return below.length === 0 ? null : `${prefix}.${below.join(".")}`;
}

/** A test for one pattern; the common forms (a literal, a literal and `>`) cost one string comparison. */
function matcherOf(pattern: string): (subject: string) => boolean {
  if (isLiteral(pattern)) return (subject) => subject === pattern;
  if (pattern === ">") return () => true;
  const head = pattern.slice(0, -1);
  if (pattern.endsWith(".>") && isLiteral(head)) {
    return (subject) => subject.length > head.length && subject.startsWith(head);
  }
  return (subject) => contains(pattern, subject);
}

/** A test for any of the patterns. */
export function matcherOfAny(patterns: readonly string[]): (subject: string) => boolean {
  const literals = new Set(patterns.filter(isLiteral));
  const others = patterns.filter((pattern) => !literals.has(pattern)).map(matcherOf);
  return (subject) => literals.has(subject) || others.some((matches) => matches(subject));
}
