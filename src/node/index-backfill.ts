/** Indexing that is deferred while a whole chain is imported, and its backfill. */

import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { StoredChain } from '../store/chain/chain-store.ts';

/** What an import needs of its store. */
export type IndexBackfill = Pick<StoredChain, 'indexLag' | 'deferIndexing' | 'backfill'>;

/**
 * The largest lag of the indexes, in blocks and transactions: some ten megabytes of memory, and some seconds of work after a
 * process was killed.
 */
const LAG_MAX = 100_000;

/** Backfills the indexes once their lag is large. Nothing may be appended meanwhile. */
export async function backfillWhenLagging(indexes: IndexBackfill): Promise<void> {
  if (indexes.indexLag > LAG_MAX) await backfill(indexes);
}

/** Backfills the indexes. Nothing may be appended meanwhile. */
export async function backfill(indexes: IndexBackfill): Promise<void> {
  for (const _ of indexes.backfill()) await yieldToEventLoop();
}
