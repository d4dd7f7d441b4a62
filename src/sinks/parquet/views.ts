/** Makes SQL views with which the embedded engine of ClickHouse reads the files of a Parquet sink as tables. */

import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ProtocolError } from '../../primitives/errors.ts';
import { ENGINE_TYPES } from '../engine-types.ts';
import { changesPerDay, QUESTION_VIEWS } from '../question-views.ts';
import { columnsOf, SINK_TABLE_NAMES, type SinkTable } from '../tables.ts';
import { digits, fileOf, RANGES, TAIL, type Part } from './parquet-folder.ts';
import type { Snapshot } from './snapshot.ts';

/**
 * Statements that create or replace the views, in the order in which they must run. The view of a table shows exactly
 * the rows of this table that are in the snapshot.
 *
 * @param folder folder of a Parquet sink
 * @throws ProtocolError `SINK_PATH_REFUSED` when the path of the folder contains `*`, `?`, `{` or `}`
 */
export function viewStatements(folder: string, { ranges, tail }: Snapshot): readonly string[] {
  refusePattern(folder);
  const tables = SINK_TABLE_NAMES.map((table) => {
    const parts = [...selectsOf(join(folder, RANGES), ranges, table), ...selectsOf(join(folder, TAIL), tail, table)];
    return view(table, parts.length === 0 ? emptySelect(table) : parts.join(' UNION ALL '));
  });
  return [
    ...tables,
    view('balance_changes_per_day', changesPerDay('balance_changes')),
    ...Object.entries(QUESTION_VIEWS).map(([name, select]) => view(name, select(''))),
  ];
}

function view(name: string, select: string): string {
  return `CREATE OR REPLACE VIEW ${name} AS ${select}`;
}

/**
 * Makes the SELECT of the rows of a table in the given parts.
 *
 * @param parts parts in ascending order of height
 * @returns a list with only this SELECT; an empty list if no part has rows of the table, because ClickHouse refuses a
 *   pattern that matches no file
 */
function selectsOf(folder: string, parts: readonly Part[], table: SinkTable): readonly string[] {
  const [first] = parts;
  const last = parts.at(-1);
  if (first === undefined || last === undefined) return [];
  if (!parts.some(({ name }) => existsSync(join(folder, name, fileOf(table))))) return [];
  const columns = columnsOf(table).map(([name, type]) =>
    type === 'time' ? `toDateTime(${name}, 'UTC') AS ${name}` : name,
  );
  // The pattern matches folders whose names begin with a digit, because ClickHouse reads {0..9} as any single digit.
  // The sink gives such names only to complete parts. A part is the folder of a range or of a block. The pattern does
  // not contain a list of digits such as {0,1,2}. If a path contains such a list, ClickHouse allows no comma before the
  // list. With a list, ClickHouse could therefore not read a sink whose folder has a comma in its path.
  const pattern = `${folder}/{0..9}*/${fileOf(table)}`;
  const structure = columnsOf(table).map(
    ([name, type]) => `${name} ${type === 'time' ? "DateTime64(3, 'UTC')" : ENGINE_TYPES[type]}`,
  );
  // The column `_path` contains the path of the file from which a row comes. The condition on this column limits the
  // rows to the snapshot. ClickHouse does not open the excluded files, so the sink can remove these files during a
  // query.
  const part = "extract(_path, '([^/]+)/[^/]+$')";
  const isShown = `${part} >= '${digits(first.fromHeight)}' AND ${part} < '${digits(last.height + 1)}'`;
  return [
    `SELECT ${columns.join(', ')} FROM file(${text(pattern)}, Parquet, ${text(structure.join(', '))}) WHERE ${isShown}`,
  ];
}

function emptySelect(table: SinkTable): string {
  const columns = columnsOf(table).map(
    ([name, type]) => `CAST(${type === 'text' ? "''" : '0'}, ${text(ENGINE_TYPES[type])}) AS ${name}`,
  );
  return `SELECT ${columns.join(', ')} WHERE 0`;
}

function text(value: string): string {
  return `'${value.replace(/[\\']/g, (character) => `\\${character}`)}'`;
}

/**
 * Refuses a path that ClickHouse would read as a pattern for several paths. ClickHouse has no escape for the special
 * characters of patterns.
 */
function refusePattern(folder: string): void {
  const [character] = /[*?{}]/.exec(folder) ?? [];
  if (character === undefined) return;
  throw new ProtocolError(
    'SINK_PATH_REFUSED',
    { folder },
    `the path ${folder} contains ${character}, which the engine reads as a pattern: rename the folder, or name a symbolic ` +
      'link whose path does not contain * ? { }',
  );
}
