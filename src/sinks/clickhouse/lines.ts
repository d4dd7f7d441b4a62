/** Writes rows as lines in ClickHouse's text format TabSeparated. */

import { columnsOf, SINK_TABLE_NAMES, valueIn, type Rows, type SinkTable } from '../tables.ts';

interface Column {
  readonly name: string;
  readonly isText: boolean;
}

const COLUMNS: ReadonlyMap<SinkTable, readonly Column[]> = new Map(
  SINK_TABLE_NAMES.map((table) => [table, columnsOf(table).map(([name, type]) => ({ name, isText: type === 'text' }))]),
);

/** Returns the names of a table's columns, in the order of the columns. */
export function namesOf(table: SinkTable): readonly string[] {
  return columnsOf(table).map(([name]) => name);
}

/**
 * Writes rows of a table as lines, one line for each row.
 *
 * @param first value of an extra column that comes before the columns of the table; the function does not escape this
 *   value
 */
export function linesOf(table: SinkTable, rows: readonly object[], first: string): string {
  const columns = COLUMNS.get(table) ?? [];
  let lines = '';
  for (const row of rows) {
    lines += first;
    for (const { name, isText } of columns) {
      const value = valueIn(row, name);
      lines += `\t${isText ? escaped(String(value)) : value}`;
    }
    lines += '\n';
  }
  return lines;
}

const SPECIAL = /[\\\t\n\r\0]/;
const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r', '\0': '\\0' };

export function escaped(text: string): string {
  return SPECIAL.test(text) ? text.replace(/[\\\t\n\r\0]/g, (character) => ESCAPES[character] ?? character) : text;
}

/**
 * Collects the lines of a range, separately for each table. The lines are kept as bytes outside the JavaScript heap.
 * These bytes take less memory than row objects, and the garbage collector does not scan them.
 */
export class RangeLines {
  readonly #first: string;
  readonly #chunks = new Map<SinkTable, Uint8Array[]>();
  #lastTimeS = 0;
  #changes = 0;

  /** @param first value that stands at the beginning of each line, before the columns of the table */
  constructor(first: string) {
    this.#first = first;
  }

  /** Unix time of the last added block, in seconds; 0 if no block was added yet. */
  get lastTimeS(): number {
    return this.#lastTimeS;
  }

  /** Number of balance changes in all added blocks. */
  get changes(): number {
    return this.#changes;
  }

  /** Adds the rows of the next block. */
  add(rows: Rows): void {
    for (const table of SINK_TABLE_NAMES) {
      if (rows[table].length === 0) continue;
      const chunk = Buffer.from(linesOf(table, rows[table], this.#first), 'utf8');
      const chunks = this.#chunks.get(table);
      if (chunks === undefined) this.#chunks.set(table, [chunk]);
      else chunks.push(chunk);
    }
    this.#changes += rows.balance_changes.length;
    this.#lastTimeS = rows.blocks.at(-1)?.time ?? this.#lastTimeS;
  }

  /** Returns the lines of a table. The list has one chunk for each added block that has rows in the table. */
  of(table: SinkTable): readonly Uint8Array[] {
    return this.#chunks.get(table) ?? [];
  }
}
