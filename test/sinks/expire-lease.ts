/**
 * Lets the lease on a ClickHouse database expire now. Without this function, the lease of a killed process would expire
 * only after 30 s. Does nothing if the database has no table of leases yet.
 */

import { openServer } from '../../src/sinks/clickhouse/server.ts';
import { systemClock } from '../../src/node/system.ts';

export async function expireLease(url: string, database: string): Promise<void> {
  const server = openServer(url, database, systemClock);
  const made = await server.rows(
    `SELECT name FROM system.tables WHERE database = '${database}' AND name = 'sink_lease'`,
  );
  if (made.length > 0) {
    await server.run(
      `INSERT INTO ${database}.sink_lease SELECT token, any(owner), max(turn) + 1, now() FROM ${database}.sink_lease ` +
        'GROUP BY token HAVING argMax(expires, turn) > now()',
    );
  }
  await server.close();
}
