/**
 * The nearest of some words to one that was mistyped.
 *
 * Owns: the measure. Pure. Does not own: what the words are.
 */

/** Null: none is near enough to be what was meant. */
export function nearestTo(word: string, candidates: readonly string[]): string | null {
  let nearest: string | null = null;
  // Fewer slips than letters: else every word would be near to a short one.
  let least = Math.min(word.length, Math.max(2, Math.floor(word.length / 3)) + 1);
  for (const candidate of candidates) {
    const distance = distanceBetween(word, candidate);
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

/** Letters to add, drop, change or swap with their neighbour to make one word the other. */
function distanceBetween(one: string, other: string): number {
  let before: number[] = [];
  let above = Array.from({ length: other.length + 1 }, (_, column) => column);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1];
      const isSwapped = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      current[column] = Math.min(
        at(above, column) + 1,
        at(current, column - 1) + 1,
        at(above, column - 1) + (isSame ? 0 : 1),
        isSwapped ? at(before, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    before = above;
    above = current;
  }
  return at(above, other.length);
}

const at = (row: readonly number[], column: number): number =>
  row[column] ?? Number.POSITIVE_INFINITY;
