/**
 * A process that reads the store of a folder while another process writes to the store. The reader sends each answer
 * together with the tip of the chain in its snapshot.
 */

import type { Cursor, TransactionQuery } from '../../../src/ports/queries.ts';
import { systemClock } from '../../../src/node/system.ts';
import { ChainReader } from '../../../src/store/chain/reader.ts';
import { createQueries } from '../../../src/store/query/queries.ts';
import { FAKE_CODEC } from '../../support/fake-codec.ts';
import { paramsWith } from '../../support/fixtures.ts';

/** The answers of a reader from one snapshot. */
export interface SnapshotAnswers {
  /** Index of the query in the test's list of queries. */
  readonly at: number;
  readonly tipId: string;
  /**
   * `page` contains the ids of the transactions in the requested page. `total` is the value of `total` in the answer
   * that contains this page.
   */
  readonly page: readonly string[];
  readonly total: number;
  /** Ids of the transactions in all pages. The reader reads these pages with cursors, from the first page on. */
  readonly walk: readonly string[];
  readonly count: number;
}

export interface LookRequest {
  readonly at: number;
  readonly query: TransactionQuery;
}

const [directory, shortListMax] = process.argv.slice(2);
if (directory === undefined) throw new Error('usage: looking-reader DIRECTORY SHORT_LIST_MAX');
const params = paramsWith();
const reader = new ChainReader(
  { directory, codec: FAKE_CODEC, params, shortListMax: Number(shortListMax) },
  systemClock,
);

async function look({ at, query }: LookRequest): Promise<SnapshotAnswers> {
  reader.move();
  const snapshot = reader.current;
  return snapshot.hold(async () => {
    const chain = createQueries(snapshot.store, params);
    const { items, total } = await chain.transactions(query);
    // This pause gives the writing process time to write between two queries of the snapshot.
    await new Promise((resolve) => setImmediate(resolve));
    const walk: string[] = [];
    let after: Cursor | undefined;
    do {
      const next = await chain.transactions({ ...query, offset: 0, ...(after === undefined ? {} : { after }) });
      walk.push(...next.items.map(({ transaction }) => transaction.id));
      after = next.items.length === 0 ? undefined : next.next;
      await new Promise((resolve) => setImmediate(resolve));
      // The second condition ends the loop if a defect makes the pages repeat transactions. The comparison of the test
      // then fails.
    } while (after !== undefined && walk.length <= chain.transactionCount());
    return {
      ...{ at, total, walk, tipId: snapshot.store.tip()?.id ?? '' },
      page: items.map(({ transaction }) => transaction.id),
      count: chain.transactionCount(),
    };
  });
}

process.on('disconnect', () => process.exit(0));
process.on('message', (request: LookRequest) => {
  void look(request).then((answer) => process.send?.(answer));
});
