/** Defers indexing during the import of a whole chain, and backfills the indexes. */

import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { StoredChain } from '../store/chain/chain-store.ts';

/** The functions of a store for deferred indexing. */
export type IndexBackfill = Pick<StoredChain, 'indexLag' | 'deferIndexing' | 'backfill'>;

/**
 * Largest lag of the indexes, in blocks and transactions. A lag of this size takes about ten megabytes of memory. After
 * a process was killed, writing the missing entries takes some seconds.
 */
const LAG_MAX = 100_000;

/** Backfills the indexes when their lag is large. During this, no block may be appended. */
export async function backfillWhenLagging(indexes: IndexBackfill): Promise<void> {
  if (indexes.indexLag > LAG_MAX) await backfill(indexes);
}

/** Backfills the indexes. During this, no block may be appended. */
export async function backfill(indexes: IndexBackfill): Promise<void> {
  for (const _ of indexes.backfill()) await yieldToEventLoop();
}
