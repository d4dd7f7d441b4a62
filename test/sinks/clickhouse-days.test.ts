/**
 * Tests the sums that the ClickHouse sink computes: the sum of the balance changes of each address on each day. The
 * tests use the ClickHouse server whose URL is in the environment variable `BLOOMERY_TEST_CLICKHOUSE_URL`. Without the
 * variable, the tests do not run.
 */

import test from 'ava';
import { randomUUID } from 'node:crypto';
import { systemClock } from '../../src/node/system.ts';
import { ClickHouseSink } from '../../src/sinks/clickhouse/clickhouse-sink.ts';
import { openServer, type ClickHouseServer } from '../../src/sinks/clickhouse/server.ts';
import type { SinkBlock } from '../../src/sinks/sink.ts';
import { SINK_TABLE_NAMES, type Rows } from '../../src/sinks/tables.ts';
import { blocksOf, IDENTITY, putRange } from './contract.ts';
import { dropDatabase } from './drop-database.ts';
import { expireLease } from './expire-lease.ts';

const url = process.env['BLOOMERY_TEST_CLICKHOUSE_URL'];
/** Name of a cluster in the server's configuration; undefined to skip the tests on a cluster. */
const clusterName = process.env['BLOOMERY_TEST_CLICKHOUSE_CLUSTER'];

/** Time of the first block: noon in UTC, as Unix time in seconds. */
const FIRST_BLOCK_S = Date.UTC(2016, 4, 24, 12) / 1000;
/** Seconds from a block to the next block. A range of ten blocks lasts 30 hours. */
const BLOCK_TIME_S = 3 * 3_600;

/** Replaces the times of rows, so that consecutive blocks are three hours apart. */
function overDays(rows: Rows): Rows {
  return Object.fromEntries(
    SINK_TABLE_NAMES.map((table) => [
      table,
      rows[table].map((row) => ({ ...row, time: FIRST_BLOCK_S + (row.height - 1) * BLOCK_TIME_S })),
    ]),
  ) as unknown as Rows;
}

function tail(fromHeight: number, toHeight: number): readonly SinkBlock[] {
  return blocksOf(fromHeight, toHeight).map((block) => ({ ...block, rows: overDays(block.rows) }));
}

interface Site {
  readonly server: ClickHouseServer;
  /**
   * @param of the sink calls these methods instead of the methods of `server` with the same names
   * @param daySumHeights value that replaces `HEIGHTS_AT_ONCE` of `day-sums.ts`
   */
  open(of?: Partial<ClickHouseServer>, daySumHeights?: number): ClickHouseSink;
  /** Rows of the view `balance_changes_per_day`, and the same sums computed from all rows of `balance_changes`. */
  sums(): Promise<readonly [view: readonly object[], changes: readonly object[]]>;
  /** The heights of all markers of daily sums. A marker makes the sums of the days up to its height visible. */
  markers(): Promise<readonly number[]>;
}

let databases = 0;

if (url === undefined) {
  test('without BLOOMERY_TEST_CLICKHOUSE_URL no sums are tried: a day begins at midnight in UTC', (t) => {
    const [block] = tail(9, 9);
    t.is(block?.rows.blocks[0]?.time, Date.UTC(2016, 4, 25, 12) / 1000);
  });
} else {
  tryDays(url, undefined);
  if (clusterName !== undefined) tryDays(url, clusterName);
}

function tryDays(at: string, cluster: string | undefined): void {
  const using = (title: string, work: (t: import('ava').ExecutionContext, site: Site) => Promise<void>): void =>
    test.serial(`${cluster === undefined ? 'clickhouse' : 'clickhouse cluster'}: ${title}`, async (t) => {
      databases += 1;
      const database = `bloomery_days_${process.pid}_${databases}`;
      const server = openServer(at, database, systemClock);
      t.teardown(async () => {
        await server.close();
        await dropDatabase(at, database, cluster);
      });
      await work(t, siteOf(server, cluster));
    });

  using('the sums of the days that ended are stored, and the view adds the other days', async (t, site) => {
    const sink = site.open();
    await sink.begin(IDENTITY);
    // The day of block 1 ends with block 4, the next days with blocks 12, 20 and 28.
    for (const [number, markers] of [
      [1, [4]],
      [2, [4, 12]],
      [3, [4, 12, 28]],
    ] as const) {
      await putRange(sink, number, overDays);
      t.deepEqual(await site.markers(), markers);
      const [view, changes] = await site.sums();
      t.deepEqual(view, changes);
    }
    await sink.putTail(tail(31, 34));
    const [view, changes] = await site.sums();
    t.deepEqual(view, changes);
    t.true(view.length > 20);
    await sink.end();
    const again = site.open();
    await again.begin(IDENTITY);
    t.deepEqual(await site.markers(), [4, 12, 28]);
    await again.end();
  });

  using('a view of the balances and of the active addresses counts each change once', async (t, site) => {
    const sink = site.open();
    await sink.begin(IDENTITY);
    for (const number of [1, 2, 3]) await putRange(sink, number, overDays);
    await sink.putTail(tail(31, 34));
    const { server } = site;
    t.deepEqual(
      await server.rows(`SELECT address, balance FROM ${server.database}.balances ORDER BY address`),
      await server.rows(
        `SELECT address, sum(amount) AS balance FROM ${server.database}.balance_changes GROUP BY address ORDER BY address`,
      ),
    );
    t.deepEqual(
      await server.rows(`SELECT day, addresses FROM ${server.database}.active_addresses_per_day ORDER BY day`),
      await server.rows(
        `SELECT toDate(time, 'UTC') AS day, uniqExact(address) AS addresses FROM ${server.database}.balance_changes ` +
          "WHERE cause = 'transfer' GROUP BY day ORDER BY day",
      ),
    );
    await sink.end();
  });

  using('sums of an attempt without a marker are never visible, and the next process removes them', async (t, site) => {
    const { server } = site;
    let isDead = false;
    const sink = site.open({
      insert: async (table, ...insertion) => {
        if (table.startsWith('sink_days')) isDead = true;
        if (isDead) throw new Error('killed');
        await server.insert(table, ...insertion);
      },
    });
    await sink.begin(IDENTITY);
    await t.throwsAsync(putRange(sink, 1, overDays), { message: /killed/ });
    await sink.end();
    const stored = `SELECT count() AS count FROM ${server.database}.balance_changes_per_day_final`;
    const [before] = await server.rows<{ readonly count: string }>(stored);
    t.true(Number(before?.count) > 0);
    t.deepEqual(...(await site.sums()));
    const again = site.open();
    await again.begin(IDENTITY);
    t.deepEqual(await site.markers(), [4]);
    t.deepEqual(...(await site.sums()));
    let left: unknown;
    for (let look = 0; look < 100 && left !== before?.count; look += 1) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      [left] = (await server.rows<{ readonly count: string }>(stored)).map(({ count }) => count);
    }
    t.is(left, before?.count, 'the rows of the second attempt alone');
    t.deepEqual(...(await site.sums()));
    await again.end();
  });

  using('a process that lost its lease during the start removes no rows of the next process', async (t, site) => {
    const { server } = site;
    const first = site.open();
    await first.begin(IDENTITY);
    await putRange(first, 1, overDays);
    await first.end();
    const column = cluster === undefined ? [] : ['range_id'];
    const attempts = [
      ['balance_changes_per_day_final', ['range_id', 'to_height', 'day', 'address'], '17\t20\t2016-05-25\tL\n'],
      ['votes_final', [...column, 'height', 'voter'], `${column.map(() => '17\t').join('')}13\tL\n`],
    ] as const;
    await server.insert('sink_attempts', ['range_id'], ['17\n']);
    for (const [table, columns, line] of attempts) {
      let isWritten = false;
      // When the sink `late` begins, it queries the rows that have no marker. (A marker is a row that a sink inserts
      // after a group of rows, to show that the group is complete.) Just before this query, the test does two things.
      // It inserts a row that has no marker, as the next process with the lease would do. It also lets the lease of
      // `late` (the right of `late` to write to the database) expire.
      const late = site.open({
        async rows(select) {
          if (
            !isWritten &&
            (select.includes('.sink_attempts ') || select.includes(`SELECT height FROM ${server.database}.${table} `))
          ) {
            isWritten = true;
            await server.insert(table, columns, [line], { isWaitingForShards: true });
            await expireLease(at, server.database);
          }
          return server.rows(select);
        },
      });
      await t.throwsAsync(late.begin(IDENTITY), { code: 'SINK_LEASE_LOST' }, table);
      await new Promise((resolve) => setTimeout(resolve, 1_000));
      const count = `SELECT count() AS count FROM ${server.database}.${table} WHERE ${columns.at(-1)} = 'L'`;
      t.deepEqual(await server.rows(count), [{ count: '1' }], table);
      await late.end();
    }
  });

  if (cluster !== undefined) {
    using('sums wait until a replica that was down has the rows of the ranges', async (t, site) => {
      const { server } = site;
      const looks = { blocks: 0, balance_changes: 0 };
      const sink = site.open({
        async rows<T>(select: string) {
          const rows = await server.rows<T>(select);
          for (const table of ['blocks', 'balance_changes'] as const) {
            if (!select.startsWith(`SELECT count() AS count FROM ${server.database}.${table}_final `)) continue;
            looks[table] += 1;
            // The first three counts of each table are too low by one, as if a replica had not fetched one row yet.
            const { count } = rows[0] as { readonly count: string };
            if (looks[table] <= 3) return [{ count: String(Number(count) - 1) }] as unknown as readonly T[];
          }
          return rows;
        },
      });
      await sink.begin(IDENTITY);
      t.deepEqual(looks, { blocks: 7, balance_changes: 4 });
      for (const number of [1, 2]) await putRange(sink, number, overDays);
      t.deepEqual(await site.markers(), [4, 12]);
      t.deepEqual(...(await site.sums()));
      await sink.end();
    });
  }

  using('ranges are stored in order, and a draft is stored once', async (t, site) => {
    const sink = site.open();
    await sink.begin(IDENTITY);
    await t.throwsAsync(putRange(sink, 2), { message: /in order/ });
    await putRange(sink, 1);
    const draft = sink.draftRange();
    const span = { fromHeight: 11, toHeight: 20 };
    for (const { rows } of blocksOf(11, 20)) draft.add(rows);
    await draft.put(span, '1');
    await t.throwsAsync(draft.put(span, '1'), { message: /once/ });
    await sink.end();
  });

  using('a database of version 2 gets the sums of its days', async (t, site) => {
    const { server } = site;
    const sink = site.open();
    await sink.begin(IDENTITY);
    for (const number of [1, 2, 3]) await putRange(sink, number, overDays);
    await sink.end();
    const on = cluster === undefined ? '' : ` ON CLUSTER '${cluster}'`;
    const parts = cluster === undefined ? [] : [`balance_changes_per_day_shard${on}`];
    for (const table of [
      'balance_changes_per_day',
      'sink_days_fence',
      'sink_days_fenced',
      'sink_days',
      'balance_changes_per_day_final',
      'sink_attempts',
      ...parts,
    ])
      await server.run(`DROP TABLE ${server.database}.${table}`);
    await server.run(`ALTER TABLE ${server.database}.sink DELETE WHERE version >= 3`);
    const version = `SELECT max(version) AS version FROM ${server.database}.sink`;
    for (let look = 0; look < 100; look += 1) {
      const [made] = await server.rows<{ readonly version: number }>(version);
      if (made?.version === 2) break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    // One statement of this sink computes the sums of the days that end within the next six heights. A day has eight
    // blocks, so often no day ends within six heights. The statement must then compute the sums of one whole day.
    const again = site.open({}, 6);
    await again.begin(IDENTITY);
    t.deepEqual(await server.rows(version), [{ version: 4 }]);
    t.deepEqual(await site.markers(), [4, 12, 20, 28]);
    t.deepEqual(...(await site.sums()));
    await again.end();
  });

  function siteOf(server: ClickHouseServer, on: string | undefined): Site {
    const { database } = server;
    const sums = "sum(amount) AS amount, countIf(cause = 'transfer') AS transfers";
    return {
      server,
      open: (of, daySumHeights) =>
        new ClickHouseSink(
          { ...server, ...of, close: () => Promise.resolve() },
          systemClock,
          { owner: 'process 1', token: randomUUID().replaceAll('-', '') },
          on,
          daySumHeights,
        ),
      sums: async () => [
        await server.rows(
          `SELECT day, address, amount, transfers FROM ${database}.balance_changes_per_day ORDER BY day, address`,
        ),
        await server.rows(
          `SELECT toDate(time, 'UTC') AS day, address, ${sums} FROM ${database}.balance_changes ` +
            'GROUP BY day, address ORDER BY day, address',
        ),
      ],
      markers: async () =>
        (
          await server.rows<{ readonly to_height: number }>(
            `SELECT to_height FROM ${database}.sink_days ORDER BY to_height`,
          )
        ).map(({ to_height }) => to_height),
    };
  }
}
