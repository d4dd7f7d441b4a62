/**
 * In stack traces, replaces positions in bundles by positions in source files. The programs are bundled into a few
 * files, and a position in a bundle does not help to find a fault.
 *
 * Node.js has its own support for source maps. With this support, however, Node.js reads the map of each file that it
 * loads. These reads take a tenth of the start time of a program. The code in this file reads the map of a bundle only
 * when the `stack` of an error is read and this stack contains a position in the bundle.
 */

import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageDirectory } from '../config/package.ts';
import { LruMap } from '../primitives/bounded.ts';

/** Line and column of a position, counted from 1, as in traces. */
interface SourcePosition {
  readonly line: number;
  readonly column: number;
}

/**
 * Maximum number of positions in bundles for which the cache stores the position in the source file. An error that
 * occurs again has the same positions in its trace. With the cache, the code does not look up these positions in the
 * source map a second time.
 */
const TRACE_LINES_MAX = 1000;
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const CONTINUES = 0b100000;

/**
 * After this call, the `stack` of an error names positions in source files. A source map must exist beside the bundle.
 * Errors for which `isReadInConstructor` is true keep the positions in the bundle.
 */
export function nameSourcesInTraces(): void {
  const known = new LruMap<string, string>(TRACE_LINES_MAX);
  Error.prepareStackTrace = (error, sites) => {
    const lines = sites.map((site) => `\n    at ${String(site)}`);
    if (isReadInConstructor(error, sites)) return `${String(error)}${lines.join('')}`;
    try {
      const maps: Maps = new Map();
      return `${String(error)}${lines.map((line) => withSource(line, known, maps)).join('')}`;
    } catch {
      // If finding the positions in source files throws an error, the trace keeps the positions in the bundle. A trace
      // with these positions is better than no trace.
      return `${String(error)}${lines.join('')}`;
    }
  };
}

/**
 * True if the error has no message and was created in a constructor. In some libraries, the constructor of an error
 * class creates such an error and reads its trace, but the trace is hardly ever printed. For example, SocketCluster
 * creates such an error and reads its trace for each failed dial. Reading source maps for these errors took a sixth of
 * the start time of a devnet node.
 */
function isReadInConstructor(error: Error, [first]: readonly NodeJS.CallSite[]): boolean {
  return error.message === '' && first?.isConstructor() === true;
}

interface SourceMap {
  readonly mappings: string;
  readonly sources: readonly string[];
}

/**
 * The source maps that one trace has needed so far, by the URL of the compiled file; undefined for a file without a
 * map.
 */
type Maps = Map<string, SourceMap | undefined>;

function withSource(line: string, known: LruMap<string, string>, maps: Maps): string {
  return line.replace(/(file:\/\/[^\s()]+\.js):(\d+):(\d+)/, (text, url: string, row: string, column: string) => {
    const found = known.get(text) ?? sourceOf(url, { line: Number(row), column: Number(column) }, maps) ?? text;
    known.set(text, found);
    return found;
  });
}

function sourceOf(url: string, position: SourcePosition, maps: Maps): string | undefined {
  const map = maps.has(url) ? maps.get(url) : readMap(url);
  maps.set(url, map);
  if (map === undefined) return undefined;
  const found = originalPosition(map.mappings, position);
  const source = found === undefined ? undefined : map.sources[found.source];
  if (found === undefined || source === undefined) return undefined;
  return `${relative(packageDirectory(), fileURLToPath(new URL(source, url)))}:${found.line}:${found.column}`;
}

function readMap(url: string): SourceMap | undefined {
  try {
    return JSON.parse(readFileSync(new URL(`${url}.map`), 'utf8')) as SourceMap;
  } catch {
    return undefined;
  }
}

/**
 * Returns the position in the source file for a position in a compiled file. The function uses the last
 * mapping of the given line that begins at or before the given column.
 *
 * @param mappings mappings of a source map of version 3: `;` ends a line, and `,` ends a mapping. Each field of a
 *   mapping is a Base64 VLQ number: the difference from the same field of the previous mapping. In the first mapping of
 *   a line, the column field is the difference from 0.
 */
export function originalPosition(
  mappings: string,
  { line, column }: SourcePosition,
): (SourcePosition & { source: number }) | undefined {
  let row = 1;
  let found: (SourcePosition & { source: number }) | undefined;
  // Fields of the current mapping: column in the compiled line, index of the source, and line and column in the source.
  // In a source map, these fields count from 0.
  const state = [0, 0, 0, 0];
  let [field, value, shift] = [0, 0, 0];
  for (let at = 0; at < mappings.length; at += 1) {
    const character = mappings[at] ?? '';
    if (character === ';' || character === ',') {
      field = 0;
      if (character === ',') continue;
      if (row === line) break;
      row += 1;
      state[0] = 0;
      continue;
    }
    const digit = DIGITS.indexOf(character);
    value += (digit & ~CONTINUES) << shift;
    shift += 5;
    if ((digit & CONTINUES) !== 0) continue;
    if (field < state.length) state[field] = (state[field] ?? 0) + (value & 1 ? -(value >> 1) : value >> 1);
    [value, shift] = [0, 0];
    field += 1;
    const [begins = 0, source = 0, sourceLine = 0, sourceColumn = 0] = state;
    if (row !== line || field !== state.length) continue;
    if (begins >= column) break;
    found = { source, line: sourceLine + 1, column: sourceColumn + 1 };
  }
  return found;
}
