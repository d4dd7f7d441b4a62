/**
 * The tables in a ClickHouse database, as statements by version. Written for servers from 18.16 on: no codecs, no
 * LowCardinality, no window functions.
 *
 * What must not come from a process that lost its lease goes through a fence: a table that keeps nothing and a materialized view
 * behind it, which lets rows with the token of the lease's holder pass and refuses the insert otherwise. Rows of the tail need
 * none: nobody sees them without their marker, and the same rows replace them.
 *
 * Rows become visible by a marker, in one insert: those of a range by a row of `sink_ranges`, those of a block of the tail by a
 * row of `sink_tail`, which collapses when the block is reverted.
 */

import { ENGINE_TYPES } from '../engine-types.ts';
import { QUESTION_VIEWS } from '../question-views.ts';
import { columnsOf, SINK_TABLE_NAMES, type SinkTable } from '../tables.ts';

/** Order of the rows of a table: by what its questions ask for. */
const ORDERS: Readonly<Record<SinkTable, string>> = {
  blocks: 'height',
  transactions: '(height, position)',
  balance_changes: '(address, height, position)',
  votes: '(delegate, height, position)',
  rounds: '(delegate, round)',
  signatures: '(height, position)',
};

/** Heights of a partition of the final tables: a hundred of them for a chain of a hundred million blocks. */
const PARTITION_HEIGHTS = 1_000_000;

export const TAIL_SUFFIX = '_tail';
export const FINAL_SUFFIX = '_final';
/** Of the table before another one that takes rows of the lease's holder alone. */
export const FENCED_SUFFIX = '_fenced';
/** Column of the token. */
export const LEASE_COLUMN = 'lease';

const RANGES = 'from_height UInt32, to_height UInt32, last_block_id UInt64, written DateTime';
const TAIL_MARKERS = 'height UInt32, block_id UInt64, sign Int8';

/** Tokens of leases that have not ended, one or none, as a SELECT. */
export function heldTokens(database: string): string {
  return `SELECT token FROM ${database}.sink_lease GROUP BY token HAVING argMax(expires, turn) > now()`;
}

/** The table of leases, which is there before all others. */
export function leaseTable(database: string): string {
  return (
    `CREATE TABLE IF NOT EXISTS ${database}.sink_lease (token String, owner String, turn UInt32, expires DateTime) ` +
    'ENGINE = ReplacingMergeTree(turn) ORDER BY token'
  );
}

/** Statements of each version of the schema, in their order; those of versions that are there are passed over. */
export function migrations(database: string, rangeBlocks: number): readonly (readonly string[])[] {
  return [
    [
      ...SINK_TABLE_NAMES.flatMap((table) => [
        `CREATE TABLE IF NOT EXISTS ${database}.${table}${FINAL_SUFFIX} (${columnList(table)}) ENGINE = MergeTree ` +
          `PARTITION BY intDiv(height, ${PARTITION_HEIGHTS}) ORDER BY ${ORDERS[table]}`,
        `CREATE TABLE IF NOT EXISTS ${database}.${table}${TAIL_SUFFIX} (block_id UInt64, ${columnList(table)}) ENGINE = ` +
          `ReplacingMergeTree PARTITION BY intDiv(height - 1, ${rangeBlocks}) ORDER BY (height, block_id, position)`.replace(
            '(height, block_id, position)',
            table === 'blocks' ? '(height, block_id)' : '(height, block_id, position)',
          ),
      ]),
      `CREATE TABLE IF NOT EXISTS ${database}.sink_ranges (${RANGES}) ENGINE = MergeTree ORDER BY to_height`,
      `CREATE TABLE IF NOT EXISTS ${database}.sink_tail (${TAIL_MARKERS}) ENGINE = ` +
        `CollapsingMergeTree(sign) PARTITION BY intDiv(height - 1, ${rangeBlocks}) ORDER BY (height, block_id)`,
      ...SINK_TABLE_NAMES.map((table) => viewOf(database, table)),
      ...Object.entries(QUESTION_VIEWS).map(
        ([name, select]) => `CREATE VIEW IF NOT EXISTS ${database}.${name} AS ${select(`${database}.`)}`,
      ),
    ],
    [
      ...SINK_TABLE_NAMES.flatMap((table) => fence(database, `${table}${FINAL_SUFFIX}`, columnList(table))),
      ...fence(database, 'sink_ranges', RANGES),
      ...fence(database, 'sink_tail', TAIL_MARKERS),
    ],
  ];
}

/** @param columns with their types */
function fence(database: string, table: string, columns: string): readonly string[] {
  const names = columns.split(', ').map((column) => column.split(' ')[0]);
  const from = `${database}.${table}${FENCED_SUFFIX}`;
  return [
    `CREATE TABLE IF NOT EXISTS ${from} (${LEASE_COLUMN} String, ${columns}) ENGINE = Null`,
    `CREATE MATERIALIZED VIEW IF NOT EXISTS ${database}.${table}_fence TO ${database}.${table} AS ` +
      `SELECT ${names.join(', ')} FROM ${from} WHERE throwIf(${LEASE_COLUMN} NOT IN (${heldTokens(database)})) = 0`,
  ];
}

function columnList(table: SinkTable): string {
  return columnsOf(table)
    .map(([name, type]) => `${name} ${ENGINE_TYPES[type]}`)
    .join(', ');
}

/** A table as readers see it: whole ranges, and above them the blocks of the tail that stand. */
function viewOf(database: string, table: SinkTable): string {
  const columns = columnsOf(table)
    .map(([name]) => name)
    .join(', ');
  const finalHeight = `(SELECT max(to_height) FROM ${database}.sink_ranges)`;
  const standing = `(SELECT block_id FROM ${database}.sink_tail GROUP BY height, block_id HAVING sum(sign) > 0)`;
  return (
    `CREATE VIEW IF NOT EXISTS ${database}.${table} AS ` +
    `SELECT ${columns} FROM ${database}.${table}${FINAL_SUFFIX} WHERE height <= ${finalHeight} UNION ALL ` +
    `SELECT ${columns} FROM ${database}.${table}${TAIL_SUFFIX} FINAL ` +
    `WHERE height > ${finalHeight} AND block_id IN ${standing}`
  );
}
