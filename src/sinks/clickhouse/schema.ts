/**
 * Contains the statements that create the tables in a ClickHouse database, for each version of the schema. The
 * statements work with ClickHouse 18.16 and all later versions. They therefore use no codecs, no LowCardinality and no
 * window functions.
 *
 * `../sink.ts` defines the ranges and the tail of a sink. Rows are invisible to readers until the sink inserts their
 * marker. The marker of a range is a row of `sink_ranges`. The marker of a block in the tail is a row of `sink_tail`
 * with the sign 1. If the node reverts the block, the sink inserts a second row with the sign -1. All other values of
 * the two rows are the same.
 *
 * The final tables, such as `blocks_final`, contain the rows of the blocks in ranges. The table with the daily sums of
 * balance changes (`balance_changes_per_day_final`) is also created like a final table. A process that lost the lease
 * of the sink must not write markers. If the final tables are on one server, such a process must not write to the final
 * tables either. Otherwise, readers could see rows of this process in addition to the rows of the new holder of the
 * lease. Therefore the sink inserts markers through a fence. On one server, the sink also inserts the rows of the final
 * tables through a fence.
 *
 * A fence is a table that stores nothing. A materialized view copies the rows that a process inserts into the fence to
 * the table behind the fence. Each row that a process inserts into a fence contains the token of this process. The view
 * accepts the row if the lease of the token has not ended. If the lease has ended, the server refuses the insert. Rows
 * of the tail need no fence, for two reasons. First, rows of the tail are invisible without their marker. Second, if
 * the next process inserts the same block again, the new rows replace the earlier rows.
 *
 * On a cluster, the final tables are spread over the shards by ranges of heights. The rows of a range contain the id of
 * the attempt to write the range, and the marker names the valid attempt. If a process inserts rows after it has lost
 * its lease, these rows therefore stay invisible. For this reason, the rows of ranges on a cluster need no fence. The
 * table `balance_changes_per_day_final` contains the sums of the balance changes for each day and address. The rows of
 * this table contain the id of the attempt to write these rows, both on one server and on a cluster. These rows
 * therefore need no fence. However, the markers of these rows need a fence.
 */

import { ENGINE_TYPES } from '../engine-types.ts';
import { changesPerDay, QUESTION_VIEWS } from '../question-views.ts';
import { columnsOf, SINK_TABLE_NAMES, type SinkTable } from '../tables.ts';

/**
 * Sort order of each final table (a table with the rows of complete ranges). The order makes the usual queries of the
 * table fast.
 */
const ORDERS: Readonly<Record<SinkTable, string>> = {
  blocks: 'height',
  transactions: '(height, position)',
  balance_changes: '(address, height, position)',
  votes: '(delegate, height, position)',
  rounds: '(delegate, round)',
  signatures: '(height, position)',
};

/**
 * Number of heights in a partition of the final tables. With a chain of a hundred million blocks, each of these tables
 * has about a hundred partitions.
 */
const PARTITION_HEIGHTS = 1_000_000;

export const TAIL_SUFFIX = '_tail';
export const FINAL_SUFFIX = '_final';
/** The name of a fence is the name of the table behind the fence, followed by this suffix. */
export const FENCED_SUFFIX = '_fenced';
/**
 * Name of a column that each fence has. A fence is a table through which the sink inserts rows into another table. If
 * the inserting process does not hold the lease of the sink, the server refuses the insert. The column contains the
 * token of this process.
 */
export const LEASE_COLUMN = 'lease';

/** Suffix of the names of the tables on a shard of a cluster. Each table stores the shard's part of a final table. */
export const SHARD_SUFFIX = '_shard';
/**
 * Name of the column with the id of an attempt. In one attempt, the sink tries to write either a range, or the sums of
 * the balance changes for each day and address. The tables `DAYS_TABLE`, `DAY_MARKERS` and `ATTEMPTS` always have this
 * column. `sink_ranges` and the final tables with the rows of ranges have this column only on a cluster.
 */
export const RANGE_ID_COLUMN = 'range_id';

const RANGES = 'from_height UInt32, to_height UInt32, last_block_id UInt64, written DateTime';
const TAIL_MARKERS = 'height UInt32, block_id UInt64, sign Int8';

/** Name of the view with the sum of the balance changes for each day and address. */
const DAYS_VIEW = 'balance_changes_per_day';
/**
 * Name of the table with the sums of the days whose blocks are all in complete ranges. The view `DAYS_VIEW` reads these
 * sums.
 */
export const DAYS_TABLE = `${DAYS_VIEW}${FINAL_SUFFIX}`;
/** Name of the table on each shard of a cluster that stores the shard's part of `DAYS_TABLE`. */
export const DAYS_SHARD = `${DAYS_VIEW}${SHARD_SUFFIX}`;
const DAY_COLUMNS = `${RANGE_ID_COLUMN} UInt64, to_height UInt32, day Date, address String, amount Int64, transfers UInt64`;
/**
 * Name of the table with the markers of the sums in `DAYS_TABLE`. A marker has the id of an attempt, and makes the sums
 * of this attempt visible.
 */
export const DAY_MARKERS = 'sink_days';
/**
 * Name of the table with the attempts to write rows of `DAYS_TABLE`. On a cluster, this table contains the attempts to
 * write ranges, too. The sink inserts the id of an attempt before the rows of the attempt. With the stored ids, the
 * sink can later remove the rows of its own failed attempts without removing other rows. For an attempt to write a
 * range, the column `changes` contains the number of balance changes in the range. For an attempt to write sums, this
 * column contains 0.
 */
export const ATTEMPTS = 'sink_attempts';
const ATTEMPT_COLUMNS = `${RANGE_ID_COLUMN} UInt64, changes UInt64`;
const DAY_MARKER_COLUMNS = `to_height UInt32, ${RANGE_ID_COLUMN} UInt64`;

/** The database and the cluster of a sink's tables, and the size of the sink's ranges. */
export interface TablesPlace {
  readonly database: string;
  readonly rangeBlocks: number;
  /**
   * Cluster over whose shards the final tables (the tables with the rows of complete ranges) are spread; undefined for
   * tables on one server.
   */
  readonly cluster: string | undefined;
}

/** Returns the SELECT of the tokens whose leases have not ended, by the clock of the server. */
export function heldTokens(database: string): string {
  return `SELECT token FROM ${database}.sink_lease GROUP BY token HAVING argMax(expires, turn) > now()`;
}

/**
 * Statement that creates the table of leases. The migrations do not contain this statement: a process must hold a lease
 * before it runs the migrations, so the table of leases must exist before the migrations run.
 */
export function leaseTable(database: string): string {
  return (
    `CREATE TABLE IF NOT EXISTS ${database}.sink_lease (token String, owner String, turn UInt32, expires DateTime) ` +
    'ENGINE = ReplacingMergeTree(turn) ORDER BY token'
  );
}

/**
 * Statements of each version of the schema, in order; the first element has the statements of version 1. The caller
 * skips the versions that the database already has. After a crash in the middle of a version, the caller runs all
 * statements of this version again, so each statement must be repeatable.
 */
export function migrations({ database, rangeBlocks, cluster }: TablesPlace): readonly (readonly string[])[] {
  const ranges = cluster === undefined ? RANGES : `${RANGES}, ${RANGE_ID_COLUMN} UInt64`;
  return [
    [
      ...(cluster === undefined ? [] : [`CREATE DATABASE IF NOT EXISTS ${database}${onCluster(cluster)}`]),
      ...SINK_TABLE_NAMES.flatMap((table) => [
        ...finalTable({ database, rangeBlocks, cluster }, table),
        `CREATE TABLE IF NOT EXISTS ${database}.${table}${TAIL_SUFFIX} (block_id UInt64, ${columnList(table)}) ENGINE = ` +
          `ReplacingMergeTree PARTITION BY intDiv(height - 1, ${rangeBlocks}) ORDER BY (height, block_id, position)`.replace(
            '(height, block_id, position)',
            table === 'blocks' ? '(height, block_id)' : '(height, block_id, position)',
          ),
      ]),
      `CREATE TABLE IF NOT EXISTS ${database}.sink_ranges (${ranges}) ENGINE = MergeTree ORDER BY to_height`,
      `CREATE TABLE IF NOT EXISTS ${database}.sink_tail (${TAIL_MARKERS}) ENGINE = ` +
        `CollapsingMergeTree(sign) PARTITION BY intDiv(height - 1, ${rangeBlocks}) ORDER BY (height, block_id)`,
    ],
    [
      ...SINK_TABLE_NAMES.flatMap((table) =>
        cluster === undefined ? fence(database, `${table}${FINAL_SUFFIX}`, columnList(table)) : [],
      ),
      ...fence(database, 'sink_ranges', ranges),
      ...fence(database, 'sink_tail', TAIL_MARKERS),
    ],
    [
      ...dayTables({ database, rangeBlocks, cluster }),
      // These statements replace the views that earlier versions of Bloomery created. In those views, a day began at
      // midnight in the time zone of the server. In addition, on a cluster, a query of those views could count the rows
      // of a range twice: once from the final tables, and once from the tail. This could happen if the query began just
      // before the sink inserted the marker of the range (the row of `sink_ranges` that makes the rows of the range
      // visible).
      ...SINK_TABLE_NAMES.flatMap((table) => [dropView(database, table), viewOf(database, table, cluster)]),
      ...Object.entries(QUESTION_VIEWS).flatMap(([name, select]) => [
        dropView(database, name),
        `CREATE VIEW IF NOT EXISTS ${database}.${name} AS ${select(`${database}.`)}`,
      ]),
    ],
    [
      `CREATE TABLE IF NOT EXISTS ${database}.${ATTEMPTS} (${ATTEMPT_COLUMNS}) ENGINE = MergeTree ORDER BY ${RANGE_ID_COLUMN}`,
    ],
  ];
}

function dropView(database: string, name: string): string {
  return `DROP TABLE IF EXISTS ${database}.${name}`;
}

/** Clause that makes all servers of a cluster run a statement. */
export function onCluster(cluster: string): string {
  return ` ON CLUSTER '${cluster}'`;
}

function finalTable(place: TablesPlace, table: SinkTable): readonly string[] {
  const { rangeBlocks, cluster } = place;
  return spreadTable(place, {
    name: table,
    columns: `${cluster === undefined ? '' : `${RANGE_ID_COLUMN} UInt64, `}${columnList(table)}`,
    order: `PARTITION BY intDiv(height, ${PARTITION_HEIGHTS}) ORDER BY ${ORDERS[table]}`,
    shard: `intDiv(height - 1, ${rangeBlocks})`,
  });
}

interface SpreadTable {
  /** Name of the table without the suffix `_final` or `_shard`. */
  readonly name: string;
  /** Names of the columns with their types. */
  readonly columns: string;
  /** SQL clauses for the partition and the sort order. */
  readonly order: string;
  /** SQL expression that chooses the shard of a row. */
  readonly shard: string;
}

/**
 * Statements that create a final table, or the table with the daily sums. If the sink is on a single server, the
 * statements create one table. On a cluster, each shard gets a replicated table. The server to which the sink connects
 * also gets a Distributed table, which reads and writes the tables of all shards.
 */
function spreadTable(
  { database, cluster }: TablesPlace,
  { name, columns, order, shard }: SpreadTable,
): readonly string[] {
  const table = `${database}.${name}${FINAL_SUFFIX}`;
  if (cluster === undefined) return [`CREATE TABLE IF NOT EXISTS ${table} (${columns}) ENGINE = MergeTree ${order}`];
  const part = `${name}${SHARD_SUFFIX}`;
  return [
    `CREATE TABLE IF NOT EXISTS ${database}.${part}${onCluster(cluster)} (${columns}) ENGINE = ` +
      `ReplicatedMergeTree('/clickhouse/tables/{shard}/${database}/${part}', '{replica}') ${order}`,
    `CREATE TABLE IF NOT EXISTS ${table} (${columns}) ENGINE = Distributed('${cluster}', ${database}, ${part}, ${shard})`,
  ];
}

/**
 * Statements that create the tables and the view of the sums of balance changes for each day and address. Each stored
 * sum contains the id of the attempt that wrote it. The view shows the sum if the attempt has a marker. The blocks
 * above the highest `to_height` of all day markers have no stored sums yet. For these blocks, the view computes the
 * sums from the balance changes.
 */
function dayTables(place: TablesPlace): readonly string[] {
  const { database, cluster } = place;
  const markers = `${database}.${DAY_MARKERS}`;
  const marked = `(SELECT max(to_height) FROM ${markers})`;
  const rest = visibleRows(
    database,
    'balance_changes',
    cluster,
    ['time', 'address', 'amount', 'cause'],
    ` AND height > ${marked}`,
  );
  return [
    ...spreadTable(place, {
      name: DAYS_VIEW,
      columns: DAY_COLUMNS,
      order: 'PARTITION BY toYear(day) ORDER BY (address, day)',
      shard: 'cityHash64(address)',
    }),
    `CREATE TABLE IF NOT EXISTS ${markers} (${DAY_MARKER_COLUMNS}) ENGINE = MergeTree ORDER BY to_height`,
    ...fence(database, DAY_MARKERS, DAY_MARKER_COLUMNS),
    `CREATE VIEW IF NOT EXISTS ${database}.${DAYS_VIEW} AS SELECT day, address, amount, transfers FROM ${database}.${DAYS_TABLE} ` +
      `WHERE to_height <= ${marked} AND ${RANGE_ID_COLUMN} ${global(cluster)}IN (SELECT ${RANGE_ID_COLUMN} FROM ${markers}) ` +
      `UNION ALL ${changesPerDay(`(${rest})`)}`,
  ];
}

/**
 * Statements that create the fence of a table.
 *
 * @param columns names of the columns of the table with their types
 */
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

/**
 * Statement that creates the view of a table for readers. The view shows the rows of complete ranges and, above the
 * ranges, the rows of the blocks in the tail that were not reverted.
 */
function viewOf(database: string, table: SinkTable, cluster: string | undefined): string {
  const columns = columnsOf(table).map(([name]) => name);
  return `CREATE VIEW IF NOT EXISTS ${database}.${table} AS ${visibleRows(database, table, cluster, columns, '')}`;
}

/**
 * Returns the SELECT of the rows of a table that are visible to readers.
 *
 * @param condition SQL text of an extra condition on the rows, with ` AND ` at the beginning; empty for all rows
 */
function visibleRows(
  database: string,
  table: SinkTable,
  cluster: string | undefined,
  columns: readonly string[],
  condition: string,
): string {
  const names = columns.join(', ');
  const finalHeight = `(SELECT max(to_height) FROM ${database}.sink_ranges)`;
  const standing = `(SELECT block_id FROM ${database}.sink_tail GROUP BY height, block_id HAVING sum(sign) > 0)`;
  return (
    `SELECT ${names} FROM ${database}.${table}${FINAL_SUFFIX} WHERE height <= ${finalHeight}${markedRanges(database, cluster)}${condition} ` +
    `UNION ALL SELECT ${names} FROM ${database}.${table}${TAIL_SUFFIX} FINAL ` +
    `WHERE height > ${finalHeight} AND block_id IN ${standing}${condition}`
  );
}

/**
 * SQL condition for the rows whose attempt has a marker in `sink_ranges`. On a cluster, the text begins with ` AND `.
 * For tables on one server, the text is empty, because the rows of ranges in such tables have no id of an attempt.
 */
export function markedRanges(database: string, cluster: string | undefined): string {
  return cluster === undefined
    ? ''
    : ` AND ${RANGE_ID_COLUMN} ${global(cluster)}IN (SELECT ${RANGE_ID_COLUMN} FROM ${database}.sink_ranges)`;
}

/**
 * On a cluster, only the server to which the sink connects has markers. With `GLOBAL`, this server sends the ids in the
 * markers to the shards.
 */
function global(cluster: string | undefined): string {
  return cluster === undefined ? '' : 'GLOBAL ';
}
