/**
 * Checks the final tables of a sink on a cluster, and removes the rows of failed attempts to write a range. `schema.ts`
 * explains the final tables and the markers. All rows of a range are on one shard. The rows contain the id of the
 * attempt to write the range, and each attempt has a new id. Readers see only rows whose id is in a marker. Therefore
 * two kinds of rows stay invisible forever: the rows of a failed attempt, and the rows that a process inserts after it
 * has lost the lease (`lease.ts`). The sink can remove such rows at any time.
 */

import { sha256 } from '../../crypto/hash.ts';
import { messageOf, ProtocolError } from '../../primitives/errors.ts';
import { SINK_TABLE_NAMES } from '../tables.ts';
import { ATTEMPTS, DAY_MARKERS, FINAL_SUFFIX, onCluster, RANGE_ID_COLUMN, SHARD_SUFFIX } from './schema.ts';
import type { ClickHouseServer } from './server.ts';

const NAME = /^[A-Za-z0-9_.-]{1,100}$/;

/**
 * Checks the name of a cluster, because the sink puts the name into SQL statements.
 *
 * @throws ProtocolError `USAGE` if the name is empty, has more than 100 characters, or contains a character other than
 *   letters, digits, `_`, `-` and `.`
 */
export function checkClusterName(cluster: string): void {
  if (NAME.test(cluster)) return;
  throw new ProtocolError(
    'USAGE',
    { cluster },
    `\`${cluster}\` is no name of a cluster: use letters, digits, _, - and .`,
  );
}

/**
 * Checks that the configuration of the server and the shards allows replicated tables.
 *
 * @throws ProtocolError `CLICKHOUSE_CLUSTER_UNFIT`; the message names the setting that is missing or wrong
 */
export async function checkCluster(server: ClickHouseServer, cluster: string): Promise<void> {
  const known = await server.rows<{ readonly cluster: string; readonly shard_num: number }>(
    'SELECT DISTINCT cluster, shard_num FROM system.clusters',
  );
  const shards = known.filter((row) => row.cluster === cluster).length;
  if (shards === 0) {
    const names = [...new Set(known.map((row) => row.cluster))].join(', ') || 'none';
    throw unfit(cluster, '<remote_servers>', `the server knows no cluster of this name (it knows: ${names})`);
  }
  const [keepers] = await server.rows<{ readonly count: string }>(
    `SELECT count() AS count FROM cluster('${cluster}', system.tables) WHERE database = 'system' AND name = 'zookeeper'`,
  );
  if (Number(keepers?.count ?? 0) < shards)
    throw unfit(cluster, '<zookeeper>', `${keepers?.count ?? 0} of ${shards} shards know a ZooKeeper`);
  const macros = await server.rows<{ readonly macro: string; readonly servers: string; readonly names: string }>(
    `SELECT macro, count() AS servers, uniqExact(substitution) AS names FROM cluster('${cluster}', system.macros) GROUP BY macro`,
  );
  const [shard, replica] = ['shard', 'replica'].map((name) => macros.find(({ macro }) => macro === name));
  if (Number(shard?.names ?? 0) < shards) {
    throw unfit(
      cluster,
      '<macros>',
      `the ${shards} shards have ${shard?.names ?? 0} different values of the macro shard`,
    );
  }
  if (Number(replica?.servers ?? 0) < shards)
    throw unfit(cluster, '<macros>', `the macro replica is set on ${replica?.servers ?? 0} of ${shards} shards`);
}

/**
 * Runs a statement on the given server. A statement with the clause ON CLUSTER also runs on all other servers of the
 * cluster.
 *
 * @throws ProtocolError `CLICKHOUSE_CLUSTER_UNFIT` when the server is not configured for statements ON CLUSTER
 */
export function runOnCluster(server: ClickHouseServer, cluster: string, statement: string): Promise<void> {
  return explained(server.run(statement), cluster);
}

async function explained(statement: Promise<void>, cluster: string): Promise<void> {
  try {
    await statement;
  } catch (error) {
    if (!/DistributedDDL|DDL background/i.test(messageOf(error))) throw error;
    throw unfit(cluster, '<distributed_ddl>', 'the server cannot run statements ON CLUSTER', error);
  }
}

/**
 * @returns 'none' if the database has no final tables (tables with the rows of complete ranges) yet. Otherwise, the
 *   member `cluster` names the cluster over which the final tables are spread, and is undefined if the final tables are
 *   on one server
 */
async function madeCluster(server: ClickHouseServer): Promise<{ readonly cluster: string | undefined } | 'none'> {
  const [made] = await server.rows<{ readonly engine_full: string }>(
    `SELECT engine_full FROM system.tables WHERE database = '${server.database}' AND name = 'blocks${FINAL_SUFFIX}'`,
  );
  if (made === undefined) return 'none';
  return { cluster: /^Distributed\('?([^',]+)'?,/.exec(made.engine_full)?.[1] };
}

/**
 * @param cluster cluster that the user named; undefined if the user wants the tables on one server
 * @throws ProtocolError `SINK_OF_OTHER_CLUSTER` if the final tables (the tables with the rows of complete ranges) exist
 *   and are not where `cluster` demands (on this cluster, or on one server if `cluster` is undefined)
 */
export async function refuseOtherCluster(server: ClickHouseServer, cluster: string | undefined): Promise<void> {
  const made = await madeCluster(server);
  if (made === 'none' || made.cluster === cluster) return;
  const { database } = server;
  const [is, needs] = [made.cluster, cluster].map((name) =>
    name === undefined ? 'on one server' : `on cluster ${name}`,
  );
  throw new ProtocolError(
    'SINK_OF_OTHER_CLUSTER',
    { database, made: made.cluster, wanted: cluster },
    `the tables in ${database} are ${is}, and not ${needs}: ` +
      `${made.cluster === undefined ? 'leave out --cluster' : `give --cluster ${made.cluster}`}, or name another database`,
  );
}

/**
 * Refuses to create a sink if the shards have tables of a sink that was created through another server. The reason: the
 * rows of a sink are on all shards, but the markers are only on the server through which the sink was created. A
 * process that uses another server would therefore find the rows without their markers. If tables exist, the function
 * accepts them only if each shard has an empty table of blocks.
 *
 * @throws ProtocolError `SINK_OF_OTHER_SERVER`
 */
export async function refuseRowsOfOtherServer(server: ClickHouseServer, cluster: string): Promise<void> {
  const { database } = server;
  const part = `blocks${SHARD_SUFFIX}`;
  const shards = await shardsOf(server, cluster);
  const having = await tablesOnShards(server, cluster, `name = '${part}'`);
  if (having === 0) return;
  // If only some shards have the table of blocks (`part`), these tables belong to a sink that was created through
  // another server. The remaining shards can lack the table for two reasons: the other server has not finished creating
  // the tables, or the remaining shards were added to the cluster later.
  const isEmpty =
    having === shards &&
    (await server.rows(`SELECT height FROM cluster('${cluster}', ${database}, ${part}) LIMIT 1`)).length === 0;
  if (isEmpty) return;
  throw new ProtocolError(
    'SINK_OF_OTHER_SERVER',
    { database, cluster },
    `the sink in ${database} on cluster ${cluster} was begun through another server, which has its markers: ` +
      'give the URL of that server, name another database, or drop the old one with DROP DATABASE … ON CLUSTER',
  );
}

/**
 * Counts the tables of the sink's database on all shards together. The query reads one replica of each shard.
 *
 * @param condition SQL condition on the columns of `system.tables`
 */
export async function tablesOnShards(server: ClickHouseServer, cluster: string, condition: string): Promise<number> {
  const [found] = await server.rows<{ readonly count: string }>(
    `SELECT count() AS count FROM cluster('${cluster}', system.tables) WHERE database = '${server.database}' AND ${condition}`,
  );
  return Number(found?.count ?? 0);
}

export async function shardsOf(server: ClickHouseServer, cluster: string): Promise<number> {
  const [found] = await server.rows<{ readonly shards: string }>(
    `SELECT uniqExact(shard_num) AS shards FROM system.clusters WHERE cluster = '${cluster}'`,
  );
  return Number(found?.shards ?? 0);
}

/**
 * Returns the ids of those attempts in the table `ATTEMPTS` of this sink that have no marker. Call this function before
 * this process begins its first attempt. At this time, if this process holds the lease, each attempt without a marker
 * is a failed attempt of an earlier process.
 *
 * @param cluster name of the cluster; undefined for tables on one server, where the markers of ranges contain no ids
 */
export async function unmarkedAttempts(
  server: ClickHouseServer,
  cluster: string | undefined,
): Promise<readonly string[]> {
  const { database } = server;
  const markers = [DAY_MARKERS, ...(cluster === undefined ? [] : ['sink_ranges'])];
  const unmarked = markers.map(
    (table) => `${RANGE_ID_COLUMN} NOT IN (SELECT ${RANGE_ID_COLUMN} FROM ${database}.${table})`,
  );
  const rows = await server.rows<{ readonly id: string }>(
    `SELECT DISTINCT toString(${RANGE_ID_COLUMN}) AS id FROM ${database}.${ATTEMPTS} WHERE ${unmarked.join(' AND ')}`,
  );
  return rows.map(({ id }) => id);
}

/**
 * Returns the id of an attempt to write a range, or of an attempt to write sums of whole days (`day-sums.ts`). The id
 * is an unsigned 64-bit integer in decimal form. The function takes the id from a SHA-256 hash of `token` and `number`.
 * Two attempts differ in `token` or in `number`, so it is practically impossible that they have the same id.
 *
 * @param token token of the process that holds the lease
 * @param number number that the caller gives to this attempt; no other attempt of this process has the same number
 */
export function rangeIdOf(token: string, number: number): string {
  return sha256(Buffer.from(`${token} ${number}`))
    .readBigUInt64LE()
    .toString();
}

/**
 * Removes the rows of attempts that have no marker. The function returns before the shards have removed the rows. If a
 * shard is down, the shard removes its part of these rows when it runs again.
 *
 * @param finalHeight last height of the ranges with a marker; the function considers only attempts that have rows above
 *   this height
 * @param proveLease function that throws an error if this process has not held the lease without interruption since it
 *   took the lease
 */
export async function dropUnmarkedOnCluster(
  server: ClickHouseServer,
  cluster: string,
  finalHeight: number,
  proveLease: () => Promise<void>,
): Promise<void> {
  const { database } = server;
  const ids = await unmarkedAttempts(server, cluster);
  if (ids.length === 0) return;
  const ofAttempts = `${RANGE_ID_COLUMN} IN (${ids.join(', ')})`;
  for (const table of SINK_TABLE_NAMES) {
    const stored = await server.rows(
      `SELECT height FROM ${database}.${table}${FINAL_SUFFIX} WHERE height > ${finalHeight} AND ${ofAttempts} LIMIT 1`,
    );
    if (stored.length === 0) continue;
    // Without this check, the statement could remove valid rows. If this process had lost the lease before it read the
    // ids, one of the ids could belong to an attempt of the next holder.
    await proveLease();
    const removal = `ALTER TABLE ${database}.${table}${SHARD_SUFFIX}${onCluster(cluster)} DELETE WHERE ${ofAttempts}`;
    await explained(server.change(removal, { isQueued: true }), cluster);
  }
}

/**
 * Compares the number of rows that queries find now with the number of rows that the sink has written. If a replica was
 * down during an insert, this replica lacks the inserted rows until it has fetched them from another replica. Until
 * then, a query that reads this replica returns too few rows, but no error.
 *
 * @param height the function counts only the rows of ranges that end above this height
 * @returns true if queries find as many blocks and balance changes of these ranges as the sink has written
 */
export async function hasRowsAbove(server: ClickHouseServer, height: number): Promise<boolean> {
  const { database } = server;
  const ranges = `${database}.sink_ranges WHERE to_height > ${height}`;
  const attempts = `${database}.${ATTEMPTS} WHERE ${RANGE_ID_COLUMN} IN (SELECT ${RANGE_ID_COLUMN} FROM ${ranges})`;
  const [marked] = await server.rows<{ readonly first: number; readonly blocks: string }>(
    `SELECT min(from_height) AS first, sum(to_height + 1 - from_height) AS blocks FROM ${ranges}`,
  );
  const [noted] = await server.rows<{ readonly changes: string }>(`SELECT sum(changes) AS changes FROM ${attempts}`);
  const stored = async (table: string, ids: string): Promise<string | undefined> => {
    const [found] = await server.rows<{ readonly count: string }>(
      `SELECT count() AS count FROM ${database}.${table}${FINAL_SUFFIX} ` +
        `WHERE height >= ${marked?.first ?? 0} AND ${RANGE_ID_COLUMN} GLOBAL IN (SELECT ${RANGE_ID_COLUMN} FROM ${ids})`,
    );
    return found?.count;
  };
  // Earlier versions of the sink had no table of attempts. If an earlier version wrote a range, the number of balance
  // changes in this range is unknown. For such a range, this code compares only the number of blocks.
  return (
    (await stored('blocks', ranges)) === marked?.blocks &&
    (await stored('balance_changes', attempts)) === noted?.changes
  );
}

export function replicaBehind(cluster: string): ProtocolError {
  return new ProtocolError(
    'CLICKHOUSE_REPLICA_BEHIND',
    { cluster },
    `a replica of cluster ${cluster} still lacks rows of written ranges: look at its replication in ` +
      'system.replicas, and start the command again when it has caught up',
  );
}

function unfit(cluster: string, setting: string, fault: string, cause?: unknown): ProtocolError {
  return new ProtocolError(
    'CLICKHOUSE_CLUSTER_UNFIT',
    { cluster, setting },
    `cluster ${cluster} cannot hold the tables: ${fault}; see ${setting} in the configuration of the servers`,
    { cause },
  );
}
