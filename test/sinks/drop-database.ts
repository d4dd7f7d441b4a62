/**
 * Drops the ClickHouse database of a sink. If a cluster is given, drops the database on all servers of the cluster.
 */

import { systemClock } from '../../src/node/system.ts';
import { openServer } from '../../src/sinks/clickhouse/server.ts';

export async function dropDatabase(url: string, database: string, cluster: string | undefined): Promise<void> {
  const server = openServer(url, database, systemClock);
  const everywhere = cluster === undefined ? '' : ` ON CLUSTER '${cluster}'`;
  await server.run(`DROP DATABASE IF EXISTS ${database}${everywhere}`);
  await server.close();
}
