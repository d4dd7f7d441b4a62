/** Run where a server is given: `npm run analytics`. */

import { systemClock } from '../../src/node/system.ts';
import test from 'ava';
import { randomUUID } from 'node:crypto';
import { ClickHouseSink } from '../../src/sinks/clickhouse/clickhouse-sink.ts';
import { openServer } from '../../src/sinks/clickhouse/server.ts';
import { codeOf } from '../../src/primitives/errors.ts';
import { columnsOf, joinedRows, SINK_TABLE_NAMES, type Rows } from '../../src/sinks/tables.ts';
import { IDENTITY, pausedContract, sinkContract, type SinkSite } from './contract.ts';
import { expireLease } from './expire-lease.ts';

const url = process.env['BLOOMERY_TEST_CLICKHOUSE_URL'];

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
  const openSink = (database: string): ClickHouseSink =>
    new ClickHouseSink(openServer(url, database, systemClock), systemClock, {
      owner: 'process 1',
      token: randomUUID().replaceAll('-', ''),
    });

  const openSite = (): SinkSite => {
    databases += 1;
    const database = `bloomery_test_${process.pid}_${databases}`;
    return {
      open: (owner, pause) => {
        const server = openServer(url, database, systemClock);
        const insert: typeof server.insert = async (...insertion) => {
          await pause?.();
          await server.insert(...insertion);
        };
        const token = randomUUID().replaceAll('-', '');
        return new ClickHouseSink({ ...server, insert }, systemClock, { owner, token });
      },
      expire: () => expireLease(url, database),
      rows: () => rowsIn(database),
      close: async () => {
        const server = openServer(url, database, systemClock);
        await server.run(`DROP DATABASE IF EXISTS ${database}`);
        await server.close();
      },
    };
  };

  sinkContract(test.serial, 'clickhouse', openSite);
  pausedContract(test.serial, 'clickhouse', openSite);

  test.serial('rows of a range whose marker was never written go when the sink is opened again', async (t) => {
    const database = `bloomery_test_${process.pid}_crash`;
    const server = openServer(url, database, systemClock);
    t.teardown(async () => {
      await server.run(`DROP DATABASE IF EXISTS ${database}`);
      await server.close();
    });
    const sink = openSink(database);
    await sink.begin(IDENTITY);
    await sink.end();
    await server.insert('votes_final', ['height', 'position', 'voter'], ['3\t0\tsome\\tbody\n', '4\t0\tL\n']);
    t.deepEqual(await server.rows(`SELECT count() AS count FROM ${database}.votes`), [{ count: '0' }]);
    const again = openSink(database);
    t.deepEqual(await again.begin(IDENTITY), { final: undefined, tail: [] });
    t.deepEqual(await server.rows(`SELECT count() AS count FROM ${database}.votes_final`), [{ count: '0' }]);
    await again.end();
  });
}
