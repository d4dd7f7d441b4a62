/** The writes that a sink sends to a ClickHouse server: their order, their size, and how many run at once. */

import test, { type ExecutionContext } from 'ava';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/node/system.ts';
import { ClickHouseSink } from '../../src/sinks/clickhouse/clickhouse-sink.ts';
import { openServer } from '../../src/sinks/clickhouse/server.ts';
import { blocksOf, IDENTITY } from './contract.ts';
import { fakeClickHouse, type Write } from './fake-clickhouse.ts';

const RANGE = IDENTITY.rangeBlocks;

async function openSink(
  t: ExecutionContext,
  onWrite: (write: Write) => Promise<void> | void,
  leaseS?: number,
): Promise<ClickHouseSink> {
  const url = await fakeClickHouse(t, IDENTITY, onWrite);
  const holder = { owner: 'process 1', token: 'a1', ...(leaseS === undefined ? {} : { leaseS }) };
  const sink = new ClickHouseSink(openServer(url, 'chain', systemClock), systemClock, holder);
  t.teardown(() => sink.end());
  await sink.begin(IDENTITY);
  return sink;
}

test('a revert writes the markers of one range after the other, from the top', async (t) => {
  const markers: number[][] = [];
  const sink = await openSink(t, ({ statement, lines }) => {
    if (!statement.includes('sink_tail_fenced')) return;
    const rows = lines.trimEnd().split('\n');
    t.true(rows.every((row) => row.split('\t').length === 4));
    markers.push(rows.map((row) => Number(row.split('\t')[1]) * Number(row.split('\t')[3])));
  });
  await sink.putTail(blocksOf(1, 34));
  markers.length = 0;
  await sink.revertTail(17);
  // A server stores the rows of an insert range by range. If it dies meanwhile, blocks above a gap must not stay.
  t.deepEqual(
    markers.map((heights) => [Math.max(...heights), Math.min(...heights), heights.length]),
    [
      [-31, -34, 4],
      [-21, -30, RANGE],
      [-18, -20, 3],
    ],
  );
});

test('the lease is renewed while the server is slow with all tables of the tail', async (t) => {
  let renewals = 0;
  const sink = await openSink(
    t,
    async ({ statement }) => {
      if (statement.includes('sink_lease')) renewals += 1;
      if (!statement.includes('_tail (')) return;
      const before = renewals;
      for (let waits = 0; waits < 150 && renewals < before + 2; waits += 1) await sleep(20);
      t.true(renewals >= before + 2, `no renewal during ${statement}`);
    },
    1,
  );
  await sink.putTail(blocksOf(1, 34));
});
