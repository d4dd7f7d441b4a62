/**
 * Finds keys that occur twice in one object of a JSON5 text. A JSON5 parser silently uses the last value of a repeated
 * key, so the author of the text would not notice the mistake.
 */

import JSON5 from 'json5';
import { ProtocolError } from '../primitives/errors.ts';

export interface RepeatedKey {
  readonly key: string;
  /** Line of the second occurrence, counted from 1. */
  readonly line: number;
}

/** Matches the tokens of JSON5 that are needed to find keys. A string or a comment is one token. */
const TOKEN =
  /(?<comment>\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\/)|(?<string>"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*')|(?<mark>[{}[\],:])|(?<word>[^\s{}[\],:"'/]+)/gu;

/**
 * Returns the first key that occurs twice in one object; undefined if no key occurs twice.
 *
 * @param text valid JSON5; for any other text the result has no meaning
 */
export function firstRepeatedKey(text: string): RepeatedKey | undefined {
  /**
   * Has one element for each object or list that is not closed yet. For an object, the element contains the keys found
   * so far. For a list, the element is undefined.
   */
  const open: (Set<string> | undefined)[] = [];
  let isKeyNext = false;
  for (const { groups = {}, index } of text.matchAll(TOKEN)) {
    const { mark, string, word } = groups;
    const name = string ?? word;
    if (mark === '{' || mark === '[') open.push(mark === '{' ? new Set() : undefined);
    if (mark === '}' || mark === ']') open.pop();
    const keys = open.at(-1);
    if (name !== undefined && isKeyNext && keys !== undefined) {
      const key = keyOf(name);
      if (keys.has(key)) return { key, line: text.slice(0, index).split(/\r\n|[\n\r\u2028\u2029]/).length };
      keys.add(key);
    }
    if (mark !== undefined) isKeyNext = (mark === '{' || mark === ',') && keys !== undefined;
    else if (name !== undefined) isKeyNext = false;
  }
  return undefined;
}

/** @throws ProtocolError `code` with file, key and line if a key occurs twice in one object */
export function refuseRepeatedKey(text: string, file: string, code: string): void {
  const repeated = firstRepeatedKey(text);
  if (repeated === undefined) return;
  const { key, line } = repeated;
  throw new ProtocolError(
    code,
    { file, key, line },
    `${file}: line ${line} has the key ${key} again: keep one of them`,
  );
}

/** Returns the key without quotes and escapes, so that two spellings of the same key are equal. */
function keyOf(written: string): string {
  return /["'\\]/.test(written) ? (Object.keys(JSON5.parse<object>(`{${written}:0}`))[0] ?? written) : written;
}
