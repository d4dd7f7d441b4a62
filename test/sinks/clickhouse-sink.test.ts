/**
 * Tests the ClickHouse sink. The tests use the ClickHouse server whose URL is in the environment variable
 * `BLOOMERY_TEST_CLICKHOUSE_URL`. Without the variable, the tests do not run. `npm run analytics` starts a server and
 * sets the variable.
 */

import { systemClock } from '../../src/node/system.ts';
import test from 'ava';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { ClickHouseSink } from '../../src/sinks/clickhouse/clickhouse-sink.ts';
import { openServer } from '../../src/sinks/clickhouse/server.ts';
import { codeOf } from '../../src/primitives/errors.ts';
import { columnsOf, joinedRows, SINK_TABLE_NAMES, type Rows } from '../../src/sinks/tables.ts';
import {
  blocksOf,
  crashContract,
  IDENTITY,
  pausedContract,
  putRange,
  sinkContract,
  type SinkSite,
} from './contract.ts';
import { dropDatabase } from './drop-database.ts';
import { expireLease } from './expire-lease.ts';

const url = process.env['BLOOMERY_TEST_CLICKHOUSE_URL'];
/** Name of a cluster in the server's configuration. Without a name, the tests on a cluster do not run. */
const clusterName = process.env['BLOOMERY_TEST_CLICKHOUSE_CLUSTER'];

async function rowsIn(database: string): Promise<Rows> {
  const server = openServer(url ?? '', database, systemClock);
  const tables = SINK_TABLE_NAMES.map(async (table) => {
    const columns = columnsOf(table);
    const selected = columns.map(([name, type]) => (type === 'time' ? `toUInt32(${name}) AS ${name}` : name));
    const rows = await server.rows<Record<string, string | number>>(
      `SELECT ${selected.join(', ')} FROM ${database}.${table}`,
    );
    const asWritten = (row: Record<string, string | number>) =>
      Object.fromEntries(
        columns.map(([name, type]) => [name, type === 'u64' || type === 'i64' ? BigInt(row[name] ?? 0) : row[name]]),
      );
    return [table, rows.map(asWritten)] as const;
  });
  const rows = Object.fromEntries(await Promise.all(tables)) as unknown as Rows;
  await server.close();
  return joinedRows([rows]);
}

let databases = 0;

if (url === undefined) {
  test('without BLOOMERY_TEST_CLICKHOUSE_URL no server is tried: what is asked of the name of a database', (t) => {
    t.is(codeOf(t.throws(() => openServer('http://127.0.0.1:1', "a'b", systemClock))), 'USAGE');
  });
} else {
  tryServer(url, undefined);
  if (clusterName !== undefined) {
    tryServer(url, clusterName);
    tryCluster(url, clusterName);
  }
}

function tryServer(at: string, cluster: string | undefined): void {
  const name = cluster === undefined ? 'clickhouse' : 'clickhouse cluster';
  const openSite = (): SinkSite => {
    const database = newDatabase();
    return {
      open: (owner, pause) => {
        const server = openServer(at, database, systemClock);
        const insert: typeof server.insert = async (...insertion) => {
          await pause?.();
          await server.insert(...insertion);
        };
        const token = randomUUID().replaceAll('-', '');
        return new ClickHouseSink({ ...server, insert }, systemClock, { owner, token }, cluster);
      },
      expire: () => expireLease(at, database),
      rows: () => rowsIn(database),
      close: () => dropDatabase(at, database, cluster),
    };
  };

  sinkContract(test.serial, name, openSite);
  pausedContract(test.serial, name, openSite);
  crashContract(test.serial, name, openSite);

  test.serial(`${name}: rows of a range whose marker was never written go when the sink is opened again`, async (t) => {
    const database = newDatabase();
    const server = openServer(at, database, systemClock);
    t.teardown(async () => {
      await server.close();
      await dropDatabase(at, database, cluster);
    });
    const sink = openSink(at, database, cluster);
    await sink.begin(IDENTITY);
    await sink.end();
    const [column, value] = cluster === undefined ? [[], ''] : [['range_id'], '17\t'];
    await server.insert('sink_attempts', ['range_id'], ['17\n']);
    await server.insert(
      'votes_final',
      [...column, 'height', 'position', 'voter'],
      [`${value}3\t0\tsome\\tbody\n`, `${value}4\t0\tL\n`],
      { isWaitingForShards: true },
    );
    t.deepEqual(await server.rows(`SELECT count() AS count FROM ${database}.votes`), [{ count: '0' }]);
    const again = openSink(at, database, cluster);
    t.deepEqual(await again.begin(IDENTITY), { final: undefined, tail: [] });
    for (let look = 0; look < 100; look += 1) {
      const [left] = await server.rows<{ count: string }>(`SELECT count() AS count FROM ${database}.votes_final`);
      if (left?.count === '0') break;
      // On a cluster, `begin` does not wait until these two rows of `votes_final` are removed, because the views of the
      // sink never show them.
      if (cluster === undefined || look === 99) t.fail(`${left?.count ?? ''} rows are left`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    await again.end();
  });

  test.serial(`${name}: a sink whose tables were made in part keeps its range size`, async (t) => {
    const database = newDatabase();
    const server = openServer(at, database, systemClock);
    t.teardown(async () => {
      await server.close();
      await dropDatabase(at, database, cluster);
    });
    const run: typeof server.run = async (statement) => {
      if (statement.includes('transactions_tail')) throw new Error('killed');
      await server.run(statement);
    };
    const token = randomUUID().replaceAll('-', '');
    const killed = new ClickHouseSink({ ...server, run }, systemClock, { owner: 'process 1', token }, cluster);
    await t.throwsAsync(killed.begin(IDENTITY), { message: /killed/ });
    const other = openSink(at, database, cluster);
    const error = await t.throwsAsync(other.begin({ ...IDENTITY, rangeBlocks: 2 * IDENTITY.rangeBlocks }));
    t.is(codeOf(error), 'SINK_OF_OTHER_CHAIN');
    await other.end();
    const again = openSink(at, database, cluster);
    t.deepEqual(await again.begin(IDENTITY), { final: undefined, tail: [] });
    await again.end();
  });

  test.serial(`${name}: the tail keeps the blocks of the last range for queries that have begun`, async (t) => {
    const database = newDatabase();
    const server = openServer(at, database, systemClock);
    t.teardown(async () => {
      await server.close();
      await dropDatabase(at, database, cluster);
    });
    const sink = openSink(at, database, cluster);
    await sink.begin(IDENTITY);
    await sink.putTail(blocksOf(1, 30));
    const stored = `SELECT min(height) AS first, count() AS count FROM ${database}.blocks_tail`;
    for (const [number, first] of [
      [1, 1],
      [2, 11],
      [3, 21],
    ] as const) {
      await putRange(sink, number);
      t.deepEqual(await server.rows(stored), [{ first, count: String(31 - first) }]);
      t.deepEqual(await server.rows(`SELECT count() AS count FROM ${database}.blocks`), [{ count: '30' }]);
    }
    await sink.end();
  });

  test.serial(`${name}: an insert of a killed process that still runs is waited for`, async (t) => {
    const database = newDatabase();
    const server = openServer(at, database, systemClock);
    t.teardown(async () => {
      await server.close();
      await dropDatabase(at, database, cluster);
    });
    const sink = openSink(at, database, cluster);
    await sink.begin(IDENTITY);
    await sink.end();
    const insert = unfinishedInsert(at, database);
    t.teardown(() => insert.drop());
    const running = `SELECT count() AS count FROM system.processes WHERE query_id = 'bloomery-${database}-of-the-killed'`;
    while (isDeepStrictEqual(await server.rows(running), [{ count: '0' }])) await sleep(20);
    // The insert of the killed process ends when the next process queries the list of running inserts for the third
    // time.
    let looks = 0;
    const rows: typeof server.rows = async (select) => {
      if (select.includes('system.processes') && (looks += 1) === 3) await insert.end();
      return server.rows(select);
    };
    const token = randomUUID().replaceAll('-', '');
    const again = new ClickHouseSink({ ...server, rows }, systemClock, { owner: 'process 2', token }, cluster);
    t.deepEqual(await again.begin(IDENTITY), { final: undefined, tail: [] });
    t.deepEqual(await server.rows(running), [{ count: '0' }]);
    t.true(looks >= 3);
    await putRange(again, 1);
    await again.end();
  });
}

/**
 * Begins an insert, but does not send the end of its rows. The server runs the insert until `end` sends the end of the
 * rows, or until `drop` closes the connection.
 */
function unfinishedInsert(at: string, database: string): { end(): Promise<void>; drop(): void } {
  const target = new URL(at);
  target.searchParams.set('query', `INSERT INTO ${database}.votes_tail (height, voter) FORMAT TabSeparated`);
  target.searchParams.set('query_id', `bloomery-${database}-of-the-killed`);
  const sent = request(target, { method: 'POST' });
  const answered = once(sent, 'response');
  // If the test drops the request, no code awaits `answered`. Its rejection must not end the test process.
  answered.catch(() => undefined);
  sent.on('error', () => undefined);
  // The server begins an insert only after it has read some megabytes of rows.
  sent.write(`3\t${'somebody'.repeat(100)}\n`.repeat(20_000));
  return {
    async end() {
      sent.end();
      const [answer] = (await answered) as [IncomingMessage];
      answer.resume();
      await once(answer, 'end');
    },
    drop: () => void sent.destroy(),
  };
}

/** Tests that apply only to a sink on a cluster. */
function tryCluster(at: string, cluster: string): void {
  test.serial('clickhouse cluster: each range lies on one shard, and the ranges on all shards', async (t) => {
    const database = newDatabase();
    const server = openServer(at, database, systemClock);
    t.teardown(async () => {
      await server.close();
      await dropDatabase(at, database, cluster);
    });
    const sink = openSink(at, database, cluster);
    await sink.begin(IDENTITY);
    for (const number of [1, 2, 3]) await putRange(sink, number);
    await sink.end();
    const here = `SELECT DISTINCT intDiv(height - 1, 10) AS part FROM ${database}.blocks_shard`;
    t.is((await server.rows(here)).length, 1, 'this server has one of the three ranges');
    const all = `SELECT count() AS count FROM cluster('${cluster}', ${database}.blocks_shard)`;
    t.deepEqual(await server.rows(all), [{ count: '30' }]);
  });

  test.serial(
    'clickhouse cluster: a sink that was begun through another server is refused and unchanged',
    async (t) => {
      const database = newDatabase();
      const server = openServer(at, database, systemClock);
      t.teardown(async () => {
        await server.close();
        await dropDatabase(at, database, cluster);
      });
      const sink = openSink(at, database, cluster);
      await sink.begin(IDENTITY);
      for (const number of [1, 2]) await putRange(sink, number);
      await sink.end();
      // The test drops all tables on this server except the tables of its shard. The server then looks as if the sink
      // was created through another server of the cluster.
      const own = await server.rows<{ readonly name: string }>(
        `SELECT name FROM system.tables WHERE database = '${database}' AND NOT endsWith(name, '_shard')`,
      );
      for (const { name } of own) await server.run(`DROP TABLE ${database}.${name}`);
      const other = openSink(at, database, cluster);
      const error = await t.throwsAsync(other.begin(IDENTITY));
      t.is(codeOf(error), 'SINK_OF_OTHER_SERVER', error?.message);
      await other.end();
      const all = `SELECT count() AS count FROM cluster('${cluster}', ${database}, blocks_shard)`;
      t.deepEqual(await server.rows(all), [{ count: '20' }]);
    },
  );

  test.serial('clickhouse cluster: rows of the attempts of another sink are not removed', async (t) => {
    const database = newDatabase();
    const server = openServer(at, database, systemClock);
    t.teardown(async () => {
      await server.close();
      await dropDatabase(at, database, cluster);
    });
    const sink = openSink(at, database, cluster);
    await sink.begin(IDENTITY);
    await sink.end();
    const insert = async (id: number): Promise<void> => {
      await server.insert('blocks_final', ['range_id', 'height'], [`${id}\t3\n`], { isWaitingForShards: true });
    };
    await insert(18);
    await insert(19);
    await server.insert('sink_attempts', ['range_id'], ['19\n']);
    const again = openSink(at, database, cluster);
    await again.begin(IDENTITY);
    await again.end();
    const stored = `SELECT toString(range_id) AS id FROM ${database}.blocks_final ORDER BY range_id`;
    let left = await server.rows<{ readonly id: string }>(stored);
    for (let look = 0; look < 100 && left.length > 1; look += 1) {
      await sleep(100);
      left = await server.rows(stored);
    }
    t.deepEqual(left, [{ id: '18' }]);
  });

  test.serial('clickhouse cluster: a shard without tables gets them when the sink is opened again', async (t) => {
    const database = newDatabase();
    const server = openServer(at, database, systemClock);
    t.teardown(async () => {
      await server.close();
      await dropDatabase(at, database, cluster);
    });
    const sink = openSink(at, database, cluster);
    await sink.begin(IDENTITY);
    await sink.end();
    await server.run(`DROP TABLE ${database}.votes_shard`);
    const again = openSink(at, database, cluster);
    await again.begin(IDENTITY);
    await putRange(again, 1);
    await again.end();
    const tables = `SELECT count() AS count FROM cluster('${cluster}', system.tables) WHERE database = '${database}' AND name = 'votes_shard'`;
    t.deepEqual(await server.rows(tables), [{ count: '3' }]);
  });

  test.serial('clickhouse cluster: rows of a repeated range that come late are never seen', async (t) => {
    const database = newDatabase();
    const server = openServer(at, database, systemClock);
    t.teardown(async () => {
      await server.close();
      await dropDatabase(at, database, cluster);
    });
    const sink = openSink(at, database, cluster);
    await sink.begin(IDENTITY);
    await putRange(sink, 1);
    const count = `SELECT count() AS count FROM ${database}.blocks`;
    t.deepEqual(await server.rows(count), [{ count: '10' }]);
    await server.insert('blocks_final', ['range_id', 'height'], ['18\t3\n'], { isWaitingForShards: true });
    t.deepEqual(await server.rows(count), [{ count: '10' }]);
    await sink.end();
  });

  test.serial('clickhouse cluster: what the server lacks is named, and tables stay on their cluster', async (t) => {
    const database = newDatabase();
    const lacking = await t.throwsAsync(openSink(at, database, 'no_such').begin(IDENTITY));
    t.is(codeOf(lacking), 'CLICKHOUSE_CLUSTER_UNFIT');
    t.regex(lacking?.message ?? '', /no_such.*<remote_servers>/);
    const sink = openSink(at, database, cluster);
    await sink.begin(IDENTITY);
    await sink.end();
    const other = await t.throwsAsync(openSink(at, database, undefined).begin(IDENTITY));
    t.is(codeOf(other), 'SINK_OF_OTHER_CLUSTER');
    await dropDatabase(at, database, cluster);
    const single = openSink(at, database, undefined);
    await single.begin(IDENTITY);
    await single.end();
    t.is(codeOf(await t.throwsAsync(openSink(at, database, cluster).begin(IDENTITY))), 'SINK_OF_OTHER_CLUSTER');
    await dropDatabase(at, database, undefined);
  });
}

function newDatabase(): string {
  databases += 1;
  return `bloomery_test_${process.pid}_${databases}`;
}

function openSink(at: string, database: string, cluster: string | undefined): ClickHouseSink {
  const holder = { owner: 'process 1', token: randomUUID().replaceAll('-', '') };
  return new ClickHouseSink(openServer(at, database, systemClock), systemClock, holder, cluster);
}
