/**
 * Suggests a known word for a misspelt word. The known words are the names of commands, or the names that are allowed
 * at one place of a scenario file (a file of steps that `devnet run` executes).
 */

/** Maximum number of edits between two similar words, as a share of the letters of the longer word. */
const DIFFERENT_SHARE_MAX = 0.4;
const DIFFERENT_MAX = 3;

/**
 * Returns the known word that needs the fewest edits (`editDistance`) to become `word`; undefined if every known word
 * needs more edits than the two limits above allow. If several known words need equally few edits, the function returns
 * the first of these words.
 */
export function similarTo(word: string, known: readonly string[]): string | undefined {
  let nearest: string | undefined;
  let least = DIFFERENT_MAX + 1;
  for (const candidate of known) {
    const edits = editDistance(word, candidate);
    if (edits >= least || edits > DIFFERENT_SHARE_MAX * Math.max(word.length, candidate.length)) continue;
    nearest = candidate;
    least = edits;
  }
  return nearest;
}

/**
 * Minimum number of edits that turn one word into the other (optimal string alignment distance). An edit adds, removes
 * or changes one letter, or swaps two neighbouring letters.
 */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1];
      let edits = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (isSame ? 0 : 1));
      const isSwapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (isSwapped) edits = Math.min(edits, at(beforeLast, column - 2) + 1);
      current.push(edits);
    }
    beforeLast = last;
    last = current;
  }
  return at(last, b.length);
}

function at(list: readonly number[], index: number): number {
  return list[index] ?? Number.POSITIVE_INFINITY;
}
