/** Keys that an object of a JSON5 text has twice: parsers take the last and say nothing. */

import JSON5 from 'json5';
import { ProtocolError } from '../primitives/errors.ts';

export interface RepeatedKey {
  readonly key: string;
  /** From 1, of its second time. */
  readonly line: number;
}

/** What a JSON5 text is made of, as far as keys are concerned; strings and comments are passed over whole. */
const TOKEN =
  /(?<comment>\/\/[^\n\r\u2028\u2029]*|\/\*[\s\S]*?\*\/)|(?<string>"(?:\\[\s\S]|[^"\\])*"|'(?:\\[\s\S]|[^'\\])*')|(?<mark>[{}[\],:])|(?<word>[^\s{}[\],:"'/]+)/gu;

/**
 * The first key that stands twice in one object.
 *
 * @param text valid JSON5; of another the answer says nothing
 */
export function firstRepeatedKey(text: string): RepeatedKey | undefined {
  /** Keys so far of each open object; undefined for a list. */
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

/** @throws ProtocolError `code` naming file, key and line */
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

/** A key as it is meant: quotes and escapes are ways of writing it. */
function keyOf(written: string): string {
  return /["'\\]/.test(written) ? (Object.keys(JSON5.parse<object>(`{${written}:0}`))[0] ?? written) : written;
}
