/** Creates the tables of a sink in a ClickHouse database, and migrates the tables of an older version of Bloomery. */

import { ProtocolError } from '../../primitives/errors.ts';
import { identityFault } from '../identity.ts';
import type { SinkIdentity } from '../sink.ts';
import { refuseOtherCluster, refuseRowsOfOtherServer, runOnCluster, shardsOf, tablesOnShards } from './cluster.ts';
import { escaped } from './lines.ts';
import { leaseTable, migrations, onCluster, SHARD_SUFFIX } from './schema.ts';
import type { ClickHouseServer } from './server.ts';

/**
 * Row of the table `sink`. The table has one row for each schema version that the tables have had. The sink stores the
 * row of version 0 before it runs the migrations.
 */
interface VersionRow {
  readonly version: number;
  readonly network: string;
  readonly generation: number;
  readonly genesis_block_id: string;
  readonly range_blocks: number;
}

export interface Migration {
  readonly server: ClickHouseServer;
  /** Name of the cluster over which the final tables (`schema.ts`) are spread; undefined for tables on one server. */
  readonly cluster: string | undefined;
  /** @throws ProtocolError `SINK_LEASE_LOST` */
  keepLease(): Promise<void>;
}

/** Creates the database, and the tables that must exist before the sink can take the lease. */
export async function createFirstTables(server: ClickHouseServer): Promise<void> {
  const { database } = server;
  await server.run(`CREATE DATABASE IF NOT EXISTS ${database}`);
  await server.run(
    `CREATE TABLE IF NOT EXISTS ${database}.sink (version UInt32, network String, generation UInt8, ` +
      'genesis_block_id UInt64, range_blocks UInt32) ENGINE = MergeTree ORDER BY version',
  );
  await server.run(leaseTable(database));
}

/**
 * Throws an error if the database has tables that this sink cannot use.
 *
 * @returns the version of the schema of the tables; undefined for a database without a sink
 * @throws ProtocolError the error of `identityFault` if the tables belong to another chain, or if the ranges of the
 *   tables have another size; `SINK_OF_OTHER_CLUSTER` if the final tables are not where `cluster` demands (on this
 *   cluster, or on one server if `cluster` is undefined); `SINK_VERSION` if a newer version of Bloomery created the
 *   tables
 */
export async function refuseOtherChain(
  server: ClickHouseServer,
  cluster: string | undefined,
  identity: SinkIdentity,
): Promise<number | undefined> {
  const { database } = server;
  const [found] = await server.rows<VersionRow>(
    'SELECT version, network, generation, toString(genesis_block_id) AS genesis_block_id, range_blocks ' +
      `FROM ${database}.sink ORDER BY version DESC LIMIT 1`,
  );
  const fault =
    found === undefined ? undefined : identityFault(`the database ${database}`, identityOf(found), identity);
  if (fault !== undefined) throw fault;
  await refuseOtherCluster(server, cluster);
  const known = migrationsOf(server, cluster, identity).length;
  if ((found?.version ?? 0) > known) throw tooNew(database, found?.version ?? 0, known);
  return found?.version;
}

/**
 * Runs all migrations that have not run on the tables of the sink yet. The caller must hold the lease.
 *
 * @throws ProtocolError the errors of `refuseOtherChain`; `SINK_OF_OTHER_SERVER`; `SINK_LEASE_LOST`; on a cluster, also
 *   the error of `runOnCluster`
 */
export async function migrate(migration: Migration, identity: SinkIdentity): Promise<void> {
  const { server, cluster } = migration;
  const before = await refuseOtherChain(server, cluster, identity);
  if (before === undefined) {
    if (cluster !== undefined) await refuseRowsOfOtherServer(server, cluster);
    // The partitions of the tables of the tail depend on the size of the ranges. The identity of the sink
    // (`SinkIdentity`) contains this size. The sink stores the identity before it creates the tables. If the process
    // crashes between these two steps, and the user then starts the sink with another size of ranges,
    // `refuseOtherChain` throws an error.
    await storeVersion(server, 0, identity);
  }
  const versions = migrationsOf(server, cluster, identity);
  if (cluster !== undefined) await createTablesOfNewShards(migration, cluster, versions.slice(0, before ?? 0));
  for (const [index, statements] of versions.entries()) {
    const version = index + 1;
    if (version <= (before ?? 0)) continue;
    for (const statement of statements) await run(migration, statement);
    await storeVersion(server, version, identity);
  }
}

/** Creates the tables on shards that were added to the cluster after the sink was created. */
async function createTablesOfNewShards(
  migration: Migration,
  cluster: string,
  versions: readonly (readonly string[])[],
): Promise<void> {
  const { server } = migration;
  const statements = versions.flat().filter((statement) => statement.includes(onCluster(cluster)));
  const tables = statements.filter((statement) => statement.startsWith('CREATE TABLE')).length;
  const stored = await tablesOnShards(server, cluster, `endsWith(name, '${SHARD_SUFFIX}')`);
  if (stored >= tables * (await shardsOf(server, cluster))) return;
  for (const statement of statements) await run(migration, statement);
}

async function run({ server, cluster, keepLease }: Migration, statement: string): Promise<void> {
  await keepLease();
  if (cluster === undefined) await server.run(statement);
  else await runOnCluster(server, cluster, statement);
}

async function storeVersion(server: ClickHouseServer, version: number, identity: SinkIdentity): Promise<void> {
  const { network, generation, genesisBlockId, rangeBlocks } = identity;
  const line = `${version}\t${escaped(network)}\t${generation}\t${genesisBlockId}\t${rangeBlocks}\n`;
  const columns = ['version', 'network', 'generation', 'genesis_block_id', 'range_blocks'];
  await server.insert('sink', columns, [line]);
}

function migrationsOf(
  { database }: ClickHouseServer,
  cluster: string | undefined,
  { rangeBlocks }: SinkIdentity,
): readonly (readonly string[])[] {
  return migrations({ database, rangeBlocks, cluster });
}

function identityOf(row: VersionRow): SinkIdentity {
  return {
    network: row.network,
    generation: row.generation,
    genesisBlockId: row.genesis_block_id,
    rangeBlocks: row.range_blocks,
  };
}

function tooNew(database: string, version: number, known: number): ProtocolError {
  const message = `the tables in ${database} have version ${version}, this program knows ${known}: use a newer one`;
  return new ProtocolError('SINK_VERSION', { database, version }, message);
}
