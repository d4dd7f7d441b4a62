/**
 * Backfills (completes) the indexes of a store during an import or during the verification of a chain. Both tasks defer
 * indexing: they first append blocks without index entries.
 */

import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { StoredChain } from '../store/chain/stored-chain.ts';

/** The members of a store with which a task defers indexing and later backfills the indexes. */
export type IndexBackfill = Pick<StoredChain, 'indexLag' | 'deferIndexing' | 'backfill'>;

/**
 * Maximum lag of the indexes: the number of blocks and transactions without index entries. If the lag is above this
 * limit, `backfillWhenLagging` writes the missing entries. A lag of this size takes about forty megabytes of memory. If
 * the process is killed at this lag, a later process needs up to half a minute to write the missing entries. A lower
 * limit makes backfills more frequent, and each backfill changes the transaction lists of nearly all addresses. With a
 * limit of 100,000, an import therefore wrote twice as many bytes as with `LAG_MAX`.
 */
const LAG_MAX = 400_000;

/** Backfills the indexes if their lag exceeds `LAG_MAX`. The caller must not append blocks during the backfill. */
export async function backfillWhenLagging(indexes: IndexBackfill): Promise<void> {
  if (indexes.indexLag > LAG_MAX) await backfill(indexes);
}

/** Backfills the indexes. The caller must not append blocks during the backfill. */
export async function backfill(indexes: IndexBackfill): Promise<void> {
  for (const _ of indexes.backfill()) await yieldToEventLoop();
}
