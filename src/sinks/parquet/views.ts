/** Views over the files of a Parquet sink, as tables for the embedded engine of ClickHouse. */

import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ProtocolError } from '../../primitives/errors.ts';
import { ENGINE_TYPES } from '../engine-types.ts';
import { changesPerDay, QUESTION_VIEWS } from '../question-views.ts';
import { columnsOf, SINK_TABLE_NAMES, type SinkTable } from '../tables.ts';
import { checkedFinalHeight, fileOf, RANGES, TAIL } from './parquet-folder.ts';

/**
 * Statements that create the views, in order. The answer to a query may lack rows that the sink writes during the
 * query. No block is counted twice, because a block of the tail counts only above the ranges.
 *
 * @param folder folder of a Parquet sink
 * @throws ProtocolError `SINK_DAMAGED` when a query would miss rows of the ranges or count rows twice,
 *   `SINK_PATH_REFUSED` when the path of the folder is a pattern
 */
export async function viewStatements(folder: string): Promise<readonly string[]> {
  refusePattern(folder);
  const finalHeight = await checkedFinalHeight(folder);
  const tables = SINK_TABLE_NAMES.map((table) => {
    const final = filesOf(folder, RANGES, table) ? [selectOf(folder, RANGES, table, `height <= ${finalHeight}`)] : [];
    const tail = filesOf(folder, TAIL, table) ? [selectOf(folder, TAIL, table, `height > ${finalHeight}`)] : [];
    const parts = final.length + tail.length === 0 ? [emptySelect(table)] : [...final, ...tail];
    return `CREATE VIEW ${table} AS ${parts.join(' UNION ALL ')}`;
  });
  return [
    ...tables,
    `CREATE VIEW balance_changes_per_day AS ${changesPerDay('balance_changes')}`,
    ...Object.entries(QUESTION_VIEWS).map(([name, select]) => `CREATE VIEW ${name} AS ${select('')}`),
  ];
}

/** True when a part has rows of the table. The engine refuses a pattern that matches no file. */
function filesOf(folder: string, kind: string, table: SinkTable): boolean {
  const parts = join(folder, kind);
  return readdirSync(parts).some((name) => !name.startsWith('draft-') && existsSync(join(parts, name, fileOf(table))));
}

function selectOf(folder: string, kind: string, table: SinkTable, condition: string): string {
  const columns = columnsOf(table).map(([name, type]) =>
    type === 'time' ? `toDateTime(${name}, 'UTC') AS ${name}` : name,
  );
  // The names of complete parts begin with a digit. The names of unfinished parts do not begin with a digit. A list such
  // as {0,1} would make the engine refuse a path with a comma.
  const pattern = `${join(folder, kind)}/{0..9}*/${fileOf(table)}`;
  const structure = columnsOf(table).map(
    ([name, type]) => `${name} ${type === 'time' ? "DateTime64(3, 'UTC')" : ENGINE_TYPES[type]}`,
  );
  return `SELECT ${columns.join(', ')} FROM file(${text(pattern)}, Parquet, ${text(structure.join(', '))}) WHERE ${condition}`;
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

/** Refuses a path that the engine would read as a pattern for several paths. The engine has no way to escape characters. */
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
