/**
 * Examines the text of a query before the engine runs it: whether the text has several statements, and which output
 * format the query names. The functions use the lexical rules of ClickHouse.
 */

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

/** Matches a quoted identifier. The group `name` is the identifier without its quotes. */
const QUOTED_NAME = /^(?<quote>["`])(?<name>.*)\k<quote>$/su;
const WORD = /^[A-Za-z_]\w*$/u;
/** Words that follow the name of a sorted column. In `ORDER BY format DESC`, `format` is such a name. */
const SORT_ORDER = /^(?:asc|ascending|desc|descending)$/iu;

/**
 * The output formats of ClickHouse that consist of text. The engine accepts the names in upper and lower case. Formats
 * with one of the prefixes have many variants, such as `CSVWithNames`.
 */
const TEXT_FORMATS = new RegExp(
  '^(?:(?:CSV|CustomSeparated|JSON|LineAsString|Pretty|TabSeparated|TSV)\\w*|GeoJSON|Hash|Markdown|MD|NDJSON|Null|' +
    'Prometheus|Raw(?:With\\w+)?|SQLInsert|Template|TSKV|Values|Vertical|XML)$',
  'iu',
);

/** @returns true when another statement follows the first statement; semicolons and comments at the end do not count */
export function hasSeveralStatements(sql: string): boolean {
  const tokens = tokensOf(sql);
  const end = tokens.indexOf(';');
  return end >= 0 && tokens.slice(end).some((token) => token !== ';');
}

/**
 * Returns the format that the clause FORMAT of the query names. The engine answers in this format, even if the caller
 * asks for another format. Returns undefined for a query without this clause, and for a query whose result the engine
 * writes to a file (INTO OUTFILE).
 */
export function formatClause(sql: string): string | undefined {
  const tokens = tokensOf(sql).filter((token) => token !== ';');
  if (tokens.some((token) => isWord(token, 'OUTFILE'))) return undefined;
  // Only the clause SETTINGS can follow the clause FORMAT.
  const at = tokens.findLastIndex(
    (token, index) => isWord(token, 'FORMAT') && (index + 2 === tokens.length || isWord(tokens[index + 2], 'SETTINGS')),
  );
  const token = at < 0 ? '' : (tokens[at + 1] ?? '');
  const name = QUOTED_NAME.exec(token)?.groups?.['name'] ?? token;
  return WORD.test(name) && !SORT_ORDER.test(name) ? name : undefined;
}

/** True for the name of an output format of ClickHouse that consists of text; false also for an unknown name. */
export function isTextFormat(name: string): boolean {
  return TEXT_FORMATS.test(name);
}

function isWord(token: string | undefined, word: string): boolean {
  return token?.toUpperCase() === word;
}

/**
 * Returns the tokens of a text, without white space and comments. A character that matches no pattern is a token of its
 * own.
 */
function tokensOf(sql: string): readonly string[] {
  const tokens: string[] = [];
  for (let at = 0; at < sql.length;) {
    const blank = lengthAt(sql, at, BLANK);
    const length = blank || lengthAt(sql, at, TOKENS) || 1;
    if (blank === 0) tokens.push(sql.slice(at, at + length));
    at += length;
  }
  return tokens;
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
