/** Finds out whether a text has one SQL statement or several, by the lexical rules of ClickHouse. */

/**
 * Tokens in which a semicolon does not end the statement: string literals, quoted identifiers and heredocs. The list
 * contains a pattern for words, too, because a `$` within a word does not begin a heredoc.
 */
const TOKENS = [
  /'(?:[^'\\]|\\.|'')*'/suy,
  /"(?:[^"\\]|\\.|"")*"/suy,
  /`(?:[^`\\]|\\.|``)*`/suy,
  /‘[^’]*’/uy,
  /“[^”]*”/uy,
  /\$(\w*)\$.*?\$\1\$/suy,
  /[A-Za-z_$][\w$]*/uy,
];
/** White space and comments. */
const BLANK = [/\s+/uy, /--[^\n]*/uy, /#[ !][^\n]*/uy, /\/\*.*?\*\//suy];

/** @returns true when another statement follows the first one; semicolons and comments at the end do not count */
export function hasSeveralStatements(sql: string): boolean {
  let isEnded = false;
  for (let at = 0; at < sql.length;) {
    const blank = lengthAt(sql, at, BLANK);
    if (blank > 0) {
      at += blank;
      continue;
    }
    const isSemicolon = sql[at] === ';';
    if (isEnded && !isSemicolon) return true;
    isEnded ||= isSemicolon;
    at += lengthAt(sql, at, TOKENS) || 1;
  }
  return false;
}

/**
 * Tries the patterns one after another, each at index `at` of `sql`. Returns the length of the first match that is not
 * empty; 0 if no pattern gives such a match.
 */
function lengthAt(sql: string, at: number, parts: readonly RegExp[]): number {
  for (const part of parts) {
    part.lastIndex = at;
    const [found] = part.exec(sql) ?? [];
    if (found !== undefined && found !== '') return found.length;
  }
  return 0;
}
