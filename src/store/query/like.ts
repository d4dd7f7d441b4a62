/**
 * Matches a text (the subject) against a pattern of SQL LIKE. The time of a match is at most proportional to the length
 * of the pattern times the length of the subject, so no pattern takes exponential time.
 */

const MANY = -1;
const ONE = -2;

const PERCENT = 0x25;
const UNDERSCORE = 0x5f;
const BACKSLASH = 0x5c;

/**
 * A pattern as a sequence of elements. The elements are code points or bytes, as numbers. For a pattern of code
 * points, `_` matches any one character. For a pattern of bytes, `_` matches any one byte.
 */
export class LikePattern {
  readonly #tokens: readonly number[];

  /**
   * `%` stands for any sequence of elements, and `_` stands for any single element. A backslash makes the next element
   * literal. A backslash at the end of the pattern stands for itself.
   */
  constructor(pattern: Iterable<number>) {
    const tokens: number[] = [];
    let escaped = false;
    for (const unit of pattern) {
      if (escaped || (unit !== PERCENT && unit !== UNDERSCORE && unit !== BACKSLASH)) {
        tokens.push(unit);
        escaped = false;
      } else if (unit === BACKSLASH) escaped = true;
      else tokens.push(unit === PERCENT ? MANY : ONE);
    }
    if (escaped) tokens.push(BACKSLASH);
    this.#tokens = tokens;
  }

  /** Returns true if the pattern matches the whole subject. */
  matches(subject: ArrayLike<number>): boolean {
    const tokens = this.#tokens;
    let token = 0;
    let at = 0;
    // Position in the pattern of the last `%` that the match has reached; -1 before the first `%`. After a mismatch,
    // this `%` takes one more element of the subject, and the match continues after this `%` in the pattern. An earlier
    // `%` never needs to take more elements, because the last `%` can take these elements instead.
    let lastMany = -1;
    let takenUpTo = 0;
    while (at < subject.length) {
      if (tokens[token] === MANY) {
        lastMany = token;
        takenUpTo = at;
        token += 1;
      } else if (token < tokens.length && (tokens[token] === ONE || tokens[token] === subject[at])) {
        token += 1;
        at += 1;
      } else if (lastMany >= 0) {
        takenUpTo += 1;
        at = takenUpTo;
        token = lastMany + 1;
      } else return false;
    }
    while (tokens[token] === MANY) token += 1;
    return token === tokens.length;
  }

  /**
   * Returns the elements with which every matching subject begins: all elements of the pattern before the first
   * wildcard.
   */
  literalPrefix(): readonly number[] {
    const end = this.#tokens.findIndex((token) => token < 0);
    return end < 0 ? this.#tokens : this.#tokens.slice(0, end);
  }
}

/**
 * Returns the code points of a text. To match a text by characters, pass the code points of the pattern to the
 * constructor of `LikePattern`, and the code points of the subject to the method `matches`.
 */
export function codePoints(text: string): number[] {
  return Array.from(text, (character) => character.codePointAt(0) ?? 0);
}
