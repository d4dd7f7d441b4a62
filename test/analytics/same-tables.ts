/** Compares the rows in the tables of a sink with the rows that the blocks of a chain must produce. */

import type { Rules } from '../../src/protocol/rules.ts';
import type { Block } from '../../src/protocol/types.ts';
import { RowMaker } from '../../src/sinks/row-maker.ts';
import { columnsOf, joinedRows, SINK_TABLE_NAMES, type Rows, type SinkTable, valueIn } from '../../src/sinks/tables.ts';
import type { Engine } from './engines.ts';

/** A text about a table names at most this many surplus rows, and at most this many missing rows. */
const ROWS_NAMED = 3;

/**
 * @returns a text for each table whose rows differ from the rows of `blocks`, and a text if the view
 *   `balance_changes_per_day` differs
 */
export async function sameTables(engine: Engine, rules: Rules, blocks: readonly Block[]): Promise<readonly string[]> {
  const maker = new RowMaker(rules);
  const expected: Rows = joinedRows(blocks.map((block) => maker.rowsOf(block)));
  const asked = await engine.ask();
  const differences: string[] = [];
  for (const table of SINK_TABLE_NAMES) {
    const columns = columnsOf(table).map(([name, type]) => (type === 'time' ? `toUInt32(${name}) AS ${name}` : name));
    const rows = await asked.rows(`SELECT ${columns.join(', ')} FROM ${table}`);
    const [found, wanted] = [rows, expected[table]].map((list) => list.map((row) => lineOf(table, row)).sort());
    if (found === undefined || wanted === undefined || found.join('\n') === wanted.join('\n')) continue;
    const surplus = found.filter((line) => !wanted.includes(line)).slice(0, ROWS_NAMED);
    const missing = wanted.filter((line) => !found.includes(line)).slice(0, ROWS_NAMED);
    differences.push(
      `${table} has ${found.length} rows instead of ${wanted.length}; too much: ${surplus.join(' / ')}; missing: ${missing.join(' / ')}`,
    );
  }
  const sums = await asked.rows('SELECT toString(day) AS day, address, amount, transfers FROM balance_changes_per_day');
  const [found, wanted] = [sums.map((row) => Object.values(row).join('|')), daySums(expected)].map((lines) =>
    lines.toSorted(),
  );
  if (found?.join('\n') !== wanted?.join('\n'))
    differences.push(`balance_changes_per_day has ${found?.join(' / ')} instead of ${wanted?.join(' / ')}`);
  await asked.close();
  return differences;
}

/** Returns the rows that the view `balance_changes_per_day` must have, as text. */
function daySums({ balance_changes: changes }: Rows): readonly string[] {
  const sums = new Map<string, { amount: bigint; transfers: number }>();
  for (const { time, address, amount, cause } of changes) {
    const key = `${new Date(time * 1000).toISOString().slice(0, 10)}|${address}`;
    const sum = sums.get(key) ?? { amount: 0n, transfers: 0 };
    sums.set(key, { amount: sum.amount + amount, transfers: sum.transfers + (cause === 'transfer' ? 1 : 0) });
  }
  return Array.from(sums, ([key, { amount, transfers }]) => `${key}|${amount}|${transfers}`);
}

function lineOf(table: SinkTable, row: object): string {
  return columnsOf(table)
    .map(([name]) => String(valueIn(row, name)))
    .join('|');
}
