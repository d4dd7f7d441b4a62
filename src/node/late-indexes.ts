/** Indexes that fall behind while a whole chain is taken over. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { StoredChain } from '../store/chain/chain-store.ts';

/** What takes blocks over by the thousand needs of their store. */
export type LateIndexes = Pick<StoredChain, 'indexesBehind' | 'postponeIndexes' | 'catchUp'>;

/**
 * Blocks and transactions that the indexes may lack: some ten megabytes of memory, and some seconds of work after a process
 * was killed.
 */
const BEHIND_MAX = 100_000;

/** Lets indexes catch up once they lack much. Nothing may be appended meanwhile. */
export async function catchUpWhenFar(indexes: LateIndexes): Promise<void> {
  if (indexes.indexesBehind > BEHIND_MAX) await catchUp(indexes);
}

/** Lets indexes catch up. Nothing may be appended meanwhile. */
export async function catchUp(indexes: LateIndexes): Promise<void> {
  for (const _ of indexes.catchUp()) await nextTurn();
}
