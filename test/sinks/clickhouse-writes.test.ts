/** Tests the order of the writes that a sink sends to a ClickHouse server, and the renewal and loss of the lease. */

import test, { type ExecutionContext } from 'ava';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/node/system.ts';
import { ClickHouseSink } from '../../src/sinks/clickhouse/clickhouse-sink.ts';
import { openServer } from '../../src/sinks/clickhouse/server.ts';
import { blocksOf, IDENTITY } from './contract.ts';
import { fakeClickHouse, type Write } from './fake-clickhouse.ts';

const RANGE = IDENTITY.rangeBlocks;

interface Options {
  readonly leaseS?: number;
  /** Runs before each insert is sent. */
  readonly onInsert?: (table: string) => void;
  /** Receives the URL of the fake server before the sink opens. */
  readonly onOpen?: (url: string) => void;
}

async function openSink(
  t: ExecutionContext,
  onWrite: (write: Write) => Promise<void> | void,
  { leaseS, onInsert, onOpen }: Options = {},
): Promise<ClickHouseSink> {
  const url = await fakeClickHouse(t, IDENTITY, onWrite);
  onOpen?.(url);
  const holder = { owner: 'process 1', token: 'a1', ...(leaseS === undefined ? {} : { leaseS }) };
  const server = openServer(url, 'chain', systemClock);
  const insert: typeof server.insert = (table, ...rest) => {
    onInsert?.(table);
    return server.insert(table, ...rest);
  };
  const sink = new ClickHouseSink({ ...server, insert }, systemClock, holder);
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
  // Here, a marker is a row of `sink_tail` that removes one block from the tail. If one insert contains such rows for
  // blocks of several height ranges, a ClickHouse server stores the rows for the lowest range first. If the server died
  // during such an insert, the tail could have lost lower blocks, but still have the higher blocks above them.
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
      const isRenewed = (): boolean => renewals >= before + 2;
      for (let waits = 0; waits < 150 && !isRenewed(); waits += 1) await sleep(20);
      t.true(isRenewed(), `no renewal during ${statement}`);
    },
    { leaseS: 1 },
  );
  await sink.putTail(blocksOf(1, 34));
});

test('a process whose insert into the tail was killed by the next holder of the lease reports that the lease is lost', async (t) => {
  const urls: string[] = [];
  const sink = await openSink(
    t,
    async ({ statement }) => {
      if (!statement.includes('_tail (')) return;
      await fetch(urls[0] ?? '', { method: 'POST', body: "INSERT INTO chain.sink_lease (token) SELECT 'b2'" });
      throw new Error('Query was cancelled');
    },
    { onOpen: (url) => urls.push(url) },
  );
  await t.throwsAsync(sink.putTail(blocksOf(1, 3)), { code: 'SINK_LEASE_LOST' });
});

test('the lines of the tail are made while they are sent', async (t) => {
  const steps: string[] = [];
  const sink = await openSink(t, () => undefined, { onInsert: (table) => steps.push(table) });
  const [block] = blocksOf(2, 2);
  if (block === undefined) throw new Error('the chain has a block 2');
  const [row] = block.rows.blocks;
  if (row === undefined) throw new Error('a block has a row');
  const watched = Object.defineProperty({ ...row }, 'generator', {
    get: () => {
      steps.push('line of a block');
      return row.generator;
    },
  });
  await sink.putTail([{ ...block, rows: { ...block.rows, blocks: [watched] } }]);
  // A line is the text of one row of an insert. If a process made all lines of 1,000 large blocks before it sent the
  // first line, the process would need more than twice the memory of the rows of these blocks.
  t.deepEqual(
    steps.filter((step) => step === 'blocks_tail' || step.startsWith('line')),
    ['blocks_tail', 'line of a block'],
  );
});
